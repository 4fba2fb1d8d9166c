// Gradients of norms whose statistics belong to a channel: two sums per channel, its map, dx.
#ifndef NORMGRAD_OPS_CHANNEL_BACKWARD_H
#define NORMGRAD_OPS_CHANNEL_BACKWARD_H

#include "ops/parameters.h"

namespace normgrad {

// Which argument is which.
struct ChannelRoles {
  int dx = index_of(Arg::kDx), dy = index_of(Arg::kDy), x = index_of(Arg::kX),
      w = index_of(Arg::kW), mean = index_of(Arg::kMean), rstd = index_of(Arg::kRstd);
  int var = kNoArgument;
  int dw = kNoArgument, db = kNoArgument, sum_dy = kNoArgument, sum_dy_xmu = kNoArgument;  // out
  int given_sum_dy = kNoArgument, given_sum_dy_xmu = kNoArgument;
};

// plan.channel is there.
Status plan_channel_backward(PlanBody& plan, const ChannelRoles& roles);
// count: elements per channel, of all devices.
void run_channel_backward(const PlanBody& plan, const ChannelRoles& roles, double count,
                          void* const* data, std::byte* workspace);

}  // namespace normgrad

#endif
