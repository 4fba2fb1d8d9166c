// aclnnBatchNormReduceBackward: the sums of the backward pass, over one device.
#include "aclnnop/aclnn_batch_norm_backward_reduce.h"
#include "api/aclnn/operator.h"
using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Arg;

namespace {

constexpr char kName[] = "aclnnBatchNormReduceBackward";
constexpr int kChannelAxis = 1;

struct Arguments {
  Operand grad_out, input, mean, invstd, weight;
  Operand sum_dy, sum_dy_xmu, grad_weight, grad_bias;

  std::int64_t channels() const { return input.extent(kChannelAxis); }
};

int check_pointers(const Arguments& a) {
  NORMGRAD_ACLNN_TRY(check_not_null({a.grad_out, a.input, a.mean, a.invstd}));
  NORMGRAD_ACLNN_TRY(check_not_null({a.sum_dy, a.sum_dy_xmu, a.grad_weight, a.grad_bias}));
  return check_alive({a.grad_out, a.input, a.mean, a.invstd, a.weight, a.sum_dy, a.sum_dy_xmu,
                      a.grad_weight, a.grad_bias});
}

int check_types_and_formats(const Arguments& a) {
  NORMGRAD_ACLNN_TRY(check_listed_dtype({a.grad_out, a.input, a.mean, a.invstd}));
  NORMGRAD_ACLNN_TRY(check_same_dtype(a.grad_out, a.input));
  NORMGRAD_ACLNN_TRY(check_listed_dtype({a.sum_dy, a.sum_dy_xmu, a.grad_weight, a.grad_bias}));
  NORMGRAD_ACLNN_TRY(check_same_format(a.grad_out, a.input));
  return check_public_format(
      {a.grad_out, a.input, a.mean, a.invstd, a.sum_dy, a.sum_dy_xmu, a.grad_weight, a.grad_bias});
}

int check_sizes(const Arguments& a) {
  NORMGRAD_ACLNN_TRY(check_rank({a.grad_out, a.input}, 2));
  NORMGRAD_ACLNN_TRY(check_views({a.grad_out, a.input, a.mean, a.invstd, a.weight, a.sum_dy,
                                  a.sum_dy_xmu, a.grad_weight, a.grad_bias}));
  NORMGRAD_ACLNN_TRY(check_has_channels(a.input, kChannelAxis));
  return check_channels({a.sum_dy, a.sum_dy_xmu, a.grad_weight, a.grad_bias}, a.input,
                        kChannelAxis);
}

// What CANN's own library does not look at.
int check_the_rest(const Arguments& a) {
  NORMGRAD_ACLNN_TRY(check_same_shape(a.grad_out, a.input));
  NORMGRAD_ACLNN_TRY(check_channels({a.mean, a.invstd, a.weight}, a.input, kChannelAxis));
  NORMGRAD_ACLNN_TRY(check_listed_dtype({a.weight}));
  return check_public_format({a.weight});
}

// Sums over nothing; on an Ascend910B they are not even written.
int plan_empty(const Arguments& a, aclOpExecutor& executor) {
  if (!is_950()) return 0;
  normgrad::Problem problem;
  problem.op = normgrad::Op::kBatchNormBackward;
  problem[Arg::kX] = {
      normgrad::DataType::kF32, 2, {0, a.channels()}, {a.channels(), 1}, a.input.name};
  problem[Arg::kDy] = problem[Arg::kX];
  problem[Arg::kDy].name = a.grad_out.name;
  return make_executor(executor, problem,
                       {{a.sum_dy, Arg::kSumDy},
                        {a.sum_dy_xmu, Arg::kSumDyXmu},
                        {a.grad_weight, Arg::kDw},
                        {a.grad_bias, Arg::kDb}});
}

int plan(const Arguments& a, aclOpExecutor& executor) {
  normgrad::Problem problem;
  problem.op = normgrad::Op::kBatchNormBackward;
  return make_executor(executor, problem,
                       {{a.grad_out, Arg::kDy},
                        {a.input, Arg::kX},
                        {a.mean, Arg::kMean},
                        {a.invstd, Arg::kRstd},
                        {a.sum_dy, Arg::kSumDy},
                        {a.sum_dy_xmu, Arg::kSumDyXmu},
                        {a.grad_weight, Arg::kDw},
                        {a.grad_bias, Arg::kDb}});
}

int check_and_plan(const Arguments& a, aclOpExecutor& executor) {
  set_slots(executor, {a.grad_out, a.input, a.mean, a.invstd, a.weight},
            {a.sum_dy, a.sum_dy_xmu, a.grad_weight, a.grad_bias});
  NORMGRAD_ACLNN_TRY(check_pointers(a));
  NORMGRAD_ACLNN_TRY(check_types_and_formats(a));
  NORMGRAD_ACLNN_TRY(check_sizes(a));
  if (any_empty({a.grad_out, a.input, a.mean, a.invstd})) return plan_empty(a, executor);
  NORMGRAD_ACLNN_TRY(check_the_rest(a));
  return plan(a, executor);
}

}  // namespace

aclnnStatus aclnnBatchNormReduceBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclTensor* input, const aclTensor* mean,
    const aclTensor* invstd, const aclTensor* weight, const bool inputG, const bool weightG,
    const bool biasG, aclTensor* sumDy, aclTensor* sumDyXmu, aclTensor* gradWeight,
    aclTensor* gradBias, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phase_one(__func__, kName, workspaceSize, executor, [&](aclOpExecutor& made) {
    const Arguments a{.grad_out = {"gradOut", gradOut},
                      .input = {"input", input},
                      .mean = {"mean", mean},
                      .invstd = {"invstd", invstd},
                      .weight = optional("weight", weight),
                      .sum_dy = output_if(inputG, "sumDy", sumDy),
                      .sum_dy_xmu = output_if(inputG, "sumDyXmu", sumDyXmu),
                      .grad_weight = output_if(weightG, "gradWeight", gradWeight),
                      .grad_bias = output_if(biasG, "gradBias", gradBias)};
    return check_and_plan(a, made);
  });
}

aclnnStatus aclnnBatchNormReduceBackward(void* workspace, uint64_t workspaceSize,
                                         aclOpExecutor* executor, const aclrtStream stream) {
  return phase_two(kName, workspace, workspaceSize, executor, stream);
}
