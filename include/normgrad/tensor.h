// A tensor as the operators see it: element type, extents, strides. No address: those are given to
// run().
#ifndef NORMGRAD_TENSOR_H
#define NORMGRAD_TENSOR_H

#include <cstdint>

namespace normgrad {

enum class DataType : std::uint8_t { kNone, kF16, kBF16, kF32, kF64, kI32, kOther };

inline constexpr int kMaxRank = 8;

struct Tensor {
  DataType dtype = DataType::kNone;  // kNone: there is no such tensor
  int rank = 0;
  std::int64_t shape[kMaxRank] = {};
  std::int64_t strides[kMaxRank] =
      {};  // in elements; 0 and negative ones are fine, outputs must not overlap themselves
  const char* name = "";  // what messages call it; a string literal

  constexpr bool present() const { return dtype != DataType::kNone; }

  friend bool operator==(const Tensor&, const Tensor&) = default;
};

}  // namespace normgrad

#endif
