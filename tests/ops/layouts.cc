#include "ops/layouts.h"

#include <algorithm>
#include <numeric>

namespace ops_test {
namespace {

using Extents = std::vector<std::int64_t>;

// Dims from the outermost to the innermost in memory.
std::vector<std::size_t> memory_order(Random& random, std::size_t rank, LastStride last) {
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  const std::size_t movable = last == LastStride::kOne ? rank - 1 : rank;
  for (std::size_t i = movable; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

void random_strides(Random& random, TensorSpec& spec, LastStride last) {
  const bool permute = random.one_in(2), pad = random.one_in(2), reverse = random.one_in(3);
  const std::size_t rank = spec.shape.size();
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (permute) order = memory_order(random, rank, last);
  std::int64_t stride =
      last == LastStride::kAny && pad ? random.pick<std::int64_t>({1, 1, 2, 3}) : 1;
  for (std::size_t k = rank; k-- > 0;) {
    const std::size_t d = order[k];
    const bool fixed = last == LastStride::kOne && d + 1 == rank;
    spec.strides[d] = !fixed && reverse && random.one_in(2) ? -stride : stride;
    if (!fixed && spec.shape[d] == 1 && random.one_in(3))
      spec.strides[d] = random.pick<std::int64_t>({0, -7, 100003});
    stride = stride * spec.shape[d] + (pad ? static_cast<std::int64_t>(random.below(20)) : 0);
  }
}

}  // namespace

TensorSpec random_layout(Random& random, Format format, Extents shape, Role role, LastStride last) {
  TensorSpec spec = contiguous(format, std::move(shape));
  if (!spec.shape.empty() && random.below(10) < 6) random_strides(random, spec, last);
  const std::size_t movable = spec.shape.size() - (last == LastStride::kOne ? 1 : 0);
  if (role == Role::kInput && movable > 0 && random.one_in(8))
    spec.strides[random.below(movable)] = 0;
  if (random.one_in(2)) {
    const std::size_t size = facts(format).bytes;
    spec.shift_bytes = random.below(64 / size) * size;
  }
  return spec;
}

TensorSpec random_vector(Random& random, Format format, std::int64_t size, Role role) {
  TensorSpec spec = contiguous(format, {size});
  spec.strides[0] = random.pick<std::int64_t>({1, 1, 1, 2, 3, -1});
  if (role == Role::kInput && random.one_in(12)) spec.strides[0] = 0;
  spec.shift_bytes = random.one_in(2) ? 0 : facts(format).bytes;
  return spec;
}

TensorSpec channels_last(Format format, Extents shape, int channel_axis, std::int64_t gap) {
  TensorSpec spec = contiguous(format, std::move(shape));
  const auto axis = static_cast<std::size_t>(channel_axis);
  spec.strides[axis] = 1;
  std::int64_t stride = spec.shape[axis] + gap;
  for (std::size_t d = spec.shape.size(); d-- > 0;) {
    if (d == axis) continue;
    spec.strides[d] = stride;
    stride *= spec.shape[d];
  }
  return spec;
}

void lay_channels_last(Random& random, Problem& p) {
  const std::int64_t gap = random.pick<std::int64_t>({0, 0, 5});
  for (const Slot slot : {kDx, kDy, kX, kY}) {
    if (!p.has(slot) || random.one_in(8)) continue;
    const std::size_t shift = p.tensor[slot].shift_bytes;
    p.tensor[slot] =
        channels_last(p.tensor[slot].format, p.tensor[slot].shape, p.channel_axis, gap);
    p.tensor[slot].shift_bytes = shift;
  }
  if (p.dx_shares != kDx) p.tensor[p.big_output()] = p.tensor[p.dx_shares];
}

Extents random_factors(Random& random, std::int64_t count, std::size_t rank) {
  Extents out(rank, 1);
  if (rank == 0) return out;
  for (std::int64_t divisor = 2; count > 1;) {
    if (divisor * divisor > count) divisor = count;
    if (count % divisor == 0) {
      out[random.below(rank)] *= divisor;
      count /= divisor;
    } else {
      ++divisor;
    }
  }
  return out;
}

Problem packed(const Problem& problem) {
  Problem out = problem;
  out.dx_shares = kDx;
  for (TensorSpec& spec : out.tensor) {
    if (spec.present()) spec = contiguous(spec.format, spec.shape);
  }
  return out;
}

}  // namespace ops_test
