// BatchNorm: forward, backward, and backward's second half, whose sums come from all devices. The formulas of the gradients
// stand in channel_backward.cc.
#include "kernels/element.h"
#include "ops/channel_backward.h"
#include "ops/channel_norm/channel_norm.h"
#include "ops/forward.h"
#include "ops/operators.h"
#include "runtime/failure.h"

namespace normgrad {
namespace {

using enum Direction;
using enum Shape;
using enum Types;

// ---- forward ----

constexpr Rule kForwardRules[] = {
    {Arg::kY, kOut, kWhole, kElements},
    {Arg::kMean, kOutInTraining, kChannels, kNumber},
    {Arg::kRstd, kOutInTraining, kChannels, kNumber},
    {Arg::kVar, kOutInTraining, kChannels, kNumber},
    {Arg::kRunningMean, kOut, kChannels, kNumber},
    {Arg::kRunningVar, kOut, kChannels, kNumber},
    {Arg::kSum, kOut, kChannels, kNumber},
    {Arg::kSquares, kOut, kChannels, kNumber},
    {Arg::kX, kIn, kWhole, kElements, Presence::kRequired},
    {Arg::kW, kIn, kChannels, kNumber},
    {Arg::kB, kIn, kChannels, kNumber},
    {Arg::kMeanRest, kIn, kChannels, kNumber},
};

Status check_one_spread(const Problem& p) {
  if (!p[Arg::kRstd].present() || !p[Arg::kVar].present()) return Status::kOk;
  return fail(Status::kBadParam, "rstd and var must not both be given");
}

Status check_forward(const Problem& p) {
  if (p.training) {
    if (!p[Arg::kMeanRest].present()) return Status::kOk;
    return fail(Status::kBadParam, "mean_rest belongs to a given mean, but training computes it");
  }
  if (const Status status = check_one_spread(p); status != Status::kOk) return status;
  if (p[Arg::kRunningMean].present() || p[Arg::kRunningVar].present()) {
    return fail(Status::kBadParam, "given statistics update no running ones");
  }
  if (!p[Arg::kSum].present() && !p[Arg::kSquares].present()) return Status::kOk;
  return fail(Status::kBadParam, "with given statistics no sum or squares are computed");
}

Status prepare_forward(PlanBody& plan) {
  split_channels(plan);
  return plan.training ? reserve_totals(plan) : Status::kOk;
}

void execute_forward(const PlanBody& plan, void* const* data, std::byte* workspace) {
  choose_batch_norm(isa())(plan, data, workspace);
}

// ---- backward ----

constexpr Rule kBackwardRules[] = {
    {Arg::kDx, kOut, kWhole, kElements},
    {Arg::kDw, kOut, kChannels, kNumber},
    {Arg::kDb, kOut, kChannels, kNumber},
    {Arg::kSumDy, kOut, kChannels, kNumber},
    {Arg::kSumDyXmu, kOut, kChannels, kNumber},
    {Arg::kDy, kIn, kWhole, kElements, Presence::kRequired},
    {Arg::kX, kIn, kWhole, kElements, Presence::kRequired},
    {Arg::kW, kIn, kChannels, kNumber},
    {Arg::kMean, kIn, kChannels, kNumber},
    {Arg::kRstd, kIn, kChannels, kNumber},
    {Arg::kVar, kIn, kChannels, kNumber},
};
constexpr ChannelRoles kRoles{.dx = index_of(Arg::kDx),
                              .dy = index_of(Arg::kDy),
                              .x = index_of(Arg::kX),
                              .w = index_of(Arg::kW),
                              .mean = index_of(Arg::kMean),
                              .rstd = index_of(Arg::kRstd),
                              .var = index_of(Arg::kVar),
                              .dw = index_of(Arg::kDw),
                              .db = index_of(Arg::kDb),
                              .sum_dy = index_of(Arg::kSumDy),
                              .sum_dy_xmu = index_of(Arg::kSumDyXmu)};

Status prepare_backward(PlanBody& plan) {
  split_channels(plan);
  return plan_channel_backward(plan, kRoles);
}

void execute_backward(const PlanBody& plan, void* const* data, std::byte* workspace) {
  const auto count = static_cast<double>(plan.channel.n * plan.channel.l);
  run_channel_backward(plan, kRoles, count, data, workspace);
}

// ---- backward's second half ----

constexpr Rule kElemtBackwardRules[] = {
    {Arg::kDx, kOut, kWhole, kElements, Presence::kRequired},
    {Arg::kDy, kIn, kWhole, kElements, Presence::kRequired},
    {Arg::kX, kIn, kWhole, kElements, Presence::kRequired},
    {Arg::kW, kIn, kChannels, kNumber},
    {Arg::kMean, kIn, kChannels, kNumber},
    {Arg::kRstd, kIn, kChannels, kNumber},
    {Arg::kSumDy, kIn, kChannels, kNumber, Presence::kRequired},
    {Arg::kSumDyXmu, kIn, kChannels, kNumber, Presence::kRequired},
    {Arg::kCounts, kIn, kAny, kCount, Presence::kRequired},
};
constexpr ChannelRoles kElemtRoles{.dx = index_of(Arg::kDx),
                                   .dy = index_of(Arg::kDy),
                                   .x = index_of(Arg::kX),
                                   .w = index_of(Arg::kW),
                                   .mean = index_of(Arg::kMean),
                                   .rstd = index_of(Arg::kRstd),
                                   .given_sum_dy = index_of(Arg::kSumDy),
                                   .given_sum_dy_xmu = index_of(Arg::kSumDyXmu)};

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
  const double count = total_of(plan.tensor(Arg::kCounts), data[index_of(Arg::kCounts)]);
  run_channel_backward(plan, kElemtRoles, count, data, workspace);
}

}  // namespace

constinit const Operator kBatchNorm{"BatchNorm",   Walk::kChannels, Arg::kX,        kForwardRules,
                                    check_forward, prepare_forward, execute_forward};
constinit const Operator kBatchNormBackward{"BatchNormBackward", Walk::kChannels,  Arg::kDy,
                                            kBackwardRules,      check_one_spread, prepare_backward,
                                            execute_backward};
constinit const Operator kBatchNormElemtBackward{
    "BatchNormElemtBackward", Walk::kChannels,       Arg::kDy, kElemtBackwardRules, nullptr,
    prepare_elemt_backward,   execute_elemt_backward};

}  // namespace normgrad
