// aclnnBatchNorm, and its gradients: aclnnBatchNormBackward and aclnnFastBatchNormBackward, one computation of which the first
// has more rules.
#include "aclnnop/aclnn_batch_norm.h"
#include "aclnnop/aclnn_batch_norm_backward.h"
#include "aclnnop/aclnn_fast_batch_norm_backward.h"
#include "api/aclnn/arrays.h"
#include "api/aclnn/operator.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Arg;

namespace {

using enum Form;
using enum Use;

// ---- aclnnBatchNorm: with the statistics of the input, or with the running ones ----

namespace forward {

enum : int {
  kInput,
  kWeight,
  kBias,
  kRunningMean,
  kRunningVar,
  kOutput,
  kSaveMean,
  kSaveInvstd,
};
constexpr Row kRows[] = {
    {"input", Arg::kX, kData, kIn},
    {"weight", Arg::kW, kVector, kOptional},
    {"bias", Arg::kB, kVector, kOptional},
    {"runningMean", Arg::kRunningMean, kVector, kOptional, {.float_or = kInput}},
    {"runningVar",
     Arg::kRunningVar,
     kVector,
     kOptional,
     {.float_or = kInput, .type = kRunningMean}},
    {"output", Arg::kY, kData, kOut, {.type = kInput, .format = kInput}},
    {"saveMean", Arg::kMean, kVector, kOut, {.float_or = kInput}},
    {"saveInvstd", Arg::kRstd, kVector, kOut, {.float_or = kInput, .type = kSaveMean}},
};
constexpr Spec kSpec{.name = "aclnnBatchNorm",
                     .op = normgrad::Op::kBatchNorm,
                     .data = kInput,
                     .rows = kRows,
                     .rank_five = RankFive::kOwnFormat,
                     .channels_by_format = true};

struct Attributes {
  bool training;
  double momentum, eps;
};

// In training saveMean and saveInvstd are computed, and the running ones updated; in inference these are the statistics.
void choose_statistics(Arguments& a, bool training) {
  if (!is_950()) a[kSaveInvstd].arg = Arg::kVar;
  if (training) return;
  a[kRunningMean].arg = Arg::kMean;
  a[kRunningVar].arg = Arg::kVar;
  a[kSaveMean].leave_out(), a[kSaveInvstd].leave_out();
}

// The statistics of nothing; of the arguments only those that are written are looked at.
int plan_empty(Arguments& a, const Attributes& attributes, aclOpExecutor& executor) {
  if (!attributes.training || a[kInput]->shape.size() < 2 || a.channels() <= 0) return 0;
  for (const int i : {kWeight, kBias, kRunningMean, kRunningVar, kOutput}) a[i].leave_out();
  normgrad::Problem problem = problem_of(a);
  problem.channel_axis = 1;
  problem[Arg::kX] = nothing_like(a, a[kInput]);
  a[kInput].leave_out();
  NORMGRAD_ACLNN_TRY(check_types(a, Mixtures::kAny));
  for (const int i : {kSaveMean, kSaveInvstd}) NORMGRAD_ACLNN_TRY(check_view(a[i]));
  return make_executor(executor, problem, a);
}

int check_and_plan(Arguments& a, const Attributes& attributes, aclOpExecutor& executor) {
  choose_statistics(a, attributes.training);
  NORMGRAD_ACLNN_TRY(check_not_null(a));
  for (const int i : {kInput, kOutput, kSaveMean, kSaveInvstd})
    NORMGRAD_ACLNN_TRY(check_alive(a[i]));
  if (a[kInput]->is_empty()) return plan_empty(a, attributes, executor);  // before all other checks
  NORMGRAD_ACLNN_TRY(check_alive(a));
  NORMGRAD_ACLNN_TRY(check_document(a));
  normgrad::Problem problem = problem_of(a);
  problem.training = attributes.training;
  problem.momentum = attributes.momentum;
  problem.eps = attributes.eps;
  const bool unit = !attributes.training && !a[kRunningVar];
  if (unit) problem[Arg::kVar] = unit_variance(a, a[kRunningVar]);
  NORMGRAD_ACLNN_TRY(make_executor(executor, problem, a));
  if (unit) set_unit_variance(executor);
  return 0;
}

}  // namespace forward

// ---- aclnnBatchNormBackward, aclnnFastBatchNormBackward ----

namespace backward {

enum : int {
  kGradOut,
  kInput,
  kWeight,
  kRunningMean,
  kRunningVar,
  kSaveMean,
  kSaveInvstd,
  kGradInput,
  kGradWeight,
  kGradBias,
};
constexpr Row kRows[] = {
    {"gradOut", Arg::kDy, kData, kIn, {.format = kInput}},
    {"input", Arg::kX, kData, kIn, {.type = kGradOut}},
    {"weight", Arg::kW, kVector, kOptional, {.float_or = kGradOut}},
    {"runningMean", Arg::kNone, kVector, kOptional, {.float_or = kGradOut}},
    {"runningVar", Arg::kNone, kVector, kOptional, {.float_or = kGradOut, .type = kRunningMean}},
    {"saveMean", Arg::kMean, kVector, kOptional, {.float_or = kGradOut}},
    {"saveInvstd", Arg::kRstd, kVector, kOptional, {.float_or = kGradOut, .type = kSaveMean}},
    {"gradInput", Arg::kDx, kData, kOut, {.type = kGradOut, .format = kGradOut}},
    {"gradWeight", Arg::kDw, kVector, kOut, {.float_or = kWeight}},
    {"gradBias", Arg::kDb, kVector, kOut, {.float_or = kWeight, .type = kGradWeight}},
};
constexpr Spec kSpec{.name = "aclnnBatchNormBackward",
                     .op = normgrad::Op::kBatchNormBackward,
                     .data = kInput,
                     .rows = kRows,
                     .rank_five = RankFive::kOwnFormatOn950,
                     .channels_by_format = true};
constexpr Spec kFastSpec{.name = "aclnnFastBatchNormBackward",
                         .op = normgrad::Op::kBatchNormBackward,
                         .data = kInput,
                         .rows = kRows,
                         .channels_by_format = true};

struct Attributes {
  bool training;
  double eps;
  const aclBoolArray* mask;
  int version;
  Mixtures mixtures;
};

int check_mask(const aclBoolArray* mask) {
  NORMGRAD_ACLNN_TRY(check_handle("outputMask", mask));
  if (mask->size == 3) return 0;
  // CANN answers a length of 0 as if the mask were null.
  return refuse(mask->size == 0 ? kAclnnNullPointer : kAclnnInvalid,
                "outputMask has length %llu, but must have 3 values",
                static_cast<unsigned long long>(mask->size));
}

int check_attributes(const Attributes& attributes) {
  NORMGRAD_ACLNN_TRY(check_mask(attributes.mask));
  if (attributes.version == 0 || attributes.version == 1) return 0;
  return refuse(kAclnnInvalid, "version is %d, but must be 0 or 1", attributes.version);
}

void choose_statistics(Arguments& a, bool training) {
  if (training) {
    if (!is_950()) a[kSaveInvstd].arg = Arg::kVar;
    return;
  }
  a[kRunningMean].arg = Arg::kMean;
  a[kRunningVar].arg = Arg::kVar;
  for (const int i : {kSaveMean, kSaveInvstd}) {
    a[i].arg = Arg::kNone;
    const bool unused = a[i] && a[i]->shape.size() == 1 && a[i]->is_empty();  // which is allowed
    if (unused) a[i].leave_out();
  }
}

int plan(Arguments& a, const Attributes& attributes, aclOpExecutor& executor) {
  choose_statistics(a, attributes.training);
  normgrad::Problem problem = problem_of(a);
  problem.training = attributes.training;
  problem.eps = attributes.eps;
  const Operand& spread = a[attributes.training ? kSaveInvstd : kRunningVar];
  const bool unit = spread.arg == Arg::kVar && !spread;
  if (unit) problem[Arg::kVar] = unit_variance(a, spread);
  NORMGRAD_ACLNN_TRY(make_executor(executor, problem, a));
  if (unit) set_unit_variance(executor);
  const bool nothing_wanted = !a[kGradInput] && !a[kGradWeight] && !a[kGradBias];
  if (nothing_wanted) executor.plan = {};
  return 0;
}

int check_and_plan(Arguments& a, const Attributes& attributes, aclOpExecutor& executor) {
  for (const int i : {kGradOut, kInput}) {
    if (!a[i]) return refuse_null_pointer(a[i].name());
  }
  for (const int i : {kGradOut, kInput}) NORMGRAD_ACLNN_TRY(check_alive(a[i]));
  if (any_empty(a, {kGradOut, kInput})) return 0;  // before all other checks
  NORMGRAD_ACLNN_TRY(check_attributes(attributes));
  for (int i = 0; i < 3; ++i) {
    if (!attributes.mask->values[static_cast<std::size_t>(i)]) a[kGradInput + i].leave_out();
  }
  NORMGRAD_ACLNN_TRY(check_not_null(a));
  NORMGRAD_ACLNN_TRY(check_alive(a));
  NORMGRAD_ACLNN_TRY(check_types(a, attributes.mixtures));
  NORMGRAD_ACLNN_TRY(check_formats(a));
  NORMGRAD_ACLNN_TRY(check_views(a));
  return plan(a, attributes, executor);
}

}  // namespace backward

}  // namespace

aclnnStatus aclnnBatchNormGetWorkspaceSize(const aclTensor* input, const aclTensor* weight,
                                           const aclTensor* bias, aclTensor* runningMean,
                                           aclTensor* runningVar, bool training, double momentum,
                                           double eps, aclTensor* output, aclTensor* saveMean,
                                           aclTensor* saveInvstd, uint64_t* workspaceSize,
                                           aclOpExecutor** executor) {
  return phase_one<forward::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return forward::check_and_plan(a, {training, momentum, eps}, made);
      },
      input, weight, bias, runningMean, runningVar, output, saveMean, saveInvstd);
}

aclnnStatus aclnnBatchNorm(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                           const aclrtStream stream) {
  return phase_two(forward::kSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnBatchNormBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclTensor* input, const aclTensor* weight,
    const aclTensor* runningMean, const aclTensor* runningVar, const aclTensor* saveMean,
    const aclTensor* saveInvstd, bool training, double eps, const aclBoolArray* outputMask,
    aclTensor* gradInput, aclTensor* gradWeight, aclTensor* gradBias, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
  return phase_one<backward::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return backward::check_and_plan(a, {training, eps, outputMask, 0, Mixtures::kListed}, made);
      },
      gradOut, input, weight, runningMean, runningVar, saveMean, saveInvstd, gradInput, gradWeight,
      gradBias);
}

aclnnStatus aclnnBatchNormBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                   const aclrtStream stream) {
  return phase_two(backward::kSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnFastBatchNormBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclTensor* input, const aclTensor* weight,
    const aclTensor* runningMean, const aclTensor* runningVar, const aclTensor* saveMean,
    const aclTensor* saveInvstd, bool training, double eps, const aclBoolArray* outputMask,
    int version, aclTensor* gradInput, aclTensor* gradWeight, aclTensor* gradBias,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phase_one<backward::kFastSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return backward::check_and_plan(a, {training, eps, outputMask, version, Mixtures::kAny},
                                        made);
      },
      gradOut, input, weight, runningMean, runningVar, saveMean, saveInvstd, gradInput, gradWeight,
      gradBias);
}

aclnnStatus aclnnFastBatchNormBackward(void* workspace, uint64_t workspaceSize,
                                       aclOpExecutor* executor, const aclrtStream stream) {
  return phase_two(backward::kFastSpec.name, workspace, workspaceSize, executor, stream);
}
