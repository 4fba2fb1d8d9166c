// BatchNorm: forward, backward, and backward's second half, whose sums come from all devices. The formulas stand in
// channel_forward.cc and channel_backward.cc.
#include "kernels/element.h"
#include "ops/channel_backward.h"
#include "ops/channel_forward.h"
#include "ops/channel_split.h"
#include "ops/operators.h"
#include "runtime/failure.h"

namespace normgrad {
namespace {

using enum Arg;
using enum Direction;
using enum Shape;
using enum Types;

// ---- forward ----

// clang-format off
constexpr Rule kForwardRules[] = {
    {kY, kOut, kWhole, kElements},
    {kMean, kOutInTraining, kChannels, kNumber},
    {kRstd, kOutInTraining, kChannels, kNumber},
    {kVar, kOutInTraining, kChannels, kNumber},
    {kRunningMean, kOut, kChannels, kNumber},
    {kRunningVar, kOut, kChannels, kNumber},
    {kSum, kOut, kChannels, kNumber},
    {kSquares, kOut, kChannels, kNumber},
    {kSumOfSquares, kOut, kChannels, kNumber},
    {kX, kIn, kWhole, kElements, Presence::kRequired},
    {kW, kIn, kChannels, kNumber},
    {kB, kIn, kChannels, kNumber},
    {kMeanRest, kIn, kChannels, kNumber},
};
// clang-format on

Status check_one_spread(const Problem& p) {
  if (!p[kRstd].present() || !p[kVar].present()) return Status::kOk;
  return fail(Status::kBadParam, "rstd and var must not both be given");
}

Status check_forward(const Problem& p) {
  if (p.training) {
    if (!p[kMeanRest].present()) return Status::kOk;
    return fail(Status::kBadParam, "mean_rest belongs to a given mean, but training computes it");
  }
  if (const Status status = check_one_spread(p); status != Status::kOk) return status;
  if (p[kRunningMean].present() || p[kRunningVar].present()) {
    return fail(Status::kBadParam, "given statistics update no running ones");
  }
  if (!p[kSum].present() && !p[kSquares].present() && !p[kSumOfSquares].present())
    return Status::kOk;
  return fail(Status::kBadParam, "with given statistics no sum or squares are computed");
}

Status prepare_forward(PlanBody& plan) {
  split_channels(plan);
  return plan_channel_forward(plan);
}

// ---- backward ----

// clang-format off
constexpr Rule kBackwardRules[] = {
    {kDx, kOut, kWhole, kElements},
    {kDw, kOut, kChannels, kNumber},
    {kDb, kOut, kChannels, kNumber},
    {kSumDy, kOut, kChannels, kNumber},
    {kSumDyXmu, kOut, kChannels, kNumber},
    {kDy, kIn, kWhole, kElements, Presence::kRequired},
    {kX, kIn, kWhole, kElements, Presence::kRequired},
    {kW, kIn, kChannels, kNumber},
    {kMean, kIn, kChannels, kNumber},
    {kRstd, kIn, kChannels, kNumber},
    {kVar, kIn, kChannels, kNumber},
};
// clang-format on
constexpr ChannelRoles kRoles{.var = index_of(kVar),
                              .dw = index_of(kDw),
                              .db = index_of(kDb),
                              .sum_dy = index_of(kSumDy),
                              .sum_dy_xmu = index_of(kSumDyXmu)};

Status prepare_backward(PlanBody& plan) {
  split_channels(plan);
  return plan_channel_backward(plan, kRoles);
}

void execute_backward(const PlanBody& plan, void* const* data, std::byte* workspace) {
  const auto count = static_cast<double>(plan.channel.n * plan.channel.l);
  run_channel_backward(plan, kRoles, count, data, workspace);
}

// ---- backward's second half ----

// clang-format off
constexpr Rule kElemtBackwardRules[] = {
    {kDx, kOut, kWhole, kElements, Presence::kRequired},
    {kDy, kIn, kWhole, kElements, Presence::kRequired},
    {kX, kIn, kWhole, kElements, Presence::kRequired},
    {kW, kIn, kChannels, kNumber},
    {kMean, kIn, kChannels, kNumber},
    {kRstd, kIn, kChannels, kNumber},
    {kSumDy, kIn, kChannels, kNumber, Presence::kRequired},
    {kSumDyXmu, kIn, kChannels, kNumber, Presence::kRequired},
    {kCounts, kIn, kAny, kCount, Presence::kRequired},
};
// clang-format on
constexpr ChannelRoles kElemtRoles{.given_sum_dy = index_of(kSumDy),
                                   .given_sum_dy_xmu = index_of(kSumDyXmu)};

Status prepare_elemt_backward(PlanBody& plan) {
  plan.training = true;
  split_channels(plan);
  return plan_channel_backward(plan, kElemtRoles);
}

// The sum of all elements, in logical order: the number of elements per channel on all devices.
double total_of(const Tensor& tensor, const void* data) {
  std::int64_t elements = 1;
  for (int d = 0; d < tensor.rank; ++d) elements *= tensor.shape[d];
  double total = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    std::int64_t offset = 0;
    for (std::int64_t d = tensor.rank - 1, left = i; d >= 0; left /= tensor.shape[d--]) {
      offset += left % tensor.shape[d] * tensor.strides[d];
    }
    total += kernels::load_element(data, tensor.dtype, offset);
  }
  return total;
}

void execute_elemt_backward(const PlanBody& plan, void* const* data, std::byte* workspace) {
  const double count = total_of(plan.tensor(kCounts), data[index_of(kCounts)]);
  run_channel_backward(plan, kElemtRoles, count, data, workspace);
}

}  // namespace

constinit const Operator kBatchNorm{.name = "BatchNorm",
                                    .walk = Walk::kChannels,
                                    .data = kX,
                                    .rules = kForwardRules,
                                    .check = check_forward,
                                    .prepare = prepare_forward,
                                    .execute = run_channel_forward};
constinit const Operator kBatchNormBackward{.name = "BatchNormBackward",
                                            .walk = Walk::kChannels,
                                            .data = kDy,
                                            .rules = kBackwardRules,
                                            .check = check_one_spread,
                                            .prepare = prepare_backward,
                                            .execute = execute_backward};
constinit const Operator kBatchNormElemtBackward{.name = "BatchNormElemtBackward",
                                                 .walk = Walk::kChannels,
                                                 .data = kDy,
                                                 .rules = kElemtBackwardRules,
                                                 .prepare = prepare_elemt_backward,
                                                 .execute = execute_elemt_backward};

}  // namespace normgrad
