// One sweep for sum(x^2) and sum((dy*w)*x); c = r*sum/D; dx = r*(dy*w - x*(r*c)); column terms
// (dy*x)*r. 16-bit data whose sum(x^2) leaves [2^-100, 2^120] takes its aligned group of 8 rows
// through f64.
#include "ops/model.h"
#include "ops/tree.h"

namespace ops_test {
namespace {

template <class A>
struct RmsNorm {
  const Problem& p;
  RowExtents e = row_extents(p);

  A dy(std::size_t i) const { return static_cast<A>(p.value[kDy][i]); }
  A x(std::size_t i) const { return static_cast<A>(p.value[kX][i]); }
  A a(std::size_t i) const {
    return p.has(kW) ? dy(i) * static_cast<A>(p.value[kW][i % e.columns]) : dy(i);
  }
  double sum_of_squares(std::size_t row) const {
    return tree_sum<A>(1, e.columns, [&](auto, auto d) {
      const A value = x(row * e.columns + d);
      return value * value;
    });
  }
  double r(std::size_t row) const {
    if (p.has(kRstd)) return p.value[kRstd][row];
    return 1.0 / std::sqrt(sum_of_squares(row) / static_cast<double>(e.columns));
  }
  A column_term(std::size_t row, std::size_t d, double r_of_row) const {
    const std::size_t i = row * e.columns + d;
    return (dy(i) * x(i)) * static_cast<A>(r_of_row);
  }
};

template <class A>
void store_dx(const RmsNorm<A>& in, std::size_t row, Outputs& out) {
  const std::size_t columns = in.e.columns, first = row * columns;
  const double sum_ax =
      tree_sum<A>(1, columns, [&](auto, auto d) { return in.a(first + d) * in.x(first + d); });
  const double r = in.r(row), c = r * sum_ax / static_cast<double>(columns);
  const auto factor = static_cast<A>(r), slope = static_cast<A>(r * c);
  for (std::size_t i = first; i < first + columns; ++i) {
    store(in.p, out, kDx, i, factor * (in.a(i) - in.x(i) * slope));
  }
}

std::vector<bool> wide_groups(const RmsNorm<float>& in) {
  std::vector<bool> out((in.e.rows + kChain - 1) / kChain, false);
  if (in.p.has(kRstd)) return out;
  for (std::size_t row = 0; row < in.e.rows; ++row) {
    const double sum = in.sum_of_squares(row);
    if (!(sum >= 0x1p-100 && sum <= 0x1p120)) out[row / kChain] = true;
  }
  return out;
}

std::vector<bool> wide_groups(const RmsNorm<double>& in) {
  return std::vector<bool>((in.e.rows + kChain - 1) / kChain, true);
}

}  // namespace

template <class A>
Outputs rms_norm_model(const Problem& p) {
  Outputs out;
  const RmsNorm<A> in{p};
  const RmsNorm<double> in_f64{p};
  const std::vector<bool> wide = wide_groups(in);
  std::vector<double> r(in.e.rows);
  for (std::size_t row = 0; row < in.e.rows && in.e.columns > 0; ++row) {
    const bool f64 = wide[row / kChain];
    r[row] = f64 ? in_f64.r(row) : in.r(row);
    f64 ? store_dx(in_f64, row, out) : store_dx(in, row, out);
  }
  for (std::size_t d = 0; d < in.e.columns && p.has(kDw); ++d) {
    const double sum = column_sum<A>(
        in.e.rows, [&](std::size_t row) { return in.column_term(row, d, r[row]); },
        [&](std::size_t group) { return wide[group]; },
        [&](std::size_t row) { return in_f64.column_term(row, d, r[row]); });
    store(p, out, kDw, d, sum);
  }
  return out;
}

template Outputs rms_norm_model<float>(const Problem&);
template Outputs rms_norm_model<double>(const Problem&);

}  // namespace ops_test
