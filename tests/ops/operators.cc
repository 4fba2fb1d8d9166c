#include "ops/operators.h"

#include <algorithm>
#include <iterator>

namespace ops_test {
namespace {

using normgrad::Status;

normgrad::Tensor tensor(const Problem& problem, Slot slot) {
  using normgrad::DataType;
  constexpr DataType kTypes[] = {DataType::kNone, DataType::kF16, DataType::kBF16,
                                 DataType::kF32,  DataType::kF64, DataType::kI32};
  const TensorSpec& spec = problem.tensor[slot];
  normgrad::Tensor out;
  out.dtype = kTypes[static_cast<int>(spec.format)];
  out.rank = static_cast<int>(spec.shape.size());
  std::copy(spec.shape.begin(), spec.shape.end(), out.shape);
  std::copy(spec.strides.begin(), spec.strides.end(), out.strides);
  out.name = name(slot);
  return out;
}

using normgrad::Arg;

// What one slot is called in include/normgrad. Some names are both an output's and an input's there.
Arg arg_of(Op op, Slot slot) {
  constexpr Arg kArg[] = {
      Arg::kDx,    Arg::kDw,    Arg::kDb,          Arg::kSumDy,      Arg::kSumDyXmu, Arg::kY,
      Arg::kMean,  Arg::kRstd,  Arg::kVar,         Arg::kXSum,       Arg::kXHat,     Arg::kSigma,
      Arg::kY2,    Arg::kDx2,   Arg::kRunningMean, Arg::kRunningVar, Arg::kDy,       Arg::kX,
      Arg::kXHat,  Arg::kW,     Arg::kMean,        Arg::kRstd,       Arg::kSigma,    Arg::kVar,
      Arg::kB,     Arg::kSumDy, Arg::kSumDyXmu,    Arg::kCounts,     Arg::kX2,       Arg::kXBias,
      Arg::kScale, Arg::kShift, Arg::kDsum};
  static_assert(std::size(kArg) == kSlotCount);
  if (op == Op::kGatherStats && slot == kMeanOut) return Arg::kMeanAll;
  if (op == Op::kGatherStats && slot == kRstdOut) return Arg::kRstdAll;
  return kArg[slot];
}

normgrad::Op op_of(Op op) {
  switch (op) {
    case Op::kLayerNorm:
      return normgrad::Op::kLayerNormBackward;
    case Op::kRmsNorm:
      return normgrad::Op::kRmsNormBackward;
    case Op::kBatchNorm:
    case Op::kBatchNormSums:
      return normgrad::Op::kBatchNormBackward;
    case Op::kElemtBackward:
      return normgrad::Op::kBatchNormElemtBackward;
    case Op::kForward:
      return normgrad::Op::kBatchNorm;
    case Op::kLayerNormForward:
      return normgrad::Op::kLayerNorm;
    case Op::kRmsNormForward:
      return normgrad::Op::kRmsNorm;
    case Op::kGatherStats:
      break;
  }
  return normgrad::Op::kBatchNormGatherStats;
}

}  // namespace

Status make_plan(const Problem& p, normgrad::Plan* plan) {
  normgrad::Problem problem;
  problem.op = op_of(p.op);
  problem.eps = p.eps;
  problem.momentum = p.momentum;
  problem.training = p.training;
  problem.channel_axis = p.channel_axis;
  problem.row_axes = p.row_axes;
  problem.alpha = p.alpha;
  for (int slot = 0; slot < kSlotCount; ++slot) {
    if (p.has(Slot(slot))) problem[arg_of(p.op, Slot(slot))] = tensor(p, Slot(slot));
  }
  return normgrad::make_plan(problem, plan);
}

Status run(const Problem& problem, const normgrad::Plan& plan, const Pointers& data,
           void* workspace) {
  normgrad::Addresses addresses;  // what is absent is never dereferenced
  for (const void*& at : addresses.at) at = reinterpret_cast<const void*>(std::uintptr_t{16});
  for (std::size_t slot = 0; slot < kSlotCount; ++slot) {
    if (problem.has(Slot(slot))) addresses[arg_of(problem.op, Slot(slot))] = data[slot];
  }
  return normgrad::run(plan, addresses, workspace, plan.workspace_bytes());
}

}  // namespace ops_test
