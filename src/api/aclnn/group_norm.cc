// GroupNorm, forward and backward.
#include "aclnnop/aclnn_group_norm.h"
#include "aclnnop/aclnn_group_norm_backward.h"
#include "api/aclnn/arrays.h"
#include "api/aclnn/operator.h"
#include "runtime/layout.h"
#include "runtime/sizes.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Arg;
using normgrad::Op;

namespace {

using enum Form;
using enum Use;

// What a caller says of the sizes beside the tensors.
struct Sizes {
  std::int64_t n, channels, l, groups;
};

int check_sizes(const Arguments& a, const Sizes& sizes) {
  if (sizes.groups < 1 || sizes.channels < 0 || sizes.channels % sizes.groups != 0) {
    return refuse(kAclnnInvalid, "group is %lld, but must be positive and divide C, %lld",
                  static_cast<long long>(sizes.groups), static_cast<long long>(sizes.channels));
  }
  const Dims& shape = a.data()->shape;
  normgrad::Checked l = 1;
  for (std::uint64_t d = 2; d < shape.size(); ++d) l = l * shape[d];
  if (shape[0] == sizes.n && shape[1] == sizes.channels && l.ok() && l.value() == sizes.l) return 0;
  return refuse(kAclnnInvalid, "%s has shape %s, but N, C, HxW are %lld, %lld, %lld",
                a.data().name(),
                normgrad::text_of(static_cast<int>(shape.size()), shape.begin()).text,
                static_cast<long long>(sizes.n), static_cast<long long>(sizes.channels),
                static_cast<long long>(sizes.l));
}

int plan_groups(aclOpExecutor& executor, const Arguments& a, std::int64_t groups, double eps) {
  normgrad::Problem problem = problem_of(a);
  problem.groups = groups;
  problem.eps = eps;
  return make_executor(executor, problem, a);
}

// ---- aclnnGroupNorm ----

namespace forward {

enum : int { kSelf, kGamma, kBeta, kOut, kMean, kRstd };
constexpr Row kRows[] = {
    {"self", Arg::kX, kData, kIn},
    {"gamma", Arg::kW, kPerChannel, kOptional, {.float_or = kSelf}},
    {"beta", Arg::kB, kPerChannel, kOptional, {.float_or = kSelf}},
    {"out", Arg::kY, kData, Use::kOut, {.type = kSelf}},
    {"meanOut", Arg::kMean, kPerGroup, Use::kOut, {.float_or = kSelf}},
    {"rstdOut", Arg::kRstd, kPerGroup, Use::kOut, {.float_or = kSelf, .type = kMean}},
};
constexpr Spec kSpec{.name = "aclnnGroupNorm", .op = Op::kGroupNorm, .data = kSelf, .rows = kRows};

int check_and_plan(const Arguments& a, const Sizes& sizes, double eps, aclOpExecutor& executor) {
  NORMGRAD_ACLNN_TRY(check_not_null(a));
  NORMGRAD_ACLNN_TRY(check_alive(a));
  NORMGRAD_ACLNN_TRY(check_document(a));
  if (!(eps > 0)) return refuse(kAclnnInvalid, "eps is %g, but must be positive", eps);
  NORMGRAD_ACLNN_TRY(check_sizes(a, sizes));
  return plan_groups(executor, a, sizes.groups, eps);
}

}  // namespace forward

// ---- aclnnGroupNormBackward ----

namespace backward {

enum : int { kGradOut, kInput, kMean, kRstd, kGamma, kGradInput, kGradGamma, kGradBeta };
constexpr Row kRows[] = {
    {"gradOut", Arg::kDy, kLikeData, kIn, {.type = kInput}},
    {"input", Arg::kX, kData, kIn},
    {"mean", Arg::kMean, kPerGroup, kIn, {.float_or = kInput}},
    {"rstd", Arg::kRstd, kPerGroup, kIn, {.float_or = kInput, .type = kMean}},
    {"gamma", Arg::kW, kPerChannel, kOptional, {.float_or = kInput}},
    {"gradInput", Arg::kDx, kData, kOut, {.type = kInput}},
    {"gradGammaOut", Arg::kDw, kPerChannel, kOut, {.float_or = kInput}},
    {"gradBetaOut", Arg::kDb, kPerChannel, kOut, {.float_or = kInput, .type = kGradGamma}},
};
constexpr Spec kSpec{
    .name = "aclnnGroupNormBackward", .op = Op::kGroupNormBackward, .data = kInput, .rows = kRows};

// Mask and outputs are answered with 161002.
int check_mask(Arguments& a, const aclBoolArray* mask) {
  if (mask == nullptr) return refuse(kAclnnInvalid, "outputMask is null");
  NORMGRAD_ACLNN_TRY(check_handle("outputMask", mask));
  if (mask->size != 3) {
    return refuse(kAclnnInvalid, "outputMask has length %llu, but must have 3 values",
                  static_cast<unsigned long long>(mask->size));
  }
  for (int i = 0; i < 3; ++i) {
    Operand& output = a[kGradInput + i];
    if (!mask->values[static_cast<std::size_t>(i)]) {
      output.leave_out();
    } else if (!output) {
      return refuse(kAclnnInvalid, "%s is null", output.name());
    }
  }
  return 0;
}

int check_and_plan(Arguments& a, const Sizes& sizes, const aclBoolArray* mask,
                   aclOpExecutor& executor) {
  for (const int i : {kGradOut, kInput, kMean, kRstd}) {
    if (!a[i]) return refuse_null_pointer(a[i].name());
  }
  NORMGRAD_ACLNN_TRY(check_mask(a, mask));
  NORMGRAD_ACLNN_TRY(check_alive(a));
  NORMGRAD_ACLNN_TRY(check_document(a));
  NORMGRAD_ACLNN_TRY(check_sizes(a, sizes));
  NORMGRAD_ACLNN_TRY(plan_groups(executor, a, sizes.groups, 0));
  const bool nothing_wanted = !a[kGradInput] && !a[kGradGamma] && !a[kGradBeta];
  const bool stays = !is_950() && any_empty(a, {kInput});
  if (nothing_wanted || stays) executor.plan = {};
  return 0;
}

}  // namespace backward

}  // namespace

// ---- entry points ----

aclnnStatus aclnnGroupNormGetWorkspaceSize(const aclTensor* self, const aclTensor* gamma,
                                           const aclTensor* beta, int64_t N, int64_t C, int64_t HxW,
                                           int64_t group, double eps, aclTensor* out,
                                           aclTensor* meanOut, aclTensor* rstdOut,
                                           uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phase_one<forward::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return forward::check_and_plan(a, {N, C, HxW, group}, eps, made);
      },
      self, gamma, beta, out, meanOut, rstdOut);
}
aclnnStatus aclnnGroupNorm(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                           const aclrtStream stream) {
  return phase_two(forward::kSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnGroupNormBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclTensor* input, const aclTensor* mean, const aclTensor* rstd,
    const aclTensor* gamma, int64_t N, int64_t C, int64_t HxW, int64_t group,
    const aclBoolArray* outputMask, aclTensor* gradInput, aclTensor* gradGammaOut,
    aclTensor* gradBetaOut, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phase_one<backward::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return backward::check_and_plan(a, {N, C, HxW, group}, outputMask, made);
      },
      gradOut, input, mean, rstd, gamma, gradInput, gradGammaOut, gradBetaOut);
}
aclnnStatus aclnnGroupNormBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                   const aclrtStream stream) {
  return phase_two(backward::kSpec.name, workspace, workspaceSize, executor, stream);
}
