#include "ops/channel_split.h"

#include <cstdlib>

#include "ops/operators.h"
#include "runtime/layout.h"
#include "runtime/sizes.h"

namespace normgrad {
namespace {

// Elements of a chunk: a longer l is cut, a shorter one brings several n together.
constexpr std::int64_t kChunk = 4096;

// Whether channels lie nearer to each other than l. (N, C) is walked by pixels, whatever its strides.
bool walks_pixels(const ChannelSplit& split, int x) {
  if (split.l == 1) return true;
  const std::int64_t channel_stride = split.channels > 1 ? std::abs(split.channel_strides[x]) : 0;
  std::int64_t nearest = 0;  // of the l dims that move at all
  for (int d = 0; d < split.rank; ++d) {
    const std::int64_t stride = std::abs(split.strides[x][d]);
    if (stride != 0 && (nearest == 0 || stride < nearest)) nearest = stride;
  }
  return channel_stride != 0 && nearest != 0 && channel_stride < nearest;
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
  split.chunk_l = std::min(split.l, kChunk);
  split.chunk_n = std::max<std::int64_t>(1, kChunk / split.l);
  split.l_chunks = ceil_div(split.l, split.chunk_l);
  split.n_chunks = ceil_div(split.n, split.chunk_n);
  split.by_pixels = walks_pixels(split, index_of(Arg::kX));
}

}  // namespace normgrad
