#include "ops/channel_backward.h"

#include <cstdlib>

#include "ops/channel_call.h"
#include "runtime/failure.h"

namespace normgrad {

Status plan_channel_backward(PlanBody& plan, const ChannelRoles& roles) {
  ChannelSplit& split = plan.channel;
  if (split.n == 0 || split.l == 0) return Status::kOk;
  const std::int64_t channel_stride =
      split.channels > 1 ? std::abs(split.channel_strides[roles.x]) : 0;
  std::int64_t nearest = 0;  // of the l dims that move at all
  for (int d = 0; d < split.rank; ++d) {
    const std::int64_t stride = std::abs(split.strides[roles.x][d]);
    if (stride != 0 && (nearest == 0 || stride < nearest)) nearest = stride;
  }
  split.by_pixels = split.l == 1 || (split.channels > 1 && channel_stride != 0 && nearest != 0 &&
                                     channel_stride < nearest);
  const Checked bytes = ChannelSpace(plan, roles).cut.bytes();
  if (!bytes.ok()) {
    return fail(Status::kBadShape, "%lld channels are more than memory can hold the sums of",
                static_cast<long long>(split.channels));
  }
  plan.workspace_bytes = static_cast<std::size_t>(bytes.value());
  return Status::kOk;
}

void run_channel_backward(const PlanBody& plan, const ChannelRoles& roles, double count,
                          void* const* data, std::byte* workspace) {
  const ChannelSplit& split = plan.channel;
  if (split.channels == 0) return;
  const ChannelCall call(plan, roles, count, data, workspace);
  if (split.n == 0 || split.l == 0) return call.store_empty_sums();
  split.by_pixels ? run_pixels(call) : run_planes(call);
}

}  // namespace normgrad
