// RmsNorm, GemmaRmsNorm, what is fused with RmsNorm, and its gradient.
#include "aclnnop/aclnn_add_rms_norm.h"
#include "aclnnop/aclnn_add_rms_norm_cast.h"
#include "aclnnop/aclnn_gemma_rms_norm.h"
#include "aclnnop/aclnn_inplace_add_rms_norm.h"
#include "aclnnop/aclnn_rms_norm.h"
#include "aclnnop/aclnn_rms_norm_grad.h"
#include "api/aclnn/operator.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Arg;
using normgrad::Op;

namespace {

using enum Form;
using enum Use;

// gamma covers as many of the last axes as it has, but for ones that it begins with.
int axes_of(const Operand& gamma, const Operand& x) {
  const Dims &of_gamma = gamma->shape, &of_x = x->shape;
  const std::int64_t* begin = of_gamma.begin();
  const auto fits = [&] {
    const auto axes = static_cast<std::uint64_t>(of_gamma.end() - begin);
    return axes <= of_x.size() && std::equal(begin, of_gamma.end(), of_x.end() - axes);
  };
  while (begin + 1 < of_gamma.end() && *begin == 1 && !fits()) ++begin;
  return static_cast<int>(of_gamma.end() - begin);
}

// All but the gradient.
int check_and_plan(Arguments& a, int gamma, double eps, aclOpExecutor& executor) {
  NORMGRAD_ACLNN_TRY(check_rows(a));
  return plan_rows(executor, a, {.axes = axes_of(a[gamma], a.data()), .eps = eps});
}

// ---- aclnnRmsNorm, aclnnGemmaRmsNorm: gamma, 1 + gamma ----

namespace forward {

enum : int { kX, kGamma, kY, kRstd };
constexpr Row kRows[] = {
    {"x", Arg::kX, kData, kIn},
    {"gamma", Arg::kW, kRow, kIn, {.float_or = kX}},
    {"yOut", Arg::kY, kData, kOut, {.type = kX}},
    {"rstdOut", Arg::kRstd, kPerRow, kOut, {}, false, true},
};
constexpr Row kGemmaRows[] = {
    kRows[kX],
    {"gamma", Arg::kScale, kRow, kIn, {.float_or = kX}},
    kRows[kY],
    kRows[kRstd],
};
constexpr Spec kSpec{.name = "aclnnRmsNorm",
                     .op = Op::kRmsNorm,
                     .data = kX,
                     .rows = kRows,
                     .least_rank = 1,
                     .shape_code = kAclnnInnerShape};
constexpr Spec kGemmaSpec{.name = "aclnnGemmaRmsNorm",
                          .op = Op::kRmsNorm,
                          .data = kX,
                          .rows = kGemmaRows,
                          .least_rank = 1,
                          .shape_code = kAclnnInnerShape};

}  // namespace forward

// ---- aclnnAddRmsNorm, ...Cast, aclnnInplaceAddRmsNorm: of x1 + x2 ----

namespace add_forward {

enum : int { kX1, kX2, kGamma, kY, kRstd, kX };
constexpr Row kRows[] = {
    {"x1", Arg::kX, kData, kIn},
    {"x2", Arg::kX2, kData, kIn, {.type = kX1}},
    {"gamma", Arg::kW, kRow, kIn, {.float_or = kX1}},
    {"yOut", Arg::kY, kData, kOut, {.type = kX1}},
    {"rstdOut", Arg::kRstd, kPerRow, kOut, {}, false, true},
    {"xOut", Arg::kXSum, kData, kOut, {.type = kX1}},
};
constexpr Spec kSpec{.name = "aclnnAddRmsNorm",
                     .op = Op::kRmsNorm,
                     .data = kX1,
                     .rows = kRows,
                     .least_rank = 1,
                     .shape_code = kAclnnInnerShape};

enum : int { kY1 = kY, kY2, kCastRstd, kCastX };
constexpr Row kCastRows[] = {
    kRows[kX1],
    kRows[kX2],
    kRows[kGamma],
    {"y1Out", Arg::kY, kData, kOut, {}, false, true},
    {"y2Out", Arg::kY2, kData, kOut, {.type = kX1}},
    kRows[kRstd],
    kRows[kX],
};
constexpr Spec kCastSpec{.name = "aclnnAddRmsNormCast",
                         .op = Op::kRmsNorm,
                         .data = kX1,
                         .rows = kCastRows,
                         .least_rank = 1,
                         .shape_code = kAclnnInnerShape};

constexpr Row kInplaceRows[] = {
    {"x1Ref", Arg::kX, kData, kIn, {}, false, false, Arg::kY},
    {"x2Ref", Arg::kX2, kData, kIn, {.type = kX1}, false, false, Arg::kXSum},
    kRows[kGamma],
    {"rstdOut", Arg::kRstd, kPerRow, kOut, {}, false, true},
};
constexpr Spec kInplaceSpec{.name = "aclnnInplaceAddRmsNorm",
                            .op = Op::kRmsNorm,
                            .data = kX1,
                            .rows = kInplaceRows,
                            .least_rank = 1,
                            .shape_code = kAclnnInnerShape};

// Without rstdOut nobody needs xOut.
int check_and_plan(Arguments& a, double eps, aclOpExecutor& executor) {
  if (!a[kRstd] && !a[kX]) a[kX].leave_out();
  if (!a[kRstd]) a[kRstd].leave_out();
  return ::check_and_plan(a, kGamma, eps, executor);
}

}  // namespace add_forward

// ---- aclnnRmsNormGrad ----

namespace backward {

enum : int { kDy, kX, kRstd, kGamma, kDx, kDgamma };
constexpr Row kRows[] = {
    {"dy", Arg::kDy, kData, kIn},
    {"x", Arg::kX, kData, kIn, {.type = kDy}},
    {"rstd", Arg::kRstd, kPerRow, kIn, {}, false, true},
    {"gamma", Arg::kW, kRow, kIn, {.float_or = kDy}},
    {"dxOut", Arg::kDx, kData, kOut, {.type = kDy}},
    {"dgammaOut", Arg::kDw, kRow, kOut, {}, false, true},
};
constexpr Spec kSpec{.name = "aclnnRmsNormGrad",
                     .op = Op::kRmsNormBackward,
                     .data = kX,
                     .rows = kRows,
                     .shape_code = kAclnnInnerShape};

}  // namespace backward

}  // namespace

// ---- entry points ----

aclnnStatus aclnnRmsNormGetWorkspaceSize(const aclTensor* x, const aclTensor* gamma, double epsilon,
                                         const aclTensor* yOut, const aclTensor* rstdOut,
                                         uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phase_one<forward::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return check_and_plan(a, forward::kGamma, epsilon, made);
      },
      x, gamma, yOut, rstdOut);
}
aclnnStatus aclnnRmsNorm(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                         const aclrtStream stream) {
  return phase_two(forward::kSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnGemmaRmsNormGetWorkspaceSize(const aclTensor* x, const aclTensor* gamma,
                                              double epsilon, const aclTensor* yOut,
                                              const aclTensor* rstdOut, uint64_t* workspaceSize,
                                              aclOpExecutor** executor) {
  return phase_one<forward::kGemmaSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return check_and_plan(a, forward::kGamma, epsilon, made);
      },
      x, gamma, yOut, rstdOut);
}
aclnnStatus aclnnGemmaRmsNorm(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                              const aclrtStream stream) {
  return phase_two(forward::kGemmaSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnAddRmsNormGetWorkspaceSize(const aclTensor* x1, const aclTensor* x2,
                                            const aclTensor* gamma, double epsilon, aclTensor* yOut,
                                            aclTensor* rstdOut, aclTensor* xOut,
                                            uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phase_one<add_forward::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return add_forward::check_and_plan(a, epsilon, made);
      },
      x1, x2, gamma, yOut, rstdOut, xOut);
}
aclnnStatus aclnnAddRmsNorm(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                            const aclrtStream stream) {
  return phase_two(add_forward::kSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnAddRmsNormCastGetWorkspaceSize(const aclTensor* x1, const aclTensor* x2,
                                                const aclTensor* gamma, double epsilon,
                                                const aclTensor* y1Out, const aclTensor* y2Out,
                                                const aclTensor* rstdOut, const aclTensor* xOut,
                                                uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phase_one<add_forward::kCastSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return check_and_plan(a, add_forward::kGamma, epsilon, made);
      },
      x1, x2, gamma, y1Out, y2Out, rstdOut, xOut);
}
aclnnStatus aclnnAddRmsNormCast(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                const aclrtStream stream) {
  return phase_two(add_forward::kCastSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnInplaceAddRmsNormGetWorkspaceSize(aclTensor* x1Ref, aclTensor* x2Ref,
                                                   const aclTensor* gamma, double epsilon,
                                                   const aclTensor* rstdOut,
                                                   uint64_t* workspaceSize,
                                                   aclOpExecutor** executor) {
  return phase_one<add_forward::kInplaceSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return check_and_plan(a, add_forward::kGamma, epsilon, made);
      },
      x1Ref, x2Ref, gamma, rstdOut);
}
aclnnStatus aclnnInplaceAddRmsNorm(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                   const aclrtStream stream) {
  return phase_two(add_forward::kInplaceSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnRmsNormGradGetWorkspaceSize(const aclTensor* dy, const aclTensor* x,
                                             const aclTensor* rstd, const aclTensor* gamma,
                                             const aclTensor* dxOut, const aclTensor* dgammaOut,
                                             uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phase_one<backward::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return check_and_plan(a, backward::kGamma, 0, made);
      },
      dy, x, rstd, gamma, dxOut, dgammaOut);
}
aclnnStatus aclnnRmsNormGrad(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                             const aclrtStream stream) {
  return phase_two(backward::kSpec.name, workspace, workspaceSize, executor, stream);
}
