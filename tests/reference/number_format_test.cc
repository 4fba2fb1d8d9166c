// The formats against known values, against themselves, and f32 against the processor's own.
#include "reference/number_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace reference {
namespace {

TEST(NumberFormat, KnownValues) {
  EXPECT_EQ(decode(Format::kF16, 0x3c00), 1.0);
  EXPECT_EQ(decode(Format::kF16, 0x7bff), 65504.0);
  EXPECT_EQ(decode(Format::kF16, 0x8001), -std::ldexp(1.0, -24));
  EXPECT_EQ(decode(Format::kF16, 0xfc00), -HUGE_VAL);
  EXPECT_EQ(decode(Format::kBF16, 0x3f81), 1.0078125);
  EXPECT_EQ(decode(Format::kBF16, 0x0001), std::ldexp(1.0, -133));
  EXPECT_EQ(decode(Format::kF32, 0x00000001), std::ldexp(1.0, -149));
  EXPECT_EQ(largest(Format::kF16), 65504.0);
  EXPECT_EQ(largest(Format::kF32), 3.4028234663852886e38);
}

TEST(NumberFormat, RoundsToNearestEvenOnce) {
  EXPECT_EQ(encode(Format::kF16, 65519.999), 0x7bffu);
  EXPECT_EQ(encode(Format::kF16, 65520.0), 0x7c00u);
  EXPECT_EQ(encode(Format::kF16, -1e300), 0xfc00u);
  EXPECT_EQ(encode(Format::kF16, std::ldexp(1.0, -25)), 0x0000u);
  EXPECT_EQ(encode(Format::kF16, std::ldexp(1.0000001, -25)), 0x0001u);
  EXPECT_EQ(encode(Format::kF16, std::ldexp(3.0, -25)), 0x0002u);
  EXPECT_EQ(encode(Format::kF16, 2047.0 / 2048.0 * std::ldexp(1.0, -14)), 0x0400u);
  EXPECT_EQ(encode(Format::kBF16, 1.00390625), 0x3f80u);  // halfway, to even
  EXPECT_EQ(encode(Format::kBF16, 1.00390625 + 1e-12),
            0x3f81u);  // an f32 in between would lose the 1e-12
  EXPECT_EQ(encode(Format::kBF16, -1e-320), 0x8000u);
}

TEST(NumberFormat, SixteenBitsComeBack) {
  for (const Format format : {Format::kF16, Format::kBF16}) {
    for (std::uint64_t bits = 0; bits < 65536; ++bits) {
      const double value = decode(format, bits);
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(decode(format, encode(format, value))));
      } else {
        ASSERT_EQ(encode(format, value), bits);
      }
    }
  }
}

TEST(NumberFormat, F32IsTheProcessors) {
  std::uint64_t state = 1;
  for (int i = 0; i < 1000000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double value = std::bit_cast<double>((state & 0x800fffffffffffffu) |
                                               ((1023 - 160 + (state >> 32) % 300) << 52));
    const auto expected = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    ASSERT_EQ(encode(Format::kF32, value), expected) << value;
    ASSERT_EQ(decode(Format::kF32, expected), static_cast<double>(static_cast<float>(value)));
  }
}

}  // namespace
}  // namespace reference
