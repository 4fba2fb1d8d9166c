// aclnnBatchNormStats: mean and reciprocal standard deviation of every channel, over one device.
#include "aclnnop/aclnn_batch_norm_stats.h"
#include "api/aclnn/operator.h"
using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Arg;

namespace {

constexpr char kName[] = "aclnnBatchNormStats";
constexpr int kChannelAxis = 1;

struct Arguments {
  Operand input, mean, invstd;
};

int check(const Arguments& a) {
  NORMGRAD_ACLNN_TRY(check_not_null({a.input, a.mean, a.invstd}));
  NORMGRAD_ACLNN_TRY(check_alive({a.input, a.mean, a.invstd}));
  NORMGRAD_ACLNN_TRY(check_listed_dtype({a.input, a.mean, a.invstd}));
  NORMGRAD_ACLNN_TRY(check_public_format({a.input, a.mean, a.invstd}));
  NORMGRAD_ACLNN_TRY(check_rank({a.input}, 2));
  NORMGRAD_ACLNN_TRY(check_views({a.input, a.mean, a.invstd}));
  return check_channels({a.mean, a.invstd}, a.input, kChannelAxis);
}

int check_and_plan(const Arguments& a, double eps, aclOpExecutor& executor) {
  set_slots(executor, {a.input}, {a.mean, a.invstd});
  NORMGRAD_ACLNN_TRY(check(a));
  if (a.input.extent(kChannelAxis) == 0) return 0;
  normgrad::Problem problem;
  problem.op = normgrad::Op::kBatchNorm;
  problem.eps = eps;
  return make_executor(executor, problem,
                       {{a.input, Arg::kX}, {a.mean, Arg::kMean}, {a.invstd, Arg::kRstd}});
}

}  // namespace

aclnnStatus aclnnBatchNormStatsGetWorkspaceSize(const aclTensor* input, double eps, aclTensor* mean,
                                                aclTensor* invstd, uint64_t* workspaceSize,
                                                aclOpExecutor** executor) {
  return phase_one(__func__, kName, workspaceSize, executor, [&](aclOpExecutor& made) {
    const Arguments a{
        .input = {"input", input}, .mean = {"mean", mean}, .invstd = {"invstd", invstd}};
    return check_and_plan(a, eps, made);
  });
}

aclnnStatus aclnnBatchNormStats(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                const aclrtStream stream) {
  return phase_two(kName, workspace, workspaceSize, executor, stream);
}
