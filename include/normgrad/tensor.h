// A tensor as the operators see it: element type, extents, strides. No address: those are given to
// run().
#ifndef NORMGRAD_TENSOR_H
#define NORMGRAD_TENSOR_H

#include <cstdint>

// From C++20 on problems can be compared: equal ones have equal plans.
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
  // In elements; 0 and negative ones are fine, outputs must not overlap themselves.
  std::int64_t strides[kMaxRank] = {};
  const char* name = "";  // what messages call it; a string literal

  constexpr bool present() const { return dtype != DataType::kNone; }

  // Absent ones are all equal, names are by their addresses, and dimensions beyond the rank mean nothing.
  friend constexpr bool operator==(const Tensor& a, const Tensor& b) {
    if (a.dtype != b.dtype) return false;
    if (!a.present()) return true;
    if (a.rank != b.rank || a.name != b.name) return false;
    for (int d = 0; d < a.rank && d < kMaxRank; ++d) {
      if (a.shape[d] != b.shape[d] || a.strides[d] != b.strides[d]) return false;
    }
    return true;
  }
  friend constexpr bool operator!=(const Tensor& a, const Tensor& b) { return !(a == b); }
};

}  // namespace normgrad

#endif
