// A tensor as the operators see it: element type, extents, strides. No address: those are given to
// run().
#ifndef NORMGRAD_TENSOR_H
#define NORMGRAD_TENSOR_H

#include <cstdint>

// In C++20 tensors and problems can be compared, names by their addresses: equal problems have equal plans.
#if __cplusplus >= 202002L
#define NORMGRAD_COMPARABLE(Type) friend bool operator==(const Type&, const Type&) = default;
#else
#define NORMGRAD_COMPARABLE(Type)
#endif

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

  NORMGRAD_COMPARABLE(Tensor)
};

}  // namespace normgrad

#endif
