// What sync_batch_norm_mpi.cpp computes and checks: a batch, the formulas with more digits than any
// result has, and how far from them a result lies.
#ifndef EXAMPLES_EXACT_BATCH_NORM_H
#define EXAMPLES_EXACT_BATCH_NORM_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

inline constexpr std::int64_t kChannels = 5, kLength = 60, kRow = kChannels * kLength;
inline constexpr double kEps = 1e-5;

// What goes in, and what comes out.
struct Batch {
  explicit Batch(std::size_t row_count)
      : rows(static_cast<std::int64_t>(row_count)), x(row_count * kRow), dy(x), y(x), dx(x) {}

  std::int64_t rows;
  Floats x, dy;
  Floats w = Floats(kChannels), b = Floats(kChannels);
  Floats y, dx;
  Doubles mean = Doubles(kChannels), rstd = Doubles(kChannels);
  Doubles dw = Doubles(kChannels), db = Doubles(kChannels);
};

// T: what a result's error is measured by.
struct Exact {
  explicit Exact(std::size_t size) : value(size), T(size) {}
  std::vector<long double> value, T;
};
struct ExactBatch {
  Exact y, dx, dw, db;
};

inline ExactBatch formulas(const Batch& in) {
  ExactBatch out{Exact(in.x.size()), Exact(in.x.size()), Exact(kChannels), Exact(kChannels)};
  if (in.rows == 0) return out;  // empty sums
  const long double n = static_cast<long double>(in.rows * kLength);
  for (std::size_t c = 0; c < kChannels; ++c) {
    const auto each = [&](auto body) {
      for (std::size_t i = 0; i < in.x.size(); ++i) {
        if (i / kLength % kChannels == c) body(i);
      }
    };
    long double mean = 0, squares = 0, size = 0, q = 0, q_T = 0;
    each([&](std::size_t i) { mean += in.x[i] / n; });
    each([&](std::size_t i) { squares += (in.x[i] - mean) * (in.x[i] - mean); });
    each([&](std::size_t i) { size += std::fabs(in.x[i] - mean) / n; });
    const long double rstd = 1 / std::sqrt(squares / n + kEps), scale = rstd * in.w[c];
    long double &db = out.db.value[c], &db_T = out.db.T[c];
    each([&](std::size_t i) {
      const long double x_mu = in.x[i] - mean;
      out.y.value[i] = x_mu * scale + in.b[c];
      out.y.T[i] = (std::fabs(x_mu) + size) * std::fabs(scale) + std::fabs(in.b[c]);
      db += in.dy[i], db_T += std::fabs(in.dy[i]);
      q += in.dy[i] * x_mu, q_T += std::fabs(in.dy[i] * x_mu);
    });
    out.dw.value[c] = rstd * q, out.dw.T[c] = rstd * q_T;
    each([&](std::size_t i) {
      const long double x_mu = in.x[i] - mean, r2 = rstd * rstd / n;
      out.dx.value[i] = scale * (in.dy[i] - db / n - x_mu * r2 * q);
      out.dx.T[i] =
          std::fabs(scale) * (std::fabs(in.dy[i]) + db_T / n + std::fabs(x_mu) * r2 * q_T);
    });
  }
  return out;
}

// The largest error, in units of what is allowed: half an ulp of the result, and c*T.
template <typename T>
double error(const std::vector<T>& got, const Exact& exact, std::size_t first, double c) {
  constexpr int kDigits = sizeof(T) == 4 ? 24 : 53, kLeast = sizeof(T) == 4 ? -126 : -1022;
  long double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const long double r = exact.value[first + i];
    const int exponent = r == 0 ? kLeast : std::max(std::ilogb(r), kLeast);
    const long double allowed = std::ldexp(1.0L, exponent - kDigits) + c * exact.T[first + i];
    const long double used = std::fabs(got[i] - r) / allowed;
    worst = used <= worst ? worst : used;  // a NaN is the worst
    if (std::isnan(used)) return HUGE_VAL;
  }
  return static_cast<double>(worst);
}

inline double error(const Batch& got, const ExactBatch& exact, std::size_t first, double c) {
  return std::max(error(got.y, exact.y, first, c), error(got.dx, exact.dx, first, c));
}

// FNV-1a of all that a rank has computed.
template <typename T>
void add_to(std::uint64_t& hash, const std::vector<T>& values) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (std::size_t i = 0; i < values.size() * sizeof(T); ++i) {
    hash = (hash ^ bytes[i]) * 0x100000001b3u;
  }
}

inline Batch some_batch(std::size_t rows) {
  Batch out(rows);
  std::uint32_t state = 1;
  const auto fill = [&](Floats& values, float scale, float offset) {
    for (float& value : values) {
      state = state * 1664525 + 1013904223;
      value = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31f * scale + offset;
    }
  };
  fill(out.x, 2, 7), fill(out.dy, 1, 0), fill(out.w, 1, 1.5f), fill(out.b, 1, 0);
  return out;
}

#endif
