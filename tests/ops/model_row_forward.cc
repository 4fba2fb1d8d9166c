// LayerNorm and RMSNorm. Blocks of 4096 columns, each with the sums of x - pivot and its square around a pivot near its mean;
// the row has them around the pivot of its first block. RMSNorm's pivot is 0, and it has neither mean nor b.
//   d = sum/n    mean = pivot + d    r = 1/sqrt(squares/n - d^2 + eps)    y = (x - mean)*r*w + b
#include "ops/model.h"
#include "ops/tree.h"

namespace ops_test {
namespace {

constexpr std::size_t kBlockColumns = 4096;

struct Moments {
  double pivot, sum, squares;
};

struct Row {
  const Problem& p;
  std::size_t first, columns;  // its elements
  bool centres = p.op == Op::kLayerNormForward;
  Arithmetic in = Arithmetic::kFast;
  double mean = 0, rest = 0, rstd = 0;

  double x(std::size_t d) const { return p.value[kX][first + d]; }
  // a - b of numbers of the arithmetic.
  double difference(double a, double b) const {
    return in == Arithmetic::kExact ? a - b : static_cast<float>(a) - static_cast<float>(b);
  }
  template <class TermAt>
  double sum(Range columns_of, const TermAt& term) const {
    Totals totals(in, p.data_format());
    totals.add_piece(columns_of.end - columns_of.begin,
                     [&](std::size_t d) { return term(x(columns_of.begin + d)); });
    return totals.sum();
  }

  // Of the first `count` columns of a block, or, in exact arithmetic, of all.
  double pivot_of(Range block, std::size_t count) const {
    const Range some{block.begin, block.begin + count};
    const double all = sum(some, [](double v) { return Term{v}; }), n = static_cast<double>(count);
    return in == Arithmetic::kExact ? all / n : static_cast<float>(all * (1 / n));
  }
  Moments around(double pivot, Range block) const {
    Moments m{pivot, 0, 0};
    m.sum = sum(block, [&](double v) { return Term{difference(v, pivot)}; });
    m.squares = sum(block, [&](double v) {
      return Term{difference(v, pivot), difference(v, pivot)};
    });
    return m;
  }
  Moments moments(Range block) const {
    const std::size_t n = block.end - block.begin;
    if (!centres) return {0, 0, around(0, block).squares};
    if (in == Arithmetic::kExact) {
      Moments m = around(pivot_of(block, n), block);
      if (!std::isfinite(m.pivot)) m.sum = 0;
      return m;
    }
    const std::size_t sample = std::min<std::size_t>(n, n <= 1024 ? 64 : n <= 2048 ? 128 : 256);
    const Moments m = around(pivot_of(block, sample), block);
    const double limit = 8.0 / static_cast<double>(sample);  // of d^2, in squares/n
    const bool far = m.sum * m.sum > limit * m.squares * static_cast<double>(n);
    return far && sample < n ? around(pivot_of(block, n), block) : m;
  }

  void compute(Arithmetic arithmetic) {
    in = arithmetic;
    std::vector<double> sums, squares;
    double pivot = 0;
    for (const Range block : parts_of(columns, kBlockColumns)) {
      const Moments m = moments(block);
      if (block.begin == 0) pivot = std::isfinite(m.pivot) ? m.pivot : 0;
      const double e = m.pivot - pivot, n = static_cast<double>(block.end - block.begin);
      sums.push_back(m.sum + n * e);
      squares.push_back(m.squares + e * (2 * m.sum + n * e));
    }
    const double share = 1 / static_cast<double>(columns);
    const double d = centres ? fold(sums) * share : 0, var = fold(squares) * share - d * d;
    mean = pivot + d;
    rest = (pivot - mean) + d;
    rstd = 1.0 / std::sqrt((var < 0 ? 0 : var) + p.eps);
    const bool fits = rstd >= 0x1p-60 && rstd <= 0x1p50;
    if (in == Arithmetic::kFast && !fits) compute(Arithmetic::kExact);
  }

  double y(std::size_t column) const {
    const double w = p.has(kW) ? p.value[kW][column] : 1, b = p.has(kB) ? p.value[kB][column] : 0;
    if (!centres) return product(in, product(in, x(column), rstd), w);
    if (in == Arithmetic::kExact) return ((x(column) - mean) - rest) * rstd * w + b;
    const double high = static_cast<float>(mean), low = (mean - high) + rest;
    return multiply_add(in, multiply_add(in, difference(x(column), high), rstd, -low * rstd), w, b);
  }
};

}  // namespace

Outputs row_forward_model(const Problem& p, Arithmetic arithmetic) {
  Outputs out;
  const RowExtents e = row_extents(p);
  for (std::size_t row = 0; row < e.rows; ++row) {
    if (e.columns == 0) {
      store(p, out, kMeanOut, row, 0);
      store(p, out, kRstdOut, row, std::nan(""));
      store(p, out, kSigmaOut, row, std::nan(""));
      continue;
    }
    Row r{p, row * e.columns, e.columns};
    r.compute(arithmetic);
    store(p, out, kMeanOut, row, r.mean);
    store(p, out, kRstdOut, row, r.rstd);
    store(p, out, kSigmaOut, row, 1 / r.rstd);
    for (std::size_t d = 0; d < e.columns; ++d) store(p, out, kY, r.first + d, r.y(d));
  }
  return out;
}

}  // namespace ops_test
