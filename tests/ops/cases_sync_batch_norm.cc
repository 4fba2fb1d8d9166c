#include "ops/cases.h"
#include "ops/layouts.h"

namespace ops_test {
namespace {

using Extents = std::vector<std::int64_t>;

Format any_format(Random& random) {
  return random.pick({Format::kF16, Format::kBF16, Format::kF32, Format::kF32, Format::kF64});
}

struct Maker {
  Random& random;
  Problem& p;
  Format data;
  Extents shape;
  std::int64_t channels;

  void big(Slot slot) {
    p.tensor[slot] = random_layout(
        random, data, shape, is_output(slot) ? Role::kOutput : Role::kInput, LastStride::kAny);
  }
  void vector(Slot slot) {
    p.tensor[slot] = random_vector(random, any_format(random), channels,
                                   is_output(slot) ? Role::kOutput : Role::kInput);
  }
  void optional(Slot slot, std::size_t one_in) {
    if (!random.one_in(one_in)) vector(slot);
  }
  // The big output in the place of a big input whose elements have addresses of their own.
  void share(Slot slot) {
    if (!p.has(p.big_output()) || !random.one_in(3)) return;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (p.tensor[slot].strides[d] == 0 && shape[d] > 1) return;
    }
    p.dx_shares = slot;
    p.tensor[p.big_output()] = p.tensor[slot];
  }
};

void given_statistics(Maker& make) {
  make.optional(kMean, 8);
  if (!make.random.one_in(8)) make.vector(make.random.one_in(2) ? kRstd : kVar);
}

void backward_with_sums(Maker& make) {
  make.p.training = !make.random.one_in(4);
  for (const Slot slot : {kDy, kX}) make.big(slot);
  make.optional(kW, 5);
  given_statistics(make);
  // SyncBatchNorm wants no dx; otherwise one output at least.
  const std::size_t wanted = make.random.one_in(3) ? 30 : 1 + make.random.below(31);
  for (const Slot slot : {kDx, kDw, kDb, kSumDy, kSumDyXmu}) {
    if ((wanted >> slot & 1) != 0) slot == kDx ? make.big(slot) : make.vector(slot);
  }
  make.share(make.random.one_in(2) ? kDy : kX);
}

void elemt_backward(Maker& make) {
  for (const Slot slot : {kDx, kDy, kX}) make.big(slot);
  make.optional(kW, 5), make.optional(kMean, 8), make.optional(kRstd, 8);
  for (const Slot slot : {kSumDyGiven, kSumDyXmuGiven}) make.vector(slot);
  const Format format =
      make.random.pick({Format::kI32, Format::kF16, Format::kF32, Format::kF64, Format::kBF16});
  const std::size_t rank = make.random.below(5);
  const auto devices = make.random.pick<std::int64_t>({1, 2, 8, 30});
  make.p.tensor[kCounts] = random_layout(
      make.random, format, rank == 0 ? Extents{} : random_factors(make.random, devices, rank),
      Role::kInput, LastStride::kAny);
  make.share(make.random.one_in(2) ? kDy : kX);
}

void forward(Maker& make) {
  make.p.training = !make.random.one_in(3);
  make.big(kX);
  make.optional(kW, 5), make.optional(kB, 5);
  if (!make.p.training) {
    given_statistics(make);
    make.big(kY);
    return make.share(kX);
  }
  make.p.momentum = make.random.pick({0.1, 0.003, 0.9, 1.0, 0.0});
  std::size_t wanted = make.random.one_in(2) ? 63 : 1 + make.random.below(63);
  for (const Slot slot : {kY, kMeanOut, kRstdOut, kVarOut, kRunningMean, kRunningVar}) {
    if ((wanted & 1) != 0) slot == kY ? make.big(slot) : make.vector(slot);
    wanted >>= 1;
  }
  make.share(kX);
}

}  // namespace

Problem make_sync_problem(Random& random, Op op, Format data, Extents shape, int channel_axis) {
  Problem p;
  p.op = op;
  p.channel_axis = channel_axis;
  p.eps = random.pick({0.0, 1e-5, 0.1});
  const std::int64_t channels = shape[static_cast<std::size_t>(channel_axis)];
  Maker make{random, p, data, std::move(shape), channels};
  if (op == Op::kBatchNormSums) backward_with_sums(make);
  if (op == Op::kElemtBackward) elemt_backward(make);
  if (op == Op::kForward) forward(make);
  return p;
}

Problem make_gather_problem(Random& random) {
  Problem p;
  p.op = Op::kGatherStats;
  p.eps = random.pick({0.0, 1e-5, 0.1});
  p.momentum = random.pick({0.1, 0.003, 0.9, 1.0, 0.0});
  const auto devices = random.pick<std::int64_t>({1, 2, 3, 8, 17, 64});
  const auto channels = random.pick<std::int64_t>({1, 2, 3, 16, 33, 100});
  Maker make{random, p, Format::kNone, {}, channels};
  for (const Slot slot : {kMeanOut, kRstdOut}) make.vector(slot);
  for (const Slot slot : {kRunningMean, kRunningVar}) make.optional(slot, 4);
  for (const Slot slot : {kMean, kRstd}) {
    p.tensor[slot] = random_layout(random, any_format(random), {devices, channels}, Role::kInput,
                                   LastStride::kAny);
  }
  p.tensor[kCounts] = random_vector(random, any_format(random), devices, Role::kInput);
  return p;
}

}  // namespace ops_test
