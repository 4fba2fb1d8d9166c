// aclnnBatchNorm: normalization with the statistics of the input, or with the running ones.
#include "aclnnop/aclnn_batch_norm.h"
#include "api/aclnn/channel_axis.h"
#include "api/aclnn/operator.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Arg;

namespace {

constexpr char kName[] = "aclnnBatchNorm";

struct Arguments {
  Operand input, weight, bias, running_mean, running_var;
  Operand output, save_mean, save_invstd;  // the last two: in training
  bool training;
  double momentum, eps;

  int axis() const { return channel_axis(input); }
};

int check_types_and_formats(const Arguments& a) {
  NORMGRAD_ACLNN_TRY(check_listed_dtype({a.input, a.output, a.weight, a.bias, a.running_mean,
                                         a.running_var, a.save_mean, a.save_invstd}));
  NORMGRAD_ACLNN_TRY(check_same_dtype(a.output, a.input));
  // What aclnnBatchNormBackward takes.
  NORMGRAD_ACLNN_TRY(check_float_or_dtype_of(
      a.input, {a.weight, a.bias, a.running_mean, a.running_var, a.save_mean, a.save_invstd}));
  NORMGRAD_ACLNN_TRY(check_same_dtype(a.running_var, a.running_mean));
  NORMGRAD_ACLNN_TRY(check_same_dtype(a.save_invstd, a.save_mean));
  NORMGRAD_ACLNN_TRY(check_same_format(a.output, a.input));
  NORMGRAD_ACLNN_TRY(check_format_of_rank_5({a.input, a.output}));
  return check_public_format({a.input, a.output, a.weight, a.bias, a.running_mean, a.running_var,
                              a.save_mean, a.save_invstd});
}

int check_shapes(const Arguments& a) {
  NORMGRAD_ACLNN_TRY(check_rank({a.input, a.output}, 2));
  NORMGRAD_ACLNN_TRY(check_views({a.input, a.output, a.weight, a.bias, a.running_mean,
                                  a.running_var, a.save_mean, a.save_invstd}));
  NORMGRAD_ACLNN_TRY(check_same_shape(a.output, a.input));
  return check_channels(
      {a.weight, a.bias, a.running_mean, a.running_var, a.save_mean, a.save_invstd}, a.input,
      a.axis());
}

int plan_training(const Arguments& a, normgrad::Problem& problem, aclOpExecutor& executor) {
  return make_executor(executor, problem,
                       {{a.input, Arg::kX},
                        {a.weight, Arg::kW},
                        {a.bias, Arg::kB},
                        {a.running_mean, Arg::kRunningMean},
                        {a.running_var, Arg::kRunningVar},
                        {a.output, Arg::kY},
                        {a.save_mean, Arg::kMean},
                        {a.save_invstd, is_950() ? Arg::kRstd : Arg::kVar}});
}

int plan_inference(const Arguments& a, normgrad::Problem& problem, aclOpExecutor& executor) {
  if (!a.running_var) {
    problem[Arg::kVar] = unit_variance(a.running_var.name, a.input.extent(a.axis()));
  }
  NORMGRAD_ACLNN_TRY(make_executor(executor, problem,
                                   {{a.input, Arg::kX},
                                    {a.weight, Arg::kW},
                                    {a.bias, Arg::kB},
                                    {a.running_mean, Arg::kMean},
                                    {a.running_var, Arg::kVar},
                                    {a.output, Arg::kY}}));
  if (!a.running_var) set_unit_variance(executor, Arg::kVar);
  return 0;
}

int plan(const Arguments& a, aclOpExecutor& executor) {
  normgrad::Problem problem;
  problem.op = normgrad::Op::kBatchNorm;
  problem.training = a.training;
  problem.momentum = a.momentum;
  problem.eps = a.eps;
  problem.channel_axis = a.axis();
  return a.training ? plan_training(a, problem, executor) : plan_inference(a, problem, executor);
}

// The statistics of nothing; of the arguments only those that are written are looked at.
int plan_empty(const Arguments& a, aclOpExecutor& executor) {
  if (!a.training || a.input->shape.size() < 2) return 0;
  const std::int64_t channels = a.input.extent(a.axis());
  if (channels <= 0) return 0;
  NORMGRAD_ACLNN_TRY(check_listed_dtype({a.save_mean, a.save_invstd}));
  NORMGRAD_ACLNN_TRY(check_views({a.save_mean, a.save_invstd}));
  NORMGRAD_ACLNN_TRY(check_channels({a.save_mean, a.save_invstd}, a.input, a.axis()));
  normgrad::Problem problem;
  problem.op = normgrad::Op::kBatchNorm;
  problem[Arg::kX] = {normgrad::DataType::kF32, 2, {0, channels}, {channels, 1}, a.input.name};
  return make_executor(
      executor, problem,
      {{a.save_mean, Arg::kMean}, {a.save_invstd, is_950() ? Arg::kRstd : Arg::kVar}});
}

int check_and_plan(const Arguments& a, aclOpExecutor& executor) {
  set_slots(executor, {a.input, a.weight, a.bias, a.running_mean, a.running_var},
            {a.output, a.save_mean, a.save_invstd});
  NORMGRAD_ACLNN_TRY(check_not_null({a.input, a.output, a.save_mean, a.save_invstd}));
  NORMGRAD_ACLNN_TRY(check_alive({a.input, a.output, a.save_mean, a.save_invstd}));
  if (a.input->is_empty()) return plan_empty(a, executor);  // before all other checks
  NORMGRAD_ACLNN_TRY(check_alive({a.weight, a.bias, a.running_mean, a.running_var}));
  NORMGRAD_ACLNN_TRY(check_types_and_formats(a));
  NORMGRAD_ACLNN_TRY(check_shapes(a));
  return plan(a, executor);
}

}  // namespace

aclnnStatus aclnnBatchNormGetWorkspaceSize(const aclTensor* input, const aclTensor* weight,
                                           const aclTensor* bias, aclTensor* runningMean,
                                           aclTensor* runningVar, bool training, double momentum,
                                           double eps, aclTensor* output, aclTensor* saveMean,
                                           aclTensor* saveInvstd, uint64_t* workspaceSize,
                                           aclOpExecutor** executor) {
  return phase_one(__func__, kName, workspaceSize, executor, [&](aclOpExecutor& made) {
    const Arguments a{.input = {"input", input},
                      .weight = optional("weight", weight),
                      .bias = optional("bias", bias),
                      .running_mean = optional("runningMean", runningMean),
                      .running_var = optional("runningVar", runningVar),
                      .output = {"output", output},
                      .save_mean = output_if(training, "saveMean", saveMean),
                      .save_invstd = output_if(training, "saveInvstd", saveInvstd),
                      .training = training,
                      .momentum = momentum,
                      .eps = eps};
    return check_and_plan(a, made);
  });
}

aclnnStatus aclnnBatchNorm(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                           const aclrtStream stream) {
  return phase_two(kName, workspace, workspaceSize, executor, stream);
}
