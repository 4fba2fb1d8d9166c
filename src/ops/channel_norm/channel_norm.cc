#include "ops/channel_norm/channel_norm.h"

#include <algorithm>

#include "ops/operators.h"
#include "runtime/failure.h"
#include "runtime/layout.h"
#include "runtime/sizes.h"

namespace normgrad {
namespace {

// With fewer l than the summation tree has lanes, a walk along them has nothing to do at once.
constexpr std::int64_t kFewPixels = 16;

bool has_channels_last(const ChannelSplit& split, int argument) {
  const bool l_lies_together = split.rank == 1 && split.strides[argument][0] == 1;
  return split.channel_strides[argument] == 1 && !l_lies_together;
}

}  // namespace

void split_channels(PlanBody& plan) {
  const Tensor& shape = plan.tensor(plan.op->data);
  const int channel_axis = plan.channel_axis;
  const auto each_with_all_dims = [&](auto&& body) {
    for (const Rule& rule : plan.op->rules) {
      if (rule.shape == Shape::kWhole) body(index_of(rule.arg));
    }
  };
  ChannelSplit& split = plan.channel;
  const int n_axis = channel_axis == 0 ? kMaxRank : 0;  // channels first: there is no n
  split.n = n_axis == 0 ? shape.shape[0] : 1;
  split.channels = shape.shape[channel_axis];
  split.l = is_empty(shape) ? 0 : 1;
  for (int d = 0; d < shape.rank; ++d) {
    if (d == n_axis || d == channel_axis) continue;
    split.extents[split.rank] = shape.shape[d];
    if (split.l > 0) split.l *= shape.shape[d];
    each_with_all_dims(
        [&](int a) { split.strides[a][split.rank] = plan.argument[a].tensor.strides[d]; });
    ++split.rank;
  }
  each_with_all_dims([&](int a) {
    split.n_strides[a] = n_axis == 0 ? plan.argument[a].tensor.strides[0] : 0;
    split.channel_strides[a] = plan.argument[a].tensor.strides[channel_axis];
  });
  if (split.l == 0) return;
  split.rank = collapse(split.rank, split.extents, split.strides, kArgs);
  split.chunk_l = std::min(split.l, kChannelChunk);
  split.chunk_n = std::max<std::int64_t>(1, kChannelChunk / split.l);
  split.l_chunks = ceil_div(split.l, split.chunk_l);
  split.n_chunks = ceil_div(split.n, split.chunk_n);
  bool channels_last = false;
  each_with_all_dims([&](int a) { channels_last |= has_channels_last(split, a); });
  split.across_channels = split.channels > 1 && (split.l < kFewPixels || channels_last);
}

Status reserve_totals(PlanBody& plan) {
  const ChannelSplit& split = plan.channel;
  constexpr std::int64_t kAlignment = 16;  // the workspace may begin anywhere
  const Checked totals = Checked(split.channels) * split.n_chunks * split.l_chunks;
  const Checked bytes = totals * std::int64_t{sizeof(ChannelTotals)} + kAlignment;
  if (!bytes.ok()) {
    return fail(Status::kBadShape, "%lld channels are more than memory can hold the sums of",
                static_cast<long long>(split.channels));
  }
  plan.workspace_bytes = totals.value() == 0 ? 0 : static_cast<std::size_t>(bytes.value());
  return Status::kOk;
}

}  // namespace normgrad
