// One call of an operator: layouts and values of its tensors, in the words of include/normgrad.
#ifndef TESTS_OPS_PROBLEM_H
#define TESTS_OPS_PROBLEM_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/gradients.h"
#include "reference/number_format.h"

namespace ops_test {

using reference::Format;

enum class Op { kLayerNorm, kRmsNorm, kBatchNorm };
inline constexpr Op kOps[] = {Op::kLayerNorm, Op::kRmsNorm, Op::kBatchNorm};
inline constexpr Format kDataFormats[] = {Format::kF32, Format::kF16, Format::kBF16};

enum Slot { kDx, kDw, kDb, kDy, kX, kXHat, kW, kMean, kRstd, kSigma, kVar, kSlotCount };
inline constexpr Slot kOutputs[] = {kDx, kDw, kDb};
inline constexpr Slot kInputs[] = {kDy, kX, kXHat, kW, kMean, kRstd, kSigma, kVar};

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
  Slot dx_shares = kDx;                  // the input whose storage and layout dx has; kDx: its own
  double eps = 0;
  bool training = true;
  int channel_axis = 1;

  Format data_format() const { return tensor[kDy].format; }
  bool has(Slot slot) const { return tensor[slot].present(); }
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

reference::Gradients reference_gradients(const Problem& problem);

std::string describe(const TensorSpec& spec);
std::string describe(const Problem& problem);

}  // namespace ops_test

#endif
