// The forward reference against known values, against the gradients' own forward (through its
// derivative), and against itself in parts.
#include "reference/forward.h"

#include <gtest/gtest.h>

namespace reference {
namespace {

double random_value(std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<double>(static_cast<std::int64_t>(state >> 11) - (std::int64_t{1} << 52)) *
         0x1p-51;
}

std::vector<double> random_values(std::size_t n, double offset, std::uint64_t seed) {
  std::vector<double> out(n);
  for (double& value : out) value = offset + random_value(seed);
  return out;
}

double at(const Expected& e, std::size_t i) { return static_cast<double>(e.value[i]); }

// Channel 0 is 1, 3, 5, 7: mean 4, var 5, unbiased 20/3. Channel 1 is constant.
TEST(Forward, KnownValues) {
  ForwardNorm in;
  in.outer = 2, in.channels = 2, in.inner = 2;
  in.x = {1, 3, 6, 6, 5, 7, 6, 6};
  in.w = {3, 1}, in.b = {10, -1};
  in.running_mean = {2, 2}, in.running_var = {3, 3};
  in.eps = 4, in.momentum = 0.25;
  const Forward out = batch_norm_forward(in);
  EXPECT_EQ(at(out.mean, 0), 4);
  EXPECT_EQ(at(out.var, 0), 5);
  EXPECT_DOUBLE_EQ(at(out.rstd, 0), 1.0 / 3);
  EXPECT_EQ(at(out.running_mean, 0), 2.5);
  EXPECT_DOUBLE_EQ(at(out.running_var, 0), 2.25 + 20.0 / 12);
  const double y[] = {7, 9, -1, -1, 11, 13, -1, -1};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_DOUBLE_EQ(at(out.y, i), y[i]) << i;
  EXPECT_EQ(at(out.var, 1), 0);
  EXPECT_EQ(at(out.rstd, 1), 0.5);
  EXPECT_DOUBLE_EQ(static_cast<double>(out.y.scale[0]), 15);  // |x_hat*w| 3, its mean 2, |b| 10
}

TEST(Forward, GivenStatisticsAreTakenAsTheyAre) {
  ForwardNorm in;
  in.outer = 1, in.channels = 2, in.inner = 1, in.training = false;
  in.x = {3, 5}, in.mean = {1, 1}, in.var = {3, 15}, in.eps = 1;
  EXPECT_EQ(at(batch_norm_forward(in).y, 0), 1);
  EXPECT_EQ(at(batch_norm_forward(in).y, 1), 1);
  in.var.clear(), in.rstd = {2, 3};
  EXPECT_EQ(at(batch_norm_forward(in).y, 1), 12);
  in.mean.clear(), in.rstd.clear();
  EXPECT_EQ(at(batch_norm_forward(in).y, 1), 5);
}

TEST(Forward, NoElements) {
  ForwardNorm in;
  in.outer = 0, in.channels = 1, in.inner = 3;
  in.running_mean = {2}, in.running_var = {3}, in.momentum = 0.5;
  const Forward out = batch_norm_forward(in);
  EXPECT_EQ(at(out.mean, 0), 0);
  EXPECT_TRUE(is_nan(out.rstd.value[0]) && is_nan(out.var.value[0]));
  EXPECT_EQ(at(out.running_mean, 0), 2);
  EXPECT_EQ(at(out.running_var, 0), 3);
}

// d(sum(dy*y))/dx by central differences of the forward is dx of the gradients, whether the sums
// are computed or given.
TEST(Forward, DerivativeIsTheBackward) {
  ForwardNorm in;
  in.outer = 2, in.channels = 3, in.inner = 4;
  in.x = random_values(24, 2, 5), in.w = random_values(3, 1, 6), in.b = random_values(3, 0, 7);
  in.eps = 1e-3;
  const std::vector<double> dy = random_values(24, 0, 4);
  const Forward forward = batch_norm_forward(in);
  ChannelNorm back{2, 3, 4, dy, in.x, in.w, {}, {}, {}, 0, true, {}, {}, {24.0 / 6, 24.0 / 6}};
  for (std::size_t c = 0; c < 3; ++c) {
    back.mean.push_back(at(forward.mean, c));
    back.rstd.push_back(at(forward.rstd, c));
  }
  const Gradients whole = batch_norm_backward(back);
  for (std::size_t c = 0; c < 3; ++c) {
    back.sum_dy.push_back(at(whole.sum_dy, c));
    back.sum_dy_xmu.push_back(at(whole.sum_dy_xmu, c));
  }
  const Gradients second_half = batch_norm_elemt_backward(back);
  const double h = 0x1p-20;  // x + h is exact: x has 51 bits after the point, and lies below 4
  for (std::size_t i = 0; i < 24; ++i) {
    Quad loss[2] = {};
    for (const int side : {0, 1}) {
      ForwardNorm moved = in;
      moved.x[i] += side == 0 ? -h : h;
      const Forward y = batch_norm_forward(moved);
      for (std::size_t k = 0; k < 24; ++k) loss[side] += dy[k] * y.y.value[k];
    }
    const Quad slope = (loss[1] - loss[0]) / (2 * h), scale = whole.dx.scale[i];
    EXPECT_LE(static_cast<double>(magnitude(whole.dx.value[i] - slope) / scale), 1e-10) << i;
    EXPECT_LE(static_cast<double>(magnitude(second_half.dx.value[i] - whole.dx.value[i]) / scale),
              1e-15)
        << i;
  }
}

// Parts of unequal size.
TEST(GatherStats, PartsMakeTheWhole) {
  ForwardNorm whole;
  whole.outer = 5, whole.channels = 2, whole.inner = 3;
  whole.x = random_values(30, 7, 9);
  whole.eps = 1e-3, whole.momentum = 0.25;
  whole.running_mean = {1, 2}, whole.running_var = {3, 4};
  const Forward expected = batch_norm_forward(whole);
  Parts parts{2, 2, {}, {}, {}, {1, 2}, {3, 4}, 1e-3, 0.25};
  for (const std::size_t first : {std::size_t{0}, std::size_t{2}}) {
    ForwardNorm part = whole;
    part.outer = first == 0 ? 2 : 3;
    const auto begin = whole.x.begin() + static_cast<std::ptrdiff_t>(first * 6);
    part.x = {begin, begin + static_cast<std::ptrdiff_t>(part.outer * 6)};
    const Forward stats = batch_norm_forward(part);
    for (std::size_t c = 0; c < 2; ++c) {
      parts.mean.push_back(at(stats.mean, c));
      parts.rstd.push_back(at(stats.rstd, c));
    }
    parts.counts.push_back(static_cast<double>(part.outer * 3));
  }
  const Whole got = gather_stats(parts);
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_NEAR(at(got.mean, c), at(expected.mean, c), 1e-14);
    EXPECT_NEAR(at(got.rstd, c), at(expected.rstd, c), 1e-13);
    EXPECT_NEAR(at(got.running_mean, c), at(expected.running_mean, c), 1e-14);
    EXPECT_NEAR(at(got.running_var, c), at(expected.running_var, c), 1e-13);
  }
  EXPECT_LT(got.eps_share, 1);
}

}  // namespace
}  // namespace reference
