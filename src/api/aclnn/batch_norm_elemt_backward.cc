// aclnnBatchNormElemtBackward: the gradient of the input from sums over all devices.
#include "aclnnop/aclnn_batch_norm_elemt_backward.h"
#include "api/aclnn/operator.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Arg;

namespace {

constexpr char kName[] = "aclnnBatchNormElemtBackward";
constexpr int kChannelAxis = 1;

struct Arguments {
  Operand grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, counter;
  Operand grad_input;
};

int check_pointers(const Arguments& a) {
  NORMGRAD_ACLNN_TRY(check_not_null(
      {a.grad_out, a.input, a.mean, a.invstd, a.sum_dy, a.sum_dy_xmu, a.counter, a.grad_input}));
  return check_alive({a.grad_out, a.input, a.mean, a.invstd, a.weight, a.sum_dy, a.sum_dy_xmu,
                      a.counter, a.grad_input});
}

int check_counter_type(const Operand& counter) {
  const aclDataType dtype = counter->dtype;
  if (dtype == ACL_FLOAT || dtype == ACL_FLOAT16 || dtype == ACL_INT32) return 0;
  return refuse(kAclnnInvalid, "%s is %s (%d), but must be FLOAT, FLOAT16 or INT32", counter.name,
                name_of(dtype), static_cast<int>(dtype));
}

int check_types_and_formats(const Arguments& a) {
  NORMGRAD_ACLNN_TRY(check_listed_dtype(
      {a.grad_out, a.input, a.mean, a.invstd, a.weight, a.sum_dy, a.sum_dy_xmu, a.grad_input}));
  NORMGRAD_ACLNN_TRY(check_same_dtype(a.grad_out, a.input));
  NORMGRAD_ACLNN_TRY(check_same_dtype(a.grad_input, a.input));
  NORMGRAD_ACLNN_TRY(check_counter_type(a.counter));
  return check_public_format({a.grad_out, a.input, a.mean, a.invstd, a.weight, a.sum_dy,
                              a.sum_dy_xmu, a.counter, a.grad_input});
}

int check_shapes(const Arguments& a) {
  NORMGRAD_ACLNN_TRY(check_rank({a.input, a.grad_out, a.grad_input}, 2));
  NORMGRAD_ACLNN_TRY(check_rank({a.counter}, 0));
  NORMGRAD_ACLNN_TRY(check_views({a.grad_out, a.input, a.mean, a.invstd, a.weight, a.sum_dy,
                                  a.sum_dy_xmu, a.counter, a.grad_input}));
  NORMGRAD_ACLNN_TRY(check_has_channels(a.input, kChannelAxis));
  NORMGRAD_ACLNN_TRY(check_same_shape(a.grad_out, a.input));
  NORMGRAD_ACLNN_TRY(check_same_shape(a.grad_input, a.input));
  return check_channels({a.mean, a.invstd, a.weight, a.sum_dy, a.sum_dy_xmu}, a.input,
                        kChannelAxis);
}

int plan(const Arguments& a, aclOpExecutor& executor) {
  normgrad::Problem problem;
  problem.op = normgrad::Op::kBatchNormElemtBackward;
  return make_executor(executor, problem,
                       {{a.grad_out, Arg::kDy},
                        {a.input, Arg::kX},
                        {a.mean, Arg::kMean},
                        {a.invstd, Arg::kRstd},
                        {a.weight, Arg::kW},
                        {a.sum_dy, Arg::kSumDy},
                        {a.sum_dy_xmu, Arg::kSumDyXmu},
                        {a.counter, Arg::kCounts},
                        {a.grad_input, Arg::kDx}});
}

int check_and_plan(const Arguments& a, aclOpExecutor& executor) {
  set_slots(executor,
            {a.grad_out, a.input, a.mean, a.invstd, a.weight, a.sum_dy, a.sum_dy_xmu, a.counter},
            {a.grad_input});
  NORMGRAD_ACLNN_TRY(check_pointers(a));
  NORMGRAD_ACLNN_TRY(check_types_and_formats(a));
  NORMGRAD_ACLNN_TRY(check_shapes(a));
  return any_empty({a.input, a.counter}) ? 0 : plan(a, executor);
}

}  // namespace

aclnnStatus aclnnBatchNormElemtBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclTensor* input, const aclTensor* mean,
    const aclTensor* invstd, const aclTensor* weight, const aclTensor* sumDy,
    const aclTensor* sumDyXmu, aclTensor* counter, aclTensor* gradInput, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
  return phase_one(__func__, kName, workspaceSize, executor, [&](aclOpExecutor& made) {
    const Arguments a{.grad_out = {"gradOut", gradOut},
                      .input = {"input", input},
                      .mean = {"mean", mean},
                      .invstd = {"invstd", invstd},
                      .weight = optional("weight", weight),
                      .sum_dy = {"sumDy", sumDy},
                      .sum_dy_xmu = {"sumDyXmu", sumDyXmu},
                      .counter = {"counter", counter},
                      .grad_input = {"gradInput", gradInput}};
    return check_and_plan(a, made);
  });
}

aclnnStatus aclnnBatchNormElemtBackward(void* workspace, uint64_t workspaceSize,
                                        aclOpExecutor* executor, const aclrtStream stream) {
  return phase_two(kName, workspace, workspaceSize, executor, stream);
}
