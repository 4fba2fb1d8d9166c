#include "ops/channel_norm/channel_norm.h"

#include <algorithm>

#include "core/layout.h"
#include "core/sizes.h"

namespace normgrad {

void split_channels(Plan& plan, std::initializer_list<int> data, int channel_axis) {
  const Tensor& shape = plan.argument[*data.begin()].tensor;
  ChannelSplit& split = plan.channel;
  const int n_axis = channel_axis == 0 ? kMaxRank : 0;  // channels first: there is no n
  split.n = n_axis == 0 ? shape.shape[0] : 1;
  split.channels = shape.shape[channel_axis];
  split.l = is_empty(shape) ? 0 : 1;
  for (int d = 0; d < shape.rank; ++d) {
    if (d == n_axis || d == channel_axis) continue;
    split.extents[split.rank] = shape.shape[d];
    if (split.l > 0) split.l *= shape.shape[d];
    for (const int a : data) split.strides[a][split.rank] = plan.argument[a].tensor.strides[d];
    ++split.rank;
  }
  for (const int a : data) {
    split.n_strides[a] = n_axis == 0 ? plan.argument[a].tensor.strides[0] : 0;
    split.channel_strides[a] = plan.argument[a].tensor.strides[channel_axis];
  }
  if (split.l == 0) return;
  split.rank = collapse(split.rank, split.extents, split.strides, plan.arguments);
  split.chunk_l = std::min(split.l, kChannelChunk);
  split.chunk_n = std::max<std::int64_t>(1, kChannelChunk / split.l);
  split.l_chunks = ceil_div(split.l, split.chunk_l);
  split.n_chunks = ceil_div(split.n, split.chunk_n);
  if (!has_few_channels(split)) return;
  constexpr std::int64_t kAlignment = 16;  // the workspace may begin anywhere
  plan.workspace_bytes =
      static_cast<std::size_t>(split.channels * split.n_chunks * split.l_chunks * 16 + kAlignment);
}

}  // namespace normgrad
