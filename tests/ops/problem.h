// One call of an operator: layouts and values of its tensors, in the words of include/normgrad.
#ifndef TESTS_OPS_PROBLEM_H
#define TESTS_OPS_PROBLEM_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/forward.h"
#include "reference/number_format.h"

namespace ops_test {

using reference::Format;

// kBatchNormSums is BatchNormBackward too, with the sums among its outputs and any mixture of dtypes.
enum class Op {
  kLayerNorm,
  kRmsNorm,
  kBatchNorm,
  kBatchNormSums,
  kElemtBackward,
  kForward,
  kGatherStats,
  kLayerNormForward,
  kRmsNormForward
};
inline constexpr Op kOps[] = {Op::kLayerNorm,     Op::kRmsNorm,          Op::kBatchNorm,
                              Op::kBatchNormSums, Op::kElemtBackward,    Op::kForward,
                              Op::kGatherStats,   Op::kLayerNormForward, Op::kRmsNormForward};
inline constexpr Format kDataFormats[] = {Format::kF32, Format::kF16, Format::kBF16};
bool is_row_norm(Op op);
bool is_row_forward(Op op);
bool is_channel_norm(Op op);
bool is_backward(Op op);
bool has_two_arithmetics(Op op);

// Up to kRunningVar outputs, from kRunningMean on inputs: the running statistics are both. What
// several operators call by one name has one slot as an output, another one as an input.
enum Slot {
  kDx,
  kDw,
  kDb,
  kSumDy,
  kSumDyXmu,
  kY,
  kMeanOut,
  kRstdOut,
  kVarOut,
  kXSum,
  kXHatOut,
  kSigmaOut,
  kY2,
  kDx2,
  kRunningMean,
  kRunningVar,
  kDy,
  kX,
  kXHat,
  kW,
  kMean,
  kRstd,
  kSigma,
  kVar,
  kB,
  kSumDyGiven,
  kSumDyXmuGiven,
  kCounts,
  kX2,
  kXBias,
  kScale,
  kShift,
  kDsum,
  kSlotCount
};
inline constexpr std::size_t kOutputCount = kRunningVar + 1;
inline constexpr Slot kOutputs[] = {
    kDx,     kDw,   kDb,      kSumDy,    kSumDyXmu, kY,   kMeanOut,     kRstdOut,
    kVarOut, kXSum, kXHatOut, kSigmaOut, kY2,       kDx2, kRunningMean, kRunningVar};
inline constexpr Slot kInputs[] = {
    kRunningMean, kRunningVar,    kDy,     kX,  kXHat,  kW,     kMean,  kRstd, kSigma, kVar, kB,
    kSumDyGiven,  kSumDyXmuGiven, kCounts, kX2, kXBias, kScale, kShift, kDsum};
constexpr bool is_output(Slot slot) { return slot <= kRunningVar; }
constexpr bool is_input(Slot slot) { return slot >= kRunningMean; }

const char* name(Op op);
const char* name(Slot slot);

struct TensorSpec {
  Format format = Format::kNone;  // kNone: absent
  std::vector<std::int64_t> shape, strides;
  std::size_t shift_bytes = 0;  // of the base address from a multiple of 64

  bool present() const { return format != Format::kNone; }
};

using Values = std::vector<double>;  // in logical order

struct Problem {
  Op op = Op::kLayerNorm;
  std::array<TensorSpec, kSlotCount> tensor;
  std::array<Values, kSlotCount> value;  // of the inputs
  Slot dx_shares = kDx;  // the input whose storage and layout dx, or y, has; kDx: its own
  double eps = 0;
  double momentum = 0;
  bool training = true;
  int channel_axis = 1;
  int row_axes = 1;
  double alpha = 1;
  std::size_t row_block =
      8192;  // columns of a block of the sums along rows: a property of the tree, for the model alone

  bool has(Slot slot) const { return tensor[slot].present(); }
  // The big input that every norm has, and the big output that may lie in its place.
  Slot big_input() const { return has(kDy) ? kDy : kX; }
  Slot big_output() const { return op == Op::kForward || is_row_forward(op) ? kY : kDx; }
  // GatherStats has no big tensors; its arithmetic is that of f32 data.
  Format data_format() const {
    return op == Op::kGatherStats ? Format::kF32 : tensor[big_input()].format;
  }
};

// Row norms: rows x columns. BatchNorm: outer x channels x inner, around the channel axis.
struct RowExtents {
  std::size_t rows, columns;
};
struct ChannelExtents {
  std::size_t outer, channels, inner;
};
RowExtents row_extents(const Problem& problem);
ChannelExtents channel_extents(const Problem& problem);

std::size_t element_count(const TensorSpec& spec);
std::vector<std::int64_t> offsets(const TensorSpec& spec);  // in elements, in logical order
TensorSpec contiguous(Format format, std::vector<std::int64_t> shape);

// Rounds values to the tensor's format, and gives elements at one address one value.
void settle(const TensorSpec& spec, Values& values);
void settle(Problem& problem);

reference::Gradients reference_gradients(const Problem& problem);  // of the backward operators
reference::Forward reference_forward(const Problem& problem);
reference::Whole reference_whole(const Problem& problem);  // of GatherStats

std::string describe(const TensorSpec& spec);
std::string describe(const Problem& problem);

}  // namespace ops_test

#endif
