// The criterion at its own edges.
#include "reference/criterion.h"

#include <gtest/gtest.h>

namespace reference {
namespace {

bool passes(double y, double r, double T, Format format, Arithmetic arithmetic,
            Output which = Output::kElement) {
  return within_bound(y, r, T, {arithmetic, which, format, format}).pass;
}
bool f32_passes(double y, double r, double T) {
  return passes(y, r, T, Format::kF32, Arithmetic::kExact);
}
bool f16_passes(double y, double r, double T) {
  return passes(y, r, T, Format::kF16, Arithmetic::kFast);
}

TEST(Criterion, UlpFollowsTheOutputFormat) {
  EXPECT_EQ(ulp(1.0, Format::kF32), std::ldexp(1.0, -23));
  EXPECT_EQ(ulp(-1.5, Format::kBF16), std::ldexp(1.0, -7));
  EXPECT_EQ(ulp(0.0, Format::kF16), std::ldexp(1.0, -24));
  EXPECT_EQ(ulp(1e-40, Format::kF32), std::ldexp(1.0, -149));
  const Quad below_two = 2 - Quad{std::ldexp(1.0, -100)};
  EXPECT_EQ(ulp(below_two, Format::kF32), std::ldexp(1.0, -23));
}

TEST(Criterion, HalfAnUlpAndTheScale) {
  const double half = 0x1p-24, c = 0x1p-40;
  EXPECT_TRUE(f32_passes(1.0, 1.0 + half, 0));
  EXPECT_FALSE(f32_passes(1.0, 1.0 + half + c, 0.99));
  EXPECT_TRUE(f32_passes(1.0, 1.0 + half + c, 1.0));
}

// c, as the largest power of two of T that passes beyond half an ulp.
int allowed_power(Format format, Arithmetic arithmetic, Output which) {
  const double half = ulp(0.0, format) / 2;
  int power = 0;
  while (!passes(0, half + std::ldexp(1.0, power), 1, format, arithmetic, which)) --power;
  return power;
}

TEST(Criterion, ArithmeticDecidesTheFactorOfTheScale) {
  for (const Format format : {Format::kF32, Format::kF16, Format::kBF16}) {
    const auto power = [&](Arithmetic arithmetic, Output which) {
      return allowed_power(format, arithmetic, which);
    };
    for (const Output which : {Output::kElement, Output::kSum}) {
      EXPECT_EQ(power(Arithmetic::kExact, which), -40);
      EXPECT_EQ(power(Arithmetic::kFast, which), which == Output::kElement ? -19 : -20);
    }
    EXPECT_EQ(power(Arithmetic::kExact, Output::kStatistic), -40);
    EXPECT_EQ(power(Arithmetic::kFast, Output::kStatistic), -19);
  }
}

TEST(Criterion, ClassesMustAgree) {
  const double inf = HUGE_VAL, nan = std::nan("");
  EXPECT_TRUE(f32_passes(nan, nan, nan));
  EXPECT_TRUE(f32_passes(-inf, -inf, inf));
  EXPECT_FALSE(f32_passes(inf, -inf, inf));
  EXPECT_FALSE(f32_passes(nan, inf, inf));
  EXPECT_FALSE(f32_passes(nan, 1, inf));
  EXPECT_FALSE(f32_passes(inf, 1, 1));
  EXPECT_FALSE(f32_passes(1, inf, inf));
  EXPECT_TRUE(f32_passes(-0.0, 0.0, 0.0));
}

TEST(Criterion, InfiniteStatisticsLeaveTheClassOpen) {
  const Rule rule{Arithmetic::kFast, Output::kElement, Format::kF32, Format::kF32, false};
  const double inf = HUGE_VAL, nan = std::nan("");
  for (const double r : {nan, inf, -inf}) {
    for (const double y : {nan, inf, -inf}) EXPECT_TRUE(within_bound(y, r, inf, rule).pass);
    EXPECT_FALSE(within_bound(1, r, inf, rule).pass);
  }
  EXPECT_FALSE(within_bound(nan, 1, 1, rule).pass);
  EXPECT_FALSE(within_bound(inf, 1, 1, rule).pass);
}

TEST(Criterion, EitherSideOfTheOverflowPoint) {
  EXPECT_TRUE(f16_passes(HUGE_VAL, 65520, 0));
  EXPECT_TRUE(f16_passes(65504, 65520, 0));
  EXPECT_TRUE(f16_passes(HUGE_VAL, 65505, 0));
  EXPECT_FALSE(f16_passes(HUGE_VAL, 65500, 0));
  EXPECT_FALSE(f16_passes(65504, 65537, 0));
  EXPECT_FALSE(f16_passes(-HUGE_VAL, 65600, 0));
  EXPECT_TRUE(f16_passes(HUGE_VAL, 1e9, 0));
}

}  // namespace
}  // namespace reference
