// The criterion at its own edges.
#include "reference/criterion.h"

#include <gtest/gtest.h>

namespace reference {
namespace {

bool f32_passes(double y, double r, double T) {
  return within_bound(y, r, T, Format::kF32, Format::kF32, Output::kElement).pass;
}
bool f16_passes(double y, double r, double T, Output which = Output::kElement) {
  return within_bound(y, r, T, Format::kF16, Format::kF16, which).pass;
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
  const double half = std::ldexp(1.0, -24), c = std::ldexp(1.0, -40);
  EXPECT_TRUE(f32_passes(1.0, 1.0 + half, 0));
  EXPECT_FALSE(f32_passes(1.0, 1.0 + half + c, 0.99));
  EXPECT_TRUE(f32_passes(1.0, 1.0 + half + c, 1.0));
  EXPECT_TRUE(f16_passes(0, std::ldexp(1.0, -25) + std::ldexp(1.0, -19), 1.0));
  EXPECT_FALSE(f16_passes(0, std::ldexp(1.0, -25) + std::ldexp(1.0, -19), 1.0, Output::kSum));
  EXPECT_TRUE(f16_passes(0, std::ldexp(1.0, -25) + c, 1.0, Output::kStatistic));
  EXPECT_FALSE(f16_passes(0, std::ldexp(1.0, -25) + 2 * c, 1.0, Output::kStatistic));
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
