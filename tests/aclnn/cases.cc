#include "aclnn/cases.h"

#include <cstdlib>
#include <cstring>

#include "ops/layouts.h"

namespace aclnn_test {
namespace {

using namespace ops_test;  // the slots

using Extents = std::vector<std::int64_t>;

struct Shape {
  Extents extents;
  int axis = 1;
  aclFormat format = ACL_FORMAT_ND;
};

bool looks_at_the_format(Api api) {
  return api == Api::kBatchNormBackward || api == Api::kFastBatchNormBackward ||
         api == Api::kBatchNorm;
}

aclFormat random_format(Random& random, Api api, std::size_t rank) {
  if (!looks_at_the_format(api)) {
    return random.pick({ACL_FORMAT_ND, ACL_FORMAT_NCHW, ACL_FORMAT_NHWC, ACL_FORMAT_HWCN,
                        ACL_FORMAT_NCDHW, ACL_FORMAT_NDHWC});
  }
  if (rank == 4) {
    return is_910b() ? random.pick({ACL_FORMAT_ND, ACL_FORMAT_NCHW})
                     : random.pick({ACL_FORMAT_ND, ACL_FORMAT_NCHW, ACL_FORMAT_NHWC});
  }
  if (rank == 5) {
    return is_910b() ? ACL_FORMAT_NCDHW : random.pick({ACL_FORMAT_NCDHW, ACL_FORMAT_NDHWC});
  }
  return random.pick({ACL_FORMAT_ND, ACL_FORMAT_NCHW, rank == 2 ? ACL_FORMAT_NC : ACL_FORMAT_NCL});
}

std::int64_t product(const Extents& extents) {
  std::int64_t out = 1;
  for (const std::int64_t extent : extents) out *= extent;
  return out;
}

// The channel in axis 1, or where the format says. Large ones are for the core's own tests.
Shape random_shape(Random& random, Api api) {
  ChannelShape from = channel_shape(random);
  while (product(from.shape) > 3000 && !random.one_in(20)) from = channel_shape(random);
  Shape out{from.shape, 1, random_format(random, api, from.shape.size())};
  const bool last =
      looks_at_the_format(api) && (out.format == ACL_FORMAT_NHWC || out.format == ACL_FORMAT_NDHWC);
  out.axis = last ? static_cast<int>(from.shape.size()) - 1 : 1;
  const std::int64_t channels = from.shape[static_cast<std::size_t>(from.axis)];
  out.extents.erase(out.extents.begin() + from.axis);
  out.extents.insert(out.extents.begin() + out.axis, channels);
  return out;
}

Problem make_problem(Random& random, Api api, Format data, const Shape& shape) {
  const auto sync = [&](Op op) {
    return make_sync_problem(random, op, data, shape.extents, shape.axis);
  };
  switch (api) {
    case Api::kBatchNormBackward:
    case Api::kFastBatchNormBackward: {
      Problem p = make_channel_problem(random, data, shape.extents, shape.axis);
      drop_outputs(random, p);
      return p;
    }
    case Api::kReduceBackward:
      return sync(Op::kBatchNormSums);
    case Api::kElemtBackward:
      return sync(Op::kElemtBackward);
    case Api::kGatherStats:
      return make_gather_problem(random);
    default:
      return sync(Op::kForward);
  }
}

// Fits one problem to the rules of its operator.
struct Fitting {
  Random& random;
  Case& c;
  Problem& p = c.problem;
  Format data = p.data_format();
  std::int64_t channels =
      p.op == Op::kGatherStats ? 0 : static_cast<std::int64_t>(channel_extents(p).channels);

  void drop(Slot slot) { p.tensor[slot] = {}; }
  void require(Slot slot, Format format = Format::kF32) {
    if (!p.has(slot)) p.tensor[slot] = contiguous(format, {channels});
  }
  void move(Slot from, Slot to) {
    if (p.has(from)) p.tensor[to] = p.tensor[from];
    drop(from);
  }
  void same_format(Slot slot, Slot as) {
    if (p.has(slot) && p.has(as)) p.tensor[slot].format = p.tensor[as].format;
  }
  void float_or_data(std::initializer_list<Slot> slots) {
    for (const Slot slot : slots) {
      if (p.has(slot) && p.tensor[slot].format != data) p.tensor[slot].format = Format::kF32;
    }
  }
  // A variance that is not given is 1: the core hears it, the operator gets null.
  void unit_variance() {
    if (p.has(kVar)) return;
    p.tensor[kVar] = contiguous(Format::kF32, {channels});
    c.null.insert(kVar);
  }

  void everywhere() {
    for (TensorSpec& spec : p.tensor) {
      for (std::int64_t& stride : spec.strides) stride = std::abs(stride);
      if (spec.format == Format::kF64) spec.format = Format::kF32;
    }
  }
  void backward() {
    const bool takes_rstd = p.training && !is_910b();
    takes_rstd ? move(kVar, kRstd) : move(kRstd, kVar);
    if (!takes_rstd) unit_variance();
    if (c.api == Api::kFastBatchNormBackward) return;
    float_or_data({kW, kMean, kRstd, kVar});
    if (c.null.empty()) same_format(kRstd, kMean), same_format(kVar, kMean);
    const Format wide = p.has(kW) ? p.tensor[kW].format : p.tensor[kDw].format;
    const Format format = random.one_in(2) ? Format::kF32 : wide;
    for (const Slot slot : {kDw, kDb}) {
      if (p.has(slot)) p.tensor[slot].format = format == Format::kNone ? Format::kF32 : format;
    }
  }
  void reduce() {
    p.training = true;
    drop(kDx);
    p.dx_shares = kDx;
    move(kVar, kRstd);
    require(kMean), require(kRstd);
    if (p.has(kSumDy) || p.has(kSumDyXmu) || (!p.has(kDw) && !p.has(kDb))) {
      require(kSumDy), require(kSumDyXmu, Format::kBF16);
    }
  }
  void elemt_backward() {
    require(kMean), require(kRstd);
    if (p.tensor[kCounts].format == Format::kBF16) p.tensor[kCounts].format = Format::kF32;
  }
  void forward() {
    float_or_data(
        {kW, kB, kMean, kRstd, kVar, kMeanOut, kRstdOut, kVarOut, kRunningMean, kRunningVar});
    if (!p.training) {
      move(kRstd, kVar);
      same_format(kVar, kMean);
      return unit_variance();
    }
    same_format(kRunningVar, kRunningMean);
    require_big_output();
    const Slot save = is_910b() ? kVarOut : kRstdOut, other = is_910b() ? kRstdOut : kVarOut;
    move(other, save);
    require(kMeanOut), require(save);
    same_format(save, kMeanOut);
  }
  void require_big_output() {
    if (!p.has(kY)) p.tensor[kY] = contiguous(data, p.tensor[kX].shape);
  }
  void given_forward() {
    p.training = false, p.momentum = 0;
    for (const Slot slot : {kMeanOut, kRstdOut, kVarOut, kRunningMean, kRunningVar}) drop(slot);
    move(kVar, kRstd);
    require(kMean), require(kRstd), require_big_output();
    for (const Slot slot : {kW, kB, kMean, kRstd}) {
      if (p.has(slot)) p.tensor[slot].format = data;
    }
  }
  void stats() {
    p.training = true;
    for (const Slot slot : {kY, kMean, kRstd, kVar, kVarOut, kRunningMean, kRunningVar, kW, kB}) {
      drop(slot);
    }
    p.dx_shares = kDx;
    require(kMeanOut), require(kRstdOut, Format::kF16);
  }
  void gather() {
    if (!p.has(kRunningMean) || !p.has(kRunningVar)) drop(kRunningMean), drop(kRunningVar);
  }

  void fit() {
    everywhere();
    switch (c.api) {
      case Api::kBatchNormBackward:
      case Api::kFastBatchNormBackward:
        return backward();
      case Api::kReduceBackward:
        return reduce();
      case Api::kElemtBackward:
        return elemt_backward();
      case Api::kBatchNorm:
        return forward();
      case Api::kElemt:
        return given_forward();
      case Api::kStats:
        return stats();
      case Api::kGatherStats:
        return gather();
    }
  }
  // Offsets count elements, and formats have changed since the shifts were chosen.
  void align() {
    for (TensorSpec& spec : p.tensor) {
      if (spec.present()) spec.shift_bytes -= spec.shift_bytes % facts(spec.format).bytes;
    }
  }
  void make_plain() {
    if (p.dx_shares != kDx) p.tensor[p.big_output()] = contiguous(data, p.tensor[kX].shape);
    p.dx_shares = kDx;
    drop(kRunningMean), drop(kRunningVar);
  }
};

}  // namespace

const char* name(Api api) {
  constexpr const char* kNames[] = {"BatchNormBackward",
                                    "FastBatchNormBackward",
                                    "ReduceBackward",
                                    "ElemtBackward",
                                    "BatchNorm",
                                    "Elemt",
                                    "Stats",
                                    "GatherStats"};
  return kNames[static_cast<int>(api)];
}

bool is_910b() { return std::strstr(aclrtGetSocName(), "910B") != nullptr; }

Case make_case(Api api, std::uint64_t master_seed, std::size_t index, bool plain) {
  Random random(master_seed + index * 8 + static_cast<std::uint64_t>(api));
  const Format data = random.pick({Format::kF32, Format::kF16, Format::kBF16});
  const Shape shape = random_shape(random, api);
  Case out{api, make_problem(random, api, data, shape), shape.format, {}};
  Fitting fitting{random, out};
  fitting.fit();
  if (plain) fitting.make_plain();
  fitting.align();
  const auto data_class =
      static_cast<DataClass>(random.below(static_cast<std::size_t>(DataClass::kCount)));
  fill(out.problem, data_class, random);
  for (const Slot slot : out.null) {
    for (double& value : out.problem.value[slot]) value = 1;
  }
  return out;
}

std::string Case::description() const {
  std::string out = std::string(name(api)) + " format=" + std::to_string(format);
  for (const Slot slot : null) out += std::string(" null ") + ops_test::name(slot);
  return out + " " + describe(problem);
}

}  // namespace aclnn_test
