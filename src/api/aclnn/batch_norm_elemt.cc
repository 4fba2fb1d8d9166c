// aclnnBatchNormElemt: normalization with given statistics.
#include "aclnnop/aclnn_batch_norm_elemt.h"
#include "api/aclnn/operator.h"
using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Arg;

namespace {

constexpr char kName[] = "aclnnBatchNormElemt";
constexpr int kChannelAxis = 1;

struct Arguments {
  Operand input, weight, bias, mean, invstd;
  Operand output;
};

int check_types_and_formats(const Arguments& a) {
  NORMGRAD_ACLNN_TRY(check_listed_dtype({a.input, a.weight, a.bias, a.mean, a.invstd, a.output}));
  for (const Operand& operand : {a.weight, a.bias, a.mean, a.invstd, a.output}) {
    NORMGRAD_ACLNN_TRY(check_same_dtype(operand, a.input));
  }
  return check_public_format({a.input, a.weight, a.bias, a.mean, a.invstd, a.output});
}

int check(const Arguments& a) {
  NORMGRAD_ACLNN_TRY(check_not_null({a.input, a.mean, a.invstd, a.output}));
  NORMGRAD_ACLNN_TRY(check_alive({a.input, a.weight, a.bias, a.mean, a.invstd, a.output}));
  NORMGRAD_ACLNN_TRY(check_types_and_formats(a));
  NORMGRAD_ACLNN_TRY(check_rank({a.input, a.output}, 2));
  NORMGRAD_ACLNN_TRY(check_views({a.input, a.weight, a.bias, a.mean, a.invstd, a.output}));
  NORMGRAD_ACLNN_TRY(check_has_channels(a.input, kChannelAxis));
  NORMGRAD_ACLNN_TRY(check_same_shape(a.output, a.input));
  return check_channels({a.weight, a.bias, a.mean, a.invstd}, a.input, kChannelAxis);
}

int check_and_plan(const Arguments& a, aclOpExecutor& executor) {
  set_slots(executor, {a.input, a.weight, a.bias, a.mean, a.invstd}, {a.output});
  NORMGRAD_ACLNN_TRY(check(a));
  if (a.input->is_empty()) return 0;
  normgrad::Problem problem;
  problem.op = normgrad::Op::kBatchNorm;
  problem.training = false;
  return make_executor(executor, problem,
                       {{a.input, Arg::kX},
                        {a.weight, Arg::kW},
                        {a.bias, Arg::kB},
                        {a.mean, Arg::kMean},
                        {a.invstd, Arg::kRstd},
                        {a.output, Arg::kY}});
}

}  // namespace

aclnnStatus aclnnBatchNormElemtGetWorkspaceSize(const aclTensor* input, const aclTensor* weight,
                                                const aclTensor* bias, aclTensor* mean,
                                                aclTensor* invstd, double /*eps*/,
                                                aclTensor* output, uint64_t* workspaceSize,
                                                aclOpExecutor** executor) {
  return phase_one(__func__, kName, workspaceSize, executor, [&](aclOpExecutor& made) {
    const Arguments a{.input = {"input", input},
                      .weight = optional("weight", weight),
                      .bias = optional("bias", bias),
                      .mean = {"mean", mean},
                      .invstd = {"invstd", invstd},
                      .output = {"output", output}};
    return check_and_plan(a, made);
  });
}

aclnnStatus aclnnBatchNormElemt(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                const aclrtStream stream) {
  return phase_two(kName, workspace, workspaceSize, executor, stream);
}
