// LayerNorm and what is fused with it: of a sum (AddLayerNorm, DeepNorm), modulated (AdaLayerNorm); and their gradients.
#include "aclnnop/aclnn_ada_layer_norm.h"
#include "aclnnop/aclnn_ada_layer_norm_backward.h"
#include "aclnnop/aclnn_ada_layer_norm_v2.h"
#include "aclnnop/aclnn_add_layer_norm.h"
#include "aclnnop/aclnn_add_layer_norm_grad.h"
#include "aclnnop/aclnn_deep_norm.h"
#include "aclnnop/aclnn_deep_norm_grad.h"
#include "aclnnop/aclnn_layer_norm.h"
#include "aclnnop/aclnn_layer_norm_backward.h"
#include "api/aclnn/arrays.h"
#include "api/aclnn/operator.h"
#include "runtime/layout.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Arg;
using normgrad::Op;

namespace {

using enum Form;
using enum Use;

int rank_of(const Operand& operand) { return static_cast<int>(operand->shape.size()); }

// ---- aclnnLayerNorm, ...WithImplMode, aclnnFastLayerNorm ----

namespace forward {

enum : int { kInput, kWeight, kBias, kOut, kMean, kRstd };
constexpr Row kRows[] = {
    {"input", Arg::kX, kData, kIn},
    {"weightOptional", Arg::kW, kRow, kOptional, {.float_or = kInput}},
    {"biasOptional", Arg::kB, kRow, kOptional, {.float_or = kInput}},
    {"out", Arg::kY, kData, Use::kOut},
    {"meanOutOptional", Arg::kMean, kPerRow, Use::kOut},
    {"rstdOutOptional", Arg::kRstd, kPerRow, Use::kOut},
};
constexpr Spec kSpec{
    .name = "aclnnLayerNorm", .op = Op::kLayerNorm, .data = kInput, .rows = kRows, .least_rank = 1};
constexpr Spec kModeSpec{.name = "aclnnLayerNormWithImplMode",
                         .op = Op::kLayerNorm,
                         .data = kInput,
                         .rows = kRows,
                         .least_rank = 1};
constexpr Spec kFastSpec{.name = "aclnnFastLayerNorm",
                         .op = Op::kLayerNorm,
                         .data = kInput,
                         .rows = kRows,
                         .least_rank = 1};

// 2: all of FLOAT16.
int check_mode(const Arguments& a, int mode) {
  if (mode < 0 || mode > 2) {
    return refuse(kAclnnInvalid, "implMode is %d, but must be 0, 1 or 2", mode);
  }
  for (const Operand& operand : a) {
    if (mode != 2 || !operand || operand->dtype == ACL_FLOAT16) continue;
    return refuse(kAclnnInvalid, "implMode is 2, for which %s must be FLOAT16, but it is %s",
                  operand.name(), name_of(operand->dtype));
  }
  return 0;
}

int check_and_plan(Arguments& a, const aclIntArray* shape, double eps, int mode,
                   aclOpExecutor& executor) {
  for (const int i : {kMean, kRstd}) {
    if (!a[i]) a[i].leave_out();
  }
  NORMGRAD_ACLNN_TRY(check_not_null(a));
  NORMGRAD_ACLNN_TRY(check_handle("normalizedShape", shape));
  NORMGRAD_ACLNN_TRY(check_rows(a));
  NORMGRAD_ACLNN_TRY(check_mode(a, mode));
  NORMGRAD_ACLNN_TRY(check_normalized_shape(a, *shape));
  return plan_rows(executor, a, {.axes = static_cast<int>(shape->size), .eps = eps});
}

}  // namespace forward

// ---- aclnnLayerNormBackward ----

namespace backward {

enum : int {
  kGradOut,
  kInput,
  kMean,
  kRstd,
  kWeight,
  kBias,
  kGradInput,
  kGradWeight,
  kGradBias,
};
constexpr Row kRows[] = {
    {"gradOut", Arg::kDy, kData, kIn},
    {"input", Arg::kX, kData, kIn, {.type = kGradOut}},
    {"mean", Arg::kMean, kPerRow, kIn},
    {"rstd", Arg::kRstd, kPerRow, kIn},
    {"weightOptional", Arg::kW, kRow, kOptional, {.float_or = kInput}},
    {"biasOptional", Arg::kNone, kRow, kOptional},
    {"gradInputOut", Arg::kDx, kData, kOut},
    {"gradWeightOut", Arg::kDw, kRow, kOut},
    {"gradBiasOut", Arg::kDb, kRow, kOut},
};
constexpr Spec kSpec{.name = "aclnnLayerNormBackward",
                     .op = Op::kLayerNormBackward,
                     .data = kInput,
                     .rows = kRows,
                     .least_rank = 1};

int check_and_plan(Arguments& a, const aclIntArray* shape, const aclBoolArray* mask,
                   aclOpExecutor& executor) {
  for (const int i : {kGradOut, kInput, kMean, kRstd}) {
    if (!a[i]) return refuse_null_pointer(a[i].name());
  }
  NORMGRAD_ACLNN_TRY(check_handle("normalizedShape", shape));
  NORMGRAD_ACLNN_TRY(check_handle("outputMask", mask));
  if (mask->size != 3) {
    return refuse(kAclnnInvalid, "outputMask has length %llu, but must have 3 values",
                  static_cast<unsigned long long>(mask->size));
  }
  for (int i = 0; i < 3; ++i) {
    if (!mask->values[static_cast<std::size_t>(i)]) a[kGradInput + i].leave_out();
  }
  NORMGRAD_ACLNN_TRY(check_rows(a));
  NORMGRAD_ACLNN_TRY(check_normalized_shape(a, *shape));
  NORMGRAD_ACLNN_TRY(plan_rows(executor, a, {.axes = static_cast<int>(shape->size)}));
  if (!a[kGradInput] && !a[kGradWeight] && !a[kGradBias]) executor.plan = {};
  return 0;
}

}  // namespace backward

// ---- aclnnAddLayerNorm: of x1 + x2 + bias ----

namespace add_forward {

enum : int { kX1, kX2, kGamma, kBeta, kBias, kY, kMean, kRstd, kX };
constexpr Row kRows[] = {
    {"x1", Arg::kX, kData, kIn},
    {"x2", Arg::kX2, kData, kIn},
    {"gamma", Arg::kW, kRow, kIn, {.float_or = kX1}},
    {"beta", Arg::kB, kRow, kIn, {.float_or = kX1}},
    {"biasOptional", Arg::kXBias, kOther, kOptional, {.float_or = kX1}},
    {"yOut", Arg::kY, kData, kOut, {.float_or = kX1}},
    {"meanOut", Arg::kMean, kPerRow, kOut, {}, false, true},
    {"rstdOut", Arg::kRstd, kPerRow, kOut, {}, false, true},
    {"xOut", Arg::kXSum, kData, kOut, {.type = kY}},
};
constexpr Spec kSpec{.name = "aclnnAddLayerNorm",
                     .op = Op::kLayerNorm,
                     .data = kX1,
                     .rows = kRows,
                     .least_rank = 1,
                     .shape_code = kAclnnInnerShape};

// x1 and x2 of two types: all others are FLOAT.
int check_mixture(const Arguments& a) {
  const bool alike = a[kX1]->dtype == a[kX2]->dtype;
  if (!alike && a[kX1]->dtype != ACL_FLOAT && a[kX2]->dtype != ACL_FLOAT) {
    return refuse(kAclnnInvalid, "x1 is %s and x2 %s, but they must have one type, or one FLOAT",
                  name_of(a[kX1]->dtype), name_of(a[kX2]->dtype));
  }
  for (const Operand& operand : a) {
    if (!operand || &operand == &a[kX1] || &operand == &a[kX2]) continue;
    const bool is_y = &operand == &a[kY];
    if (alike ? !is_y || operand->dtype == a[kX1]->dtype : operand->dtype == ACL_FLOAT) continue;
    return refuse(kAclnnInvalid, "%s is %s, but must be %s with x1 %s and x2 %s", operand.name(),
                  name_of(operand->dtype), name_of(alike ? a[kX1]->dtype : ACL_FLOAT),
                  name_of(a[kX1]->dtype), name_of(a[kX2]->dtype));
  }
  return 0;
}

int check_and_plan(Arguments& a, double eps, bool wants_x, aclOpExecutor& executor) {
  if (!wants_x) a[kX].leave_out();
  NORMGRAD_ACLNN_TRY(check_rows(a));
  NORMGRAD_ACLNN_TRY(check_mixture(a));
  return plan_rows(executor, a, {.axes = rank_of(a[kGamma]), .eps = eps});
}

}  // namespace add_forward

// ---- aclnnAddLayerNormGrad ----

namespace add_backward {

enum : int { kDy, kX1, kX2, kRstd, kMean, kGamma, kDsum, kDx, kDgamma, kDbeta };
constexpr Row kRows[] = {
    {"dy", Arg::kDy, kData, kIn},
    {"x1", Arg::kX, kData, kIn, {.type = kDy}},
    {"x2", Arg::kX2, kData, kIn, {.type = kDy}},
    {"rstd", Arg::kRstd, kPerRow, kIn, {}, false, true},
    {"mean", Arg::kMean, kPerRow, kIn, {}, false, true},
    {"gamma", Arg::kW, kRow, kIn, {.float_or = kDy}},
    {"dsumOptional", Arg::kDsum, kData, kOptional, {.type = kDy}},
    {"dxOut", Arg::kDx, kData, kOut, {.type = kDy}},
    {"dgammaOut", Arg::kDw, kRow, kOut, {}, false, true},
    {"dbetaOut", Arg::kDb, kRow, kOut, {}, false, true},
};
constexpr Spec kSpec{.name = "aclnnAddLayerNormGrad",
                     .op = Op::kLayerNormBackward,
                     .data = kX1,
                     .rows = kRows,
                     .least_rank = 1,
                     .shape_code = kAclnnInnerShape};

int check_and_plan(Arguments& a, aclOpExecutor& executor) {
  NORMGRAD_ACLNN_TRY(check_rows(a));
  return plan_rows(executor, a, {.axes = rank_of(a[kGamma])});
}

}  // namespace add_backward

// ---- aclnnDeepNorm: of alpha*x + gx ----

namespace deep_forward {

enum : int { kX, kGx, kBeta, kGamma, kMean, kRstd, kY };
constexpr Row kRows[] = {
    {"x", Arg::kX2, kData, kIn},
    {"gx", Arg::kX, kData, kIn, {.type = kX}},
    {"beta", Arg::kB, kRow, kIn, {.float_or = kX}},
    {"gamma", Arg::kW, kRow, kIn, {.float_or = kX}},
    {"meanOut", Arg::kMean, kPerRow, kOut, {}, false, true},
    {"rstdOut", Arg::kRstd, kPerRow, kOut, {}, false, true},
    {"yOut", Arg::kY, kData, kOut, {.type = kX}},
};
constexpr Spec kSpec{.name = "aclnnDeepNorm",
                     .op = Op::kLayerNorm,
                     .data = kX,
                     .rows = kRows,
                     .shape_code = kAclnnInnerShape};

int check_and_plan(Arguments& a, double alpha, double eps, aclOpExecutor& executor) {
  NORMGRAD_ACLNN_TRY(check_rows(a));
  return plan_rows(executor, a, {.axes = rank_of(a[kGamma]), .eps = eps, .alpha = alpha});
}

}  // namespace deep_forward

// ---- aclnnDeepNormGrad ----

namespace deep_backward {

enum : int { kDy, kX, kGx, kGamma, kMean, kRstd, kDx, kDgx, kDbeta, kDgamma };
constexpr Row kRows[] = {
    {"dy", Arg::kDy, kData, kIn},
    {"x", Arg::kX2, kData, kIn, {.type = kDy}},
    {"gx", Arg::kX, kData, kIn, {.type = kDy}},
    {"gamma", Arg::kW, kRow, kIn, {.float_or = kDy}},
    {"mean", Arg::kMean, kPerRow, kIn, {}, false, true},
    {"rstd", Arg::kRstd, kPerRow, kIn, {}, false, true},
    {"dxOut", Arg::kDx2, kData, kOut, {.type = kDy}},
    {"dgxOut", Arg::kDx, kData, kOut, {.type = kDy}},
    {"dbetaOut", Arg::kDb, kRow, kOut, {}, false, true},
    {"dgammaOut", Arg::kDw, kRow, kOut, {}, false, true},
};
constexpr Spec kSpec{.name = "aclnnDeepNormGrad",
                     .op = Op::kLayerNormBackward,
                     .data = kGx,
                     .rows = kRows,
                     .shape_code = kAclnnInnerShape};

int check_and_plan(Arguments& a, double alpha, aclOpExecutor& executor) {
  NORMGRAD_ACLNN_TRY(check_rows(a));
  return plan_rows(executor, a, {.axes = rank_of(a[kGamma]), .alpha = alpha});
}

}  // namespace deep_backward

// ---- aclnnAdaLayerNorm, ...V2: scaled and shifted by what belongs to some rows together ----

namespace ada_forward {

enum : int { kX, kScale, kShift, kWeight, kBias, kY, kMean, kRstd };
constexpr Row kRows[] = {
    {"x", Arg::kX, kData, kIn},
    {"scale", Arg::kScale, kOther, kIn, {.type = kX}},
    {"shift", Arg::kShift, kOther, kIn, {.type = kX}},
    {"weightOptional", Arg::kW, kRow, kOptional, {.float_or = kX}},
    {"biasOptional", Arg::kB, kRow, kOptional, {.float_or = kX}},
    {"out", Arg::kY, kData, kOut, {.type = kX}},
    {"meanOutOptional", Arg::kMean, kPerRow, kOut},
    {"rstdOutOptional", Arg::kRstd, kPerRow, kOut},
};
constexpr Spec kV2Spec{
    .name = "aclnnAdaLayerNormV2", .op = Op::kLayerNorm, .data = kX, .rows = kRows};
constexpr Spec kSpec{.name = "aclnnAdaLayerNorm",
                     .op = Op::kLayerNorm,
                     .data = kX,
                     .rows = std::span(kRows).first<kMean>()};

int check_and_plan(Arguments& a, double eps, aclOpExecutor& executor) {
  for (const int i : {kMean, kRstd}) {
    if (i < static_cast<int>(a.spec().rows.size()) && !a[i]) a[i].leave_out();
  }
  NORMGRAD_ACLNN_TRY(check_rows(a));
  return plan_rows(executor, a, {.axes = 1, .eps = eps});
}

}  // namespace ada_forward

// ---- aclnnAdaLayerNormBackward ----

namespace ada_backward {

enum : int {
  kGradOut,
  kInput,
  kRstd,
  kMean,
  kScale,
  kShift,
  kWeight,
  kBias,
  kGradInput,
  kGradScale,
  kGradShift,
  kGradWeight,
  kGradBias,
};
constexpr Row kRows[] = {
    {"gradOut", Arg::kDy, kData, kIn},
    {"input", Arg::kX, kData, kIn, {.type = kGradOut}},
    {"rstd", Arg::kRstd, kPerRow, kIn},
    {"mean", Arg::kMean, kPerRow, kIn},
    {"scale", Arg::kScale, kOther, kIn, {.type = kGradOut}},
    {"shift", Arg::kNone, kOther, kIn, {.type = kGradOut}},
    {"weightOptional", Arg::kW, kRow, kOptional, {.float_or = kGradOut}},
    {"biasOptional", Arg::kB, kRow, kOptional, {.float_or = kGradOut}},
    {"gradInputOut", Arg::kDx, kData, kOut, {.type = kGradOut}},
    {"gradScaleOut", Arg::kDscale, kOther, kOut, {.type = kGradOut}},
    {"gradShiftOut", Arg::kDshift, kOther, kOut, {.type = kGradOut}},
    {"gradWeightOut", Arg::kDw, kRow, kOut, {.float_or = kGradOut}},
    {"gradBiasOut", Arg::kDb, kRow, kOut, {.float_or = kGradOut}},
};
constexpr Spec kSpec{.name = "aclnnAdaLayerNormBackward",
                     .op = Op::kAdaLayerNormBackward,
                     .data = kInput,
                     .rows = kRows};

// The core does not know shift, which has no part in the computation.
int check_shift(const Arguments& a) {
  const Dims &shift = a[kShift]->shape, &scale = a[kScale]->shape;
  if (std::equal(shift.begin(), shift.end(), scale.begin(), scale.end())) return 0;
  const auto text = [](const Dims& dims) {
    return normgrad::text_of(static_cast<int>(dims.size()), dims.begin());
  };
  return refuse(kAclnnInvalid, "shift has shape %s, but must have that of scale, %s",
                text(shift).text, text(scale).text);
}

int check_and_plan(Arguments& a, const aclIntArray* shape, aclOpExecutor& executor) {
  bool wants_any = false;
  for (int i = kGradInput; i <= kGradBias; ++i) {
    wants_any |= static_cast<bool>(a[i]);
    if (!a[i]) a[i].leave_out();
  }
  NORMGRAD_ACLNN_TRY(check_not_null(a));
  NORMGRAD_ACLNN_TRY(check_handle("normalizedShape", shape));
  NORMGRAD_ACLNN_TRY(check_rows(a));
  NORMGRAD_ACLNN_TRY(check_normalized_shape(a, *shape));
  if (shape->size != 1) {
    return refuse(kAclnnInvalid, "normalizedShape has %llu extents, but must have 1",
                  static_cast<unsigned long long>(shape->size));
  }
  NORMGRAD_ACLNN_TRY(check_shift(a));
  NORMGRAD_ACLNN_TRY(plan_rows(executor, a, {.axes = 1}));
  if (!wants_any) executor.plan = {};
  return 0;
}

}  // namespace ada_backward

}  // namespace

// ---- entry points ----

aclnnStatus aclnnLayerNormGetWorkspaceSize(
    const aclTensor* input, const aclIntArray* normalizedShape, const aclTensor* weightOptional,
    const aclTensor* biasOptional, double eps, aclTensor* out, aclTensor* meanOutOptional,
    aclTensor* rstdOutOptional, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phase_one<forward::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return forward::check_and_plan(a, normalizedShape, eps, 0, made);
      },
      input, weightOptional, biasOptional, out, meanOutOptional, rstdOutOptional);
}
aclnnStatus aclnnLayerNorm(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                           const aclrtStream stream) {
  return phase_two(forward::kSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnLayerNormWithImplModeGetWorkspaceSize(
    const aclTensor* input, const aclIntArray* normalizedShape, const aclTensor* weightOptional,
    const aclTensor* biasOptional, double eps, aclTensor* out, aclTensor* meanOutOptional,
    aclTensor* rstdOutOptional, int32_t implMode, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
  return phase_one<forward::kModeSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return forward::check_and_plan(a, normalizedShape, eps, implMode, made);
      },
      input, weightOptional, biasOptional, out, meanOutOptional, rstdOutOptional);
}
aclnnStatus aclnnLayerNormWithImplMode(void* workspace, uint64_t workspaceSize,
                                       aclOpExecutor* executor, const aclrtStream stream) {
  return phase_two(forward::kModeSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnFastLayerNormGetWorkspaceSize(
    const aclTensor* input, const aclIntArray* normalizedShape, const aclTensor* weightOptional,
    const aclTensor* biasOptional, double eps, aclTensor* out, aclTensor* meanOutOptional,
    aclTensor* rstdOutOptional, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phase_one<forward::kFastSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return forward::check_and_plan(a, normalizedShape, eps, 0, made);
      },
      input, weightOptional, biasOptional, out, meanOutOptional, rstdOutOptional);
}
aclnnStatus aclnnFastLayerNorm(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                               const aclrtStream stream) {
  return phase_two(forward::kFastSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnLayerNormBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclTensor* input, const aclIntArray* normalizedShape,
    const aclTensor* mean, const aclTensor* rstd, const aclTensor* weightOptional,
    const aclTensor* biasOptional, const aclBoolArray* outputMask, aclTensor* gradInputOut,
    aclTensor* gradWeightOut, aclTensor* gradBiasOut, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
  return phase_one<backward::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return backward::check_and_plan(a, normalizedShape, outputMask, made);
      },
      gradOut, input, mean, rstd, weightOptional, biasOptional, gradInputOut, gradWeightOut,
      gradBiasOut);
}
aclnnStatus aclnnLayerNormBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                   const aclrtStream stream) {
  return phase_two(backward::kSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnAddLayerNormGetWorkspaceSize(const aclTensor* x1, const aclTensor* x2,
                                              const aclTensor* gamma, const aclTensor* beta,
                                              const aclTensor* biasOptional, double epsilon,
                                              bool additionalOutput, const aclTensor* yOut,
                                              const aclTensor* meanOut, const aclTensor* rstdOut,
                                              const aclTensor* xOut, uint64_t* workspaceSize,
                                              aclOpExecutor** executor) {
  return phase_one<add_forward::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return add_forward::check_and_plan(a, epsilon, additionalOutput, made);
      },
      x1, x2, gamma, beta, biasOptional, yOut, meanOut, rstdOut, xOut);
}
aclnnStatus aclnnAddLayerNorm(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                              const aclrtStream stream) {
  return phase_two(add_forward::kSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnAddLayerNormGradGetWorkspaceSize(
    const aclTensor* dy, const aclTensor* x1, const aclTensor* x2, const aclTensor* rstd,
    const aclTensor* mean, const aclTensor* gamma, const aclTensor* dsumOptional,
    const aclTensor* dxOut, const aclTensor* dgammaOut, const aclTensor* dbetaOut,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phase_one<add_backward::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) { return add_backward::check_and_plan(a, made); }, dy,
      x1, x2, rstd, mean, gamma, dsumOptional, dxOut, dgammaOut, dbetaOut);
}
aclnnStatus aclnnAddLayerNormGrad(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                  const aclrtStream stream) {
  return phase_two(add_backward::kSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnDeepNormGetWorkspaceSize(const aclTensor* x, const aclTensor* gx,
                                          const aclTensor* beta, const aclTensor* gamma,
                                          double alpha, double epsilon, const aclTensor* meanOut,
                                          const aclTensor* rstdOut, const aclTensor* yOut,
                                          uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phase_one<deep_forward::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return deep_forward::check_and_plan(a, alpha, epsilon, made);
      },
      x, gx, beta, gamma, meanOut, rstdOut, yOut);
}
aclnnStatus aclnnDeepNorm(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                          const aclrtStream stream) {
  return phase_two(deep_forward::kSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnDeepNormGradGetWorkspaceSize(const aclTensor* dy, const aclTensor* x,
                                              const aclTensor* gx, const aclTensor* gamma,
                                              const aclTensor* mean, const aclTensor* rstd,
                                              double alpha, const aclTensor* dxOut,
                                              const aclTensor* dgxOut, const aclTensor* dbetaOut,
                                              const aclTensor* dgammaOut, uint64_t* workspaceSize,
                                              aclOpExecutor** executor) {
  return phase_one<deep_backward::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return deep_backward::check_and_plan(a, alpha, made);
      },
      dy, x, gx, gamma, mean, rstd, dxOut, dgxOut, dbetaOut, dgammaOut);
}
aclnnStatus aclnnDeepNormGrad(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                              const aclrtStream stream) {
  return phase_two(deep_backward::kSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnAdaLayerNormGetWorkspaceSize(const aclTensor* x, const aclTensor* scale,
                                              const aclTensor* shift,
                                              const aclTensor* weightOptional,
                                              const aclTensor* biasOptional, double epsilon,
                                              aclTensor* out, uint64_t* workspaceSize,
                                              aclOpExecutor** executor) {
  return phase_one<ada_forward::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return ada_forward::check_and_plan(a, epsilon, made);
      },
      x, scale, shift, weightOptional, biasOptional, out);
}
aclnnStatus aclnnAdaLayerNorm(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                              const aclrtStream stream) {
  return phase_two(ada_forward::kSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnAdaLayerNormV2GetWorkspaceSize(const aclTensor* x, const aclTensor* scale,
                                                const aclTensor* shift,
                                                const aclTensor* weightOptional,
                                                const aclTensor* biasOptional, double epsilon,
                                                aclTensor* out, aclTensor* meanOutOptional,
                                                aclTensor* rstdOutOptional, uint64_t* workspaceSize,
                                                aclOpExecutor** executor) {
  return phase_one<ada_forward::kV2Spec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return ada_forward::check_and_plan(a, epsilon, made);
      },
      x, scale, shift, weightOptional, biasOptional, out, meanOutOptional, rstdOutOptional);
}
aclnnStatus aclnnAdaLayerNormV2(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                const aclrtStream stream) {
  return phase_two(ada_forward::kV2Spec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnAdaLayerNormBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclTensor* input, const aclIntArray* normalizedShape,
    const aclTensor* rstd, const aclTensor* mean, const aclTensor* scale, const aclTensor* shift,
    const aclTensor* weightOptional, const aclTensor* biasOptional, aclTensor* gradInputOut,
    aclTensor* gradScaleOut, aclTensor* gradShiftOut, aclTensor* gradWeightOut,
    aclTensor* gradBiasOut, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phase_one<ada_backward::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return ada_backward::check_and_plan(a, normalizedShape, made);
      },
      gradOut, input, rstd, mean, scale, shift, weightOptional, biasOptional, gradInputOut,
      gradScaleOut, gradShiftOut, gradWeightOut, gradBiasOut);
}
aclnnStatus aclnnAdaLayerNormBackward(void* workspace, uint64_t workspaceSize,
                                      aclOpExecutor* executor, const aclrtStream stream) {
  return phase_two(ada_backward::kSpec.name, workspace, workspaceSize, executor, stream);
}
