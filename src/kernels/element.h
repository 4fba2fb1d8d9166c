// Element types and their scalar conversions. Rounding is to nearest even; a NaN stays a (quiet)
// NaN.
#ifndef NORMGRAD_KERNELS_ELEMENT_H
#define NORMGRAD_KERNELS_ELEMENT_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "normgrad/tensor.h"

namespace normgrad::kernels {

struct Half {  // IEEE binary16
  std::uint16_t bits;
};
struct BFloat {  // the upper half of a binary32
  std::uint16_t bits;
};

inline float to_float(float value) { return value; }
inline float to_float(BFloat value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}
inline float to_float(Half value) {
  const std::uint32_t magnitude = value.bits & 0x7FFFu;
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  if (magnitude >= 0x7C00u) {
    return std::bit_cast<float>(sign | 0x7F800000u | (magnitude & 0x3FFu) << 13 |
                                (magnitude > 0x7C00u ? 0x00400000u : 0u));
  }
  if (magnitude >= 0x0400u) return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  const float subnormal = static_cast<float>(magnitude) * 0x1p-24f;  // exact
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(subnormal));
}

template <typename T>
T round_to(float value);

template <>
inline float round_to<float>(float value) {
  return value;
}
template <>
inline BFloat round_to<BFloat>(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return {static_cast<std::uint16_t>(bits >> 16 | 0x40u)};
  return {static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16)};
}
template <>
inline Half round_to<Half>(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  const auto with_sign = [sign](std::uint32_t half) {
    return Half{static_cast<std::uint16_t>(sign | half)};
  };
  if (magnitude > 0x7F800000u) return with_sign(0x7E00u | (magnitude >> 13 & 0x3FFu));
  if (magnitude >= 0x477FF000u)
    return with_sign(0x7C00u);     // >= 65520, the middle above the largest
  if (magnitude >= 0x38800000u) {  // >= 2^-14: normal
    return with_sign((magnitude - (112u << 23) + 0xFFFu + (magnitude >> 13 & 1u)) >> 13);
  }
  // Below: multiples of 2^-24. Adding 0.5, whose ulp that is, rounds there.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
  return with_sign(std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5f));
}

// double -> float rounded to odd: the result of a further rounding to 16 bits is then that of a
// single rounding.
inline float round_to_odd(double value) {
  // Without branches: whether a value is rounded up or down is anybody's guess.
  const auto nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const bool inexact = static_cast<double>(nearest) < value || static_cast<double>(nearest) > value;
  const bool away = std::abs(static_cast<double>(nearest)) > std::abs(value);
  // Truncated towards zero, from Inf to the largest finite.
  const std::uint32_t odd = (bits - (away ? 1u : 0u)) | 1u;
  return std::bit_cast<float>(inexact ? odd : bits);
}

// One rounding, of the bits themselves: the ordinary case. kDigits are kept behind the point, kBias is that of exponents.
// False if the result is subnormal, infinite or NaN.
template <int kDigits, int kBias, typename T>
inline __attribute__((always_inline)) bool round_bits(double value, T* out) {
  constexpr int kDropped = 52 - kDigits;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
  const std::uint64_t half = (std::uint64_t{1} << (kDropped - 1)) - 1 + (magnitude >> kDropped & 1);
  // Exponents below the least become huge numbers.
  const std::uint64_t rounded =
      ((magnitude + half) >> kDropped) - (std::uint64_t{1023 - kBias} << kDigits);
  constexpr std::uint64_t kOne = std::uint64_t{1} << kDigits, kInfinity = (2 * kBias + 1) * kOne;
  if (rounded - kOne >= kInfinity - kOne) return false;
  // Rounded up to the least normal number from below it, where there are more digits.
  if (magnitude < std::uint64_t{1024 - kBias} << 52) return false;
  out->bits = static_cast<std::uint16_t>(rounded | (bits >> 48 & 0x8000u));
  return true;
}

template <typename T>
[[gnu::noinline]] T round_twice(double value) {
  return round_to<T>(round_to_odd(value));
}
template <typename T>
T round_to(double value) {
  constexpr bool kIsHalf = std::is_same_v<T, Half>;
  T out;
  if (round_bits < kIsHalf ? 10 : 7, kIsHalf ? 15 : 127 > (value, &out)) return out;
  return round_twice<T>(value);
}
template <>
inline float round_to<float>(double value) {
  return static_cast<float>(value);
}
template <>
inline double round_to<double>(double value) {
  return value;
}

// One element at any address: callers may pass data that is not even aligned to its own size.
template <typename T>
T read(const T* address) {
  T value;
  std::memcpy(&value, static_cast<const void*>(address), sizeof(T));
  return value;
}
template <typename T>
void write(T* address, T value) {
  std::memcpy(static_cast<void*>(address), &value, sizeof(T));
}

// Calls f with a null pointer of the element type that stands for `dtype`.
template <class F>
auto with_element_type(DataType dtype, F&& f) {
  switch (dtype) {
    case DataType::kF16:
      return f(static_cast<Half*>(nullptr));
    case DataType::kBF16:
      return f(static_cast<BFloat*>(nullptr));
    case DataType::kF64:
      return f(static_cast<double*>(nullptr));
    case DataType::kF32:
    case DataType::kI32:
    case DataType::kNone:
    case DataType::kOther:
      break;
  }
  return f(static_cast<float*>(nullptr));  // make_plan lets no other type pass
}

inline double to_double(double value) { return value; }
template <typename T>
double to_double(T value) {
  return static_cast<double>(to_float(value));
}

inline double load_element(const void* data, DataType dtype, std::int64_t index) {
  if (dtype == DataType::kI32) return read(static_cast<const std::int32_t*>(data) + index);
  return with_element_type(dtype, [&](auto* type) {
    return to_double(read(static_cast<const std::remove_pointer_t<decltype(type)>*>(data) + index));
  });
}

inline void store_element(void* data, DataType dtype, std::int64_t index, double value) {
  with_element_type(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    write(static_cast<T*>(data) + index, round_to<T>(value));
  });
}

}  // namespace normgrad::kernels

#endif
