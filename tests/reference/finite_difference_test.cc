// The reference's formulas against central differences of the forward functions, L = sum(dy*y). In
// quad with h = 1e-9 the difference quotient is good to 1e-17; statistics reach the reference as
// doubles, so agreement is asked to 1e-13*T.
#include <gtest/gtest.h>

#include <functional>

#include "reference/gradients.h"

namespace reference {
namespace {

using Vector = std::vector<Quad>;
using Loss = std::function<Quad(const Vector& x, const Vector& w, const Vector& b)>;

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

Vector widen(const std::vector<double>& in) { return Vector(in.begin(), in.end()); }

Quad slope(const std::function<Quad(Quad)>& f) {
  const Quad h = 1e-9;
  return (f(h) - f(-h)) / (2 * h);
}

void expect_close(const Expected& got, std::size_t i, Quad derivative, const char* what) {
  const double error = static_cast<double>(magnitude(got.value[i] - derivative));
  EXPECT_LE(error, 1e-13 * static_cast<double>(got.scale[i])) << what << "[" << i << "]";
}

void expect_gradients(const Gradients& got, const Loss& loss, const Vector& x, const Vector& w) {
  const Vector b(w.size(), 0);
  const auto moved = [](Vector v, std::size_t i, Quad h) {
    v[i] += h;
    return v;
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    expect_close(got.dx, i, slope([&](Quad h) { return loss(moved(x, i, h), w, b); }), "dx");
  }
  for (std::size_t i = 0; i < w.size(); ++i) {
    expect_close(got.dw, i, slope([&](Quad h) { return loss(x, moved(w, i, h), b); }), "dw");
    if (got.db.value.empty()) continue;
    expect_close(got.db, i, slope([&](Quad h) { return loss(x, w, moved(b, i, h)); }), "db");
  }
}

struct Moments {
  Quad mean = 0, var = 0, square = 0;
};

Moments moments(const Vector& x, const std::vector<std::size_t>& index) {
  Moments out;
  const Quad n = static_cast<double>(index.size());
  for (const std::size_t i : index) out.mean += x[i] / n, out.square += x[i] * x[i] / n;
  for (const std::size_t i : index) out.var += (x[i] - out.mean) * (x[i] - out.mean) / n;
  return out;
}

std::vector<std::size_t> row_index(std::size_t row, std::size_t columns) {
  std::vector<std::size_t> out;
  for (std::size_t d = 0; d < columns; ++d) out.push_back(row * columns + d);
  return out;
}

constexpr std::size_t kRows = 3, kColumns = 5;
constexpr double kEps = 1e-3;

RowNorm row_problem(double offset) {
  RowNorm in;
  in.rows = kRows, in.columns = kColumns;
  in.dy = random_values(kRows * kColumns, 0, 1);
  in.x = random_values(kRows * kColumns, offset, 2);
  in.w = random_values(kColumns, 1, 3);
  return in;
}

Loss layer_norm_loss(const RowNorm& in) {
  return [&in](const Vector& x, const Vector& w, const Vector& b) {
    Quad loss = 0;
    for (std::size_t r = 0; r < kRows; ++r) {
      const Moments m = moments(x, row_index(r, kColumns));
      for (std::size_t d = 0; d < kColumns; ++d) {
        const std::size_t i = r * kColumns + d;
        loss += in.dy[i] * (w[d] * (x[i] - m.mean) / square_root(m.var + kEps) + b[d]);
      }
    }
    return loss;
  };
}

TEST(FiniteDifferences, LayerNormFromInputMeanAndRstd) {
  RowNorm in = row_problem(3);
  for (std::size_t r = 0; r < kRows; ++r) {
    const Moments m = moments(widen(in.x), row_index(r, kColumns));
    in.mean.push_back(static_cast<double>(m.mean));
    in.rstd.push_back(static_cast<double>(1 / square_root(m.var + kEps)));
  }
  expect_gradients(layer_norm_backward(in), layer_norm_loss(in), widen(in.x), widen(in.w));
}

TEST(FiniteDifferences, LayerNormFromStandardizedInput) {
  RowNorm in = row_problem(3);
  in.x_hat.resize(in.x.size());
  for (std::size_t r = 0; r < kRows; ++r) {
    const Moments m = moments(widen(in.x), row_index(r, kColumns));
    const Quad sigma = square_root(m.var + kEps);
    in.sigma.push_back(static_cast<double>(sigma));
    for (const std::size_t i : row_index(r, kColumns)) {
      in.x_hat[i] = static_cast<double>((in.x[i] - m.mean) / sigma);
    }
  }
  expect_gradients(layer_norm_backward(in), layer_norm_loss(in), widen(in.x), widen(in.w));
}

TEST(FiniteDifferences, RmsNorm) {
  const RowNorm in = row_problem(0.5);
  const Loss loss = [&in](const Vector& x, const Vector& w, const Vector&) {
    Quad sum = 0;
    for (std::size_t i = 0; i < kRows * kColumns; ++i) {
      const Moments m = moments(x, row_index(i / kColumns, kColumns));
      sum += in.dy[i] * w[i % kColumns] * x[i] / square_root(m.square);
    }
    return sum;
  };
  const Gradients own = rms_norm_backward(in);
  expect_gradients(own, loss, widen(in.x), widen(in.w));

  RowNorm given = in;
  for (std::size_t r = 0; r < kRows; ++r) {
    const Moments m = moments(widen(in.x), row_index(r, kColumns));
    given.rstd.push_back(static_cast<double>(1 / square_root(m.square)));
  }
  expect_gradients(rms_norm_backward(given), loss, widen(in.x), widen(in.w));
}

ChannelNorm channel_problem() {
  ChannelNorm in;
  in.outer = 2, in.channels = 3, in.inner = 4;
  in.dy = random_values(24, 0, 4);
  in.x = random_values(24, 2, 5);
  in.w = random_values(3, 1, 6);
  return in;
}

std::vector<std::size_t> channel_index(std::size_t c) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < 24; ++i) {
    if (i / 4 % 3 == c) out.push_back(i);
  }
  return out;
}

// from_x: the statistics move with x, as in training.
Loss batch_norm_loss(const ChannelNorm& in, bool from_x) {
  return [&in, from_x](const Vector& x, const Vector& w, const Vector& b) {
    Quad loss = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      Moments m = moments(x, channel_index(c));
      if (!from_x) m.mean = in.mean[c], m.var = in.var[c];
      for (const std::size_t i : channel_index(c)) {
        loss += in.dy[i] * (w[c] * (x[i] - m.mean) / square_root(m.var + kEps) + b[c]);
      }
    }
    return loss;
  };
}

void set_statistics(ChannelNorm& in) {
  in.eps = kEps;
  for (std::size_t c = 0; c < 3; ++c) {
    const Moments m = moments(widen(in.x), channel_index(c));
    in.mean.push_back(static_cast<double>(m.mean));
    in.var.push_back(static_cast<double>(m.var));
  }
}

TEST(FiniteDifferences, BatchNormTraining) {
  ChannelNorm in = channel_problem();
  set_statistics(in);
  expect_gradients(batch_norm_backward(in), batch_norm_loss(in, true), widen(in.x), widen(in.w));
  ChannelNorm given = in;
  for (const double var : in.var) given.rstd.push_back(1 / std::sqrt(var + kEps));
  given.var.clear();
  expect_gradients(batch_norm_backward(given), batch_norm_loss(in, true), widen(in.x), widen(in.w));
}

TEST(FiniteDifferences, BatchNormInference) {
  ChannelNorm in = channel_problem();
  set_statistics(in);
  in.training = false;
  in.mean[1] += 0.25;  // constants need not match x
  in.var[2] *= 2;
  expect_gradients(batch_norm_backward(in), batch_norm_loss(in, false), widen(in.x), widen(in.w));
}

// numerics.md 2.6, the sample program of aclnnBatchNormBackward: (1, 2, 4), statistics that do not
// match x.
TEST(KnownAnswers, BatchNormSampleProgram) {
  ChannelNorm in;
  in.outer = 1, in.channels = 2, in.inner = 4;
  in.dy = in.x = {0, 1, 2, 3, 4, 5, 6, 7};
  in.w = {1, 1}, in.mean = {0, 0}, in.rstd = {1, 1};
  const Gradients out = batch_norm_backward(in);
  const double dx[] = {-1.5, -4, -6.5, -9, -127.5, -158, -188.5, -219};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(static_cast<double>(out.dx.value[i]), dx[i]);
  EXPECT_EQ(static_cast<double>(out.dw.value[0]), 14);
  EXPECT_EQ(static_cast<double>(out.dw.value[1]), 126);
  EXPECT_EQ(static_cast<double>(out.db.value[0]), 6);
  EXPECT_EQ(static_cast<double>(out.db.value[1]), 22);
}

}  // namespace
}  // namespace reference
