// aclnnBatchNormGatherStatsWithCounts: the statistics of all devices from those of each.
#include "aclnnop/aclnn_batch_norm_gather_stats_with_counts.h"
#include "api/aclnn/operator.h"
using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Arg;

namespace {

constexpr char kName[] = "aclnnBatchNormGatherStatsWithCounts";
constexpr int kChannelAxis = 1;

struct Arguments {
  Operand input, mean, invstd, running_mean, running_var, counts;
  Operand mean_all, invstd_all;
};

int check_pointers(const Arguments& a) {
  NORMGRAD_ACLNN_TRY(
      check_not_null({a.input, a.mean, a.invstd, a.counts, a.mean_all, a.invstd_all}));
  return check_alive({a.input, a.mean, a.invstd, a.running_mean, a.running_var, a.counts,
                      a.mean_all, a.invstd_all});
}

int check_types_and_formats(const Arguments& a) {
  NORMGRAD_ACLNN_TRY(check_listed_dtype({a.input, a.mean, a.invstd, a.running_mean, a.running_var,
                                         a.counts, a.mean_all, a.invstd_all}));
  return check_public_format({a.input, a.mean, a.invstd, a.running_mean, a.running_var, a.counts,
                              a.mean_all, a.invstd_all});
}

int check_shapes(const Arguments& a) {
  NORMGRAD_ACLNN_TRY(check_rank({a.input}, 2));
  NORMGRAD_ACLNN_TRY(check_rank({a.mean}, 2, 2));
  NORMGRAD_ACLNN_TRY(check_views({a.input, a.mean, a.invstd, a.running_mean, a.running_var,
                                  a.counts, a.mean_all, a.invstd_all}));
  const std::int64_t channels = a.input.extent(kChannelAxis);
  const std::int64_t devices = a.mean.extent(0);
  const std::int64_t per_device[] = {devices, channels};
  NORMGRAD_ACLNN_TRY(check_shape({a.mean, a.invstd}, per_device));
  NORMGRAD_ACLNN_TRY(check_shape({a.counts}, {&devices, 1}));
  return check_channels({a.running_mean, a.running_var, a.mean_all, a.invstd_all}, a.input,
                        kChannelAxis);
}

int plan(const Arguments& a, double momentum, double eps, aclOpExecutor& executor) {
  normgrad::Problem problem;
  problem.op = normgrad::Op::kBatchNormGatherStats;
  problem.momentum = momentum;
  problem.eps = eps;
  const bool updates = a.running_mean && a.running_var;  // both or none
  const Operand none("", nullptr);
  return make_executor(executor, problem,
                       {{a.mean, Arg::kMean},
                        {a.invstd, Arg::kRstd},
                        {updates ? a.running_mean : none, Arg::kRunningMean},
                        {updates ? a.running_var : none, Arg::kRunningVar},
                        {a.counts, Arg::kCounts},
                        {a.mean_all, Arg::kMeanAll},
                        {a.invstd_all, Arg::kRstdAll}});
}

int check_and_plan(const Arguments& a, double momentum, double eps, aclOpExecutor& executor) {
  set_slots(executor, {a.input, a.mean, a.invstd, a.running_mean, a.running_var, a.counts},
            {a.mean_all, a.invstd_all});
  NORMGRAD_ACLNN_TRY(check_pointers(a));
  NORMGRAD_ACLNN_TRY(check_types_and_formats(a));
  NORMGRAD_ACLNN_TRY(check_shapes(a));
  if (a.input.extent(kChannelAxis) == 0) return 0;
  return plan(a, momentum, eps, executor);
}

}  // namespace

aclnnStatus aclnnBatchNormGatherStatsWithCountsGetWorkspaceSize(
    const aclTensor* input, const aclTensor* mean, const aclTensor* invstd, aclTensor* runningMean,
    aclTensor* runningVar, double momentum, double eps, const aclTensor* counts, aclTensor* meanAll,
    aclTensor* invstdAll, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phase_one(__func__, kName, workspaceSize, executor, [&](aclOpExecutor& made) {
    const Arguments a{.input = {"input", input},
                      .mean = {"mean", mean},
                      .invstd = {"invstd", invstd},
                      .running_mean = optional("runningMean", runningMean),
                      .running_var = optional("runningVar", runningVar),
                      .counts = {"counts", counts},
                      .mean_all = {"meanAll", meanAll},
                      .invstd_all = {"invstdAll", invstdAll}};
    return check_and_plan(a, momentum, eps, made);
  });
}

aclnnStatus aclnnBatchNormGatherStatsWithCounts(void* workspace, uint64_t workspaceSize,
                                                aclOpExecutor* executor, const aclrtStream stream) {
  return phase_two(kName, workspace, workspaceSize, executor, stream);
}
