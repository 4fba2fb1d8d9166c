// aclnnBatchNormBackward and aclnnFastBatchNormBackward: one computation; the first has more rules.
#include "aclnnop/aclnn_batch_norm_backward.h"
#include "aclnnop/aclnn_fast_batch_norm_backward.h"
#include "api/aclnn/arrays.h"
#include "api/aclnn/channel_axis.h"
#include "api/aclnn/operator.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Arg;

namespace {

constexpr char kName[] = "aclnnBatchNormBackward";
constexpr char kFastName[] = "aclnnFastBatchNormBackward";

struct Inputs {
  Operand grad_out, input, weight, running_mean, running_var, save_mean, save_invstd;
  bool training;
  double eps;

  int axis() const { return channel_axis(input); }
};

Inputs inputs(const aclTensor* grad_out, const aclTensor* input, const aclTensor* weight,
              const aclTensor* running_mean, const aclTensor* running_var,
              const aclTensor* save_mean, const aclTensor* save_invstd, bool training, double eps) {
  return {.grad_out = {"gradOut", grad_out},
          .input = {"input", input},
          .weight = optional("weight", weight),
          .running_mean = optional("runningMean", running_mean),
          .running_var = optional("runningVar", running_var),
          .save_mean = optional("saveMean", save_mean),
          .save_invstd = optional("saveInvstd", save_invstd),
          .training = training,
          .eps = eps};
}

struct Outputs {
  Operand grad_input, grad_weight, grad_bias;
};

enum class Rules { kAll, kFast };

int check_mask(const aclBoolArray* mask) {
  NORMGRAD_ACLNN_TRY(check_handle("outputMask", mask));
  if (mask->size == 3) return 0;
  // CANN answers a length of 0 as if the mask were null.
  return refuse(mask->size == 0 ? kAclnnNullPointer : kAclnnInvalid,
                "outputMask has length %llu, but must have 3 values",
                static_cast<unsigned long long>(mask->size));
}

int check_pointers(const Inputs& in, const Outputs& out) {
  NORMGRAD_ACLNN_TRY(check_not_null({out.grad_input, out.grad_weight, out.grad_bias}));
  return check_alive({in.weight, in.running_mean, in.running_var, in.save_mean, in.save_invstd,
                      out.grad_input, out.grad_weight, out.grad_bias});
}

int check_listed_types(const Inputs& in, const Outputs& out) {
  NORMGRAD_ACLNN_TRY(check_listed_dtype({in.grad_out, in.input}));
  NORMGRAD_ACLNN_TRY(check_same_dtype(in.input, in.grad_out));
  NORMGRAD_ACLNN_TRY(check_listed_dtype({out.grad_input, out.grad_weight, out.grad_bias}));
  return check_listed_dtype(
      {in.weight, in.running_mean, in.running_var, in.save_mean, in.save_invstd});
}

int check_mixed_types(const Inputs& in, const Outputs& out) {
  NORMGRAD_ACLNN_TRY(check_float_or_dtype_of(
      in.grad_out, {in.weight, in.running_mean, in.running_var, in.save_mean, in.save_invstd}));
  NORMGRAD_ACLNN_TRY(check_same_dtype(in.running_var, in.running_mean));
  NORMGRAD_ACLNN_TRY(check_same_dtype(in.save_invstd, in.save_mean));
  NORMGRAD_ACLNN_TRY(check_same_dtype(out.grad_input, in.grad_out));
  NORMGRAD_ACLNN_TRY(check_float_or_dtype_of(in.weight, {out.grad_weight, out.grad_bias}));
  return check_same_dtype(out.grad_bias, out.grad_weight);
}

int check_formats(const Inputs& in, const Outputs& out, Rules rules) {
  NORMGRAD_ACLNN_TRY(check_same_format(in.grad_out, in.input));
  NORMGRAD_ACLNN_TRY(check_same_format(out.grad_input, in.grad_out));
  if (rules == Rules::kAll && is_950()) {
    NORMGRAD_ACLNN_TRY(check_format_of_rank_5({in.input, out.grad_input}));
  }
  return check_public_format({in.grad_out, in.input, in.weight, in.running_mean, in.running_var,
                              in.save_mean, in.save_invstd, out.grad_input, out.grad_weight,
                              out.grad_bias});
}

int check_data_shapes(const Inputs& in, const Outputs& out) {
  NORMGRAD_ACLNN_TRY(check_rank({in.input, in.grad_out, out.grad_input}, 2));
  NORMGRAD_ACLNN_TRY(
      check_views({in.grad_out, in.input, in.weight, in.running_mean, in.running_var, in.save_mean,
                   in.save_invstd, out.grad_input, out.grad_weight, out.grad_bias}));
  NORMGRAD_ACLNN_TRY(check_same_shape(in.grad_out, in.input));
  return check_same_shape(out.grad_input, in.input);
}

// In inference the saved statistics may be there without elements.
Operand unless_unused(const Operand& saved, const Inputs& in) {
  const bool unused = !in.training && saved && saved->shape.size() == 1 && saved->is_empty();
  return unused ? Operand(saved.name, nullptr) : saved;
}

int check_parameter_shapes(const Inputs& in, const Outputs& out) {
  NORMGRAD_ACLNN_TRY(
      check_channels({in.weight, in.running_mean, in.running_var}, in.input, in.axis()));
  return check_channels({unless_unused(in.save_mean, in), unless_unused(in.save_invstd, in),
                         out.grad_weight, out.grad_bias},
                        in.input, in.axis());
}

int check(const Inputs& in, const Outputs& out, Rules rules) {
  NORMGRAD_ACLNN_TRY(check_pointers(in, out));
  NORMGRAD_ACLNN_TRY(check_listed_types(in, out));
  if (rules == Rules::kAll) NORMGRAD_ACLNN_TRY(check_mixed_types(in, out));
  NORMGRAD_ACLNN_TRY(check_formats(in, out, rules));
  NORMGRAD_ACLNN_TRY(check_data_shapes(in, out));
  return check_parameter_shapes(in, out);
}

int plan(const Inputs& in, const Outputs& out, aclOpExecutor& executor) {
  normgrad::Problem problem;
  problem.op = normgrad::Op::kBatchNormBackward;
  problem.training = in.training;
  problem.eps = in.eps;
  problem.channel_axis = in.axis();
  const Operand& mean = in.training ? in.save_mean : in.running_mean;
  const Operand& spread = in.training ? in.save_invstd : in.running_var;
  const bool is_variance = !in.training || !is_950();
  const bool left_out = is_variance && !spread;
  if (left_out) problem[Arg::kVar] = unit_variance(spread.name, in.input.extent(in.axis()));
  NORMGRAD_ACLNN_TRY(make_executor(executor, problem,
                                   {{in.grad_out, Arg::kDy},
                                    {in.input, Arg::kX},
                                    {in.weight, Arg::kW},
                                    {mean, Arg::kMean},
                                    {spread, is_variance ? Arg::kVar : Arg::kRstd},
                                    {out.grad_input, Arg::kDx},
                                    {out.grad_weight, Arg::kDw},
                                    {out.grad_bias, Arg::kDb}}));
  if (left_out) set_unit_variance(executor, Arg::kVar);
  return 0;
}

// The outputs as the caller gave them; which of them are wanted, the mask tells.
struct OutputPointers {
  const aclTensor *grad_input, *grad_weight, *grad_bias;
};

Outputs wanted(const bool* mask, const OutputPointers& given) {
  return {output_if(mask[0], "gradInput", given.grad_input),
          output_if(mask[1], "gradWeight", given.grad_weight),
          output_if(mask[2], "gradBias", given.grad_bias)};
}

int check_and_plan(const Inputs& in, const aclBoolArray* mask, int version, Rules rules,
                   const OutputPointers& given, aclOpExecutor& executor) {
  constexpr bool kAll[3] = {true, true, true};
  Outputs out = wanted(kAll, given);
  set_slots(executor,
            {in.grad_out, in.input, in.weight, in.running_mean, in.running_var, in.save_mean,
             in.save_invstd},
            {out.grad_input, out.grad_weight, out.grad_bias});
  NORMGRAD_ACLNN_TRY(check_not_null({in.grad_out, in.input}));
  NORMGRAD_ACLNN_TRY(check_alive({in.grad_out, in.input}));
  if (any_empty({in.grad_out, in.input})) return 0;  // before all other checks
  NORMGRAD_ACLNN_TRY(check_mask(mask));
  if (version != 0 && version != 1) {
    return refuse(kAclnnInvalid, "version is %d, but must be 0 or 1", version);
  }
  out = wanted(mask->values.get(), given);
  NORMGRAD_ACLNN_TRY(check(in, out, rules));
  const bool nothing_wanted = !out.grad_input && !out.grad_weight && !out.grad_bias;
  return nothing_wanted ? 0 : plan(in, out, executor);
}

}  // namespace

aclnnStatus aclnnBatchNormBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclTensor* input, const aclTensor* weight,
    const aclTensor* runningMean, const aclTensor* runningVar, const aclTensor* saveMean,
    const aclTensor* saveInvstd, bool training, double eps, const aclBoolArray* outputMask,
    aclTensor* gradInput, aclTensor* gradWeight, aclTensor* gradBias, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
  return phase_one(__func__, kName, workspaceSize, executor, [&](aclOpExecutor& made) {
    const Inputs in = inputs(gradOut, input, weight, runningMean, runningVar, saveMean, saveInvstd,
                             training, eps);
    return check_and_plan(in, outputMask, 0, Rules::kAll, {gradInput, gradWeight, gradBias}, made);
  });
}

aclnnStatus aclnnBatchNormBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                   const aclrtStream stream) {
  return phase_two(kName, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnFastBatchNormBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclTensor* input, const aclTensor* weight,
    const aclTensor* runningMean, const aclTensor* runningVar, const aclTensor* saveMean,
    const aclTensor* saveInvstd, bool training, double eps, const aclBoolArray* outputMask,
    int version, aclTensor* gradInput, aclTensor* gradWeight, aclTensor* gradBias,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phase_one(__func__, kFastName, workspaceSize, executor, [&](aclOpExecutor& made) {
    const Inputs in = inputs(gradOut, input, weight, runningMean, runningVar, saveMean, saveInvstd,
                             training, eps);
    return check_and_plan(in, outputMask, version, Rules::kFast, {gradInput, gradWeight, gradBias},
                          made);
  });
}

aclnnStatus aclnnFastBatchNormBackward(void* workspace, uint64_t workspaceSize,
                                       aclOpExecutor* executor, const aclrtStream stream) {
  return phase_two(kFastName, workspace, workspaceSize, executor, stream);
}
