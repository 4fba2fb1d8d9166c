// The single rounding from f64 to every element type. Vectors' conversions: tests/kernels/vectors_test.cc.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <type_traits>

#include "kernels/element.h"
#include "ops/random.h"
#include "reference/number_format.h"

namespace ops_test {
namespace {

using reference::decode;
using reference::encode;
using reference::Format;

template <class T>
std::uint64_t bits_of(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<std::uint32_t>(value);
  } else {
    return value.bits;
  }
}

template <class T>
void expect_single_rounding(Format format, double value) {
  for (const double v : {value, -value}) {
    const std::uint64_t got = bits_of(normgrad::kernels::round_to<T>(v)),
                        expected = encode(format, v);
    if (std::isnan(v)) {
      ASSERT_TRUE(std::isnan(decode(format, got)));
    } else {
      ASSERT_EQ(got, expected) << std::hexfloat << v;
    }
  }
}

// Random numbers of all magnitudes; all middles of neighbours, and what lies next to a middle, far
// below f32's precision.
template <class T>
void expect_single_roundings(Format format) {
  const reference::FormatFacts& f = reference::facts(format);
  Random random(9);
  for (int i = 0; i < 2000000; ++i) {
    const int exponent = f.min_exponent - 40 +
                         static_cast<int>(random.below(
                             static_cast<std::size_t>(f.max_exponent - f.min_exponent + 60)));
    const double value =
        std::ldexp(1 + static_cast<double>(random.next() >> 12) * 0x1p-52, exponent);
    ASSERT_NO_FATAL_FAILURE(expect_single_rounding<T>(format, value));
  }
  const std::uint64_t infinity = encode(format, HUGE_VAL);
  const std::uint64_t step = infinity / 0x7c00;
  for (std::uint64_t k = 0; k + 1 < infinity; k += step) {
    const double middle = decode(format, k) / 2 + decode(format, k + 1) / 2;
    for (const double v : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, HUGE_VAL),
                           middle * (1 + 0x1p-30)}) {
      ASSERT_NO_FATAL_FAILURE(expect_single_rounding<T>(format, v));
    }
  }
  const double largest = reference::largest(format),
               half = std::ldexp(1.0, f.max_exponent - f.precision);
  for (const double v : {largest, largest + half, std::nextafter(largest + half, 0.0),
                         largest + 3 * half, 1e308, HUGE_VAL, std::nan(""), 0.0, 5e-324, 1e-310}) {
    ASSERT_NO_FATAL_FAILURE(expect_single_rounding<T>(format, v));
  }
}

TEST(RoundingFromF64, IsOneRoundingToF16) {
  expect_single_roundings<normgrad::kernels::Half>(Format::kF16);
}
TEST(RoundingFromF64, IsOneRoundingToBF16) {
  expect_single_roundings<normgrad::kernels::BFloat>(Format::kBF16);
}
TEST(RoundingFromF64, IsOneRoundingToF32) { expect_single_roundings<float>(Format::kF32); }

}  // namespace
}  // namespace ops_test
