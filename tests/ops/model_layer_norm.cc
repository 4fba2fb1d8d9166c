// dx = ((dy*w - c1) - x_hat*c2)*(1/sigma); sums of dy*w and (dy*w)*x_hat along the row, of dy*x_hat
// and dy down the columns.
#include "ops/model.h"
#include "ops/tree.h"

namespace ops_test {
namespace {

template <class A>
struct LayerNorm {
  const Problem& p;
  RowExtents e = row_extents(p);
  bool standardized = p.has(kSigma);

  A dy(std::size_t i) const { return static_cast<A>(p.value[kDy][i]); }
  A a(std::size_t i) const {
    return p.has(kW) ? dy(i) * static_cast<A>(p.value[kW][i % e.columns]) : dy(i);
  }
  A s(std::size_t row) const {
    return static_cast<A>(standardized ? 1.0 / p.value[kSigma][row] : p.value[kRstd][row]);
  }
  A x_hat(std::size_t i) const {
    if (standardized) return static_cast<A>(p.value[kXHat][i]);
    const std::size_t row = i / e.columns;
    return minus_mean<A>(p.value[kX][i], p.value[kMean][row]) * s(row);
  }
};

}  // namespace

template <class A>
Outputs layer_norm_model(const Problem& p) {
  Outputs out;
  const LayerNorm<A> in{p};
  const std::size_t rows = in.e.rows, columns = in.e.columns;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t first = row * columns;
    const double sum_a = tree_sum<A>(1, columns, [&](auto, auto d) { return in.a(first + d); });
    const double sum_ax = tree_sum<A>(
        1, columns, [&](auto, auto d) { return in.a(first + d) * in.x_hat(first + d); });
    const auto c1 = static_cast<A>(sum_a / static_cast<double>(columns));
    const auto c2 = static_cast<A>(sum_ax / static_cast<double>(columns));
    const A s = in.s(row);
    for (std::size_t i = first; i < first + columns; ++i) {
      store(p, out, kDx, i, ((in.a(i) - c1) - in.x_hat(i) * c2) * s);
    }
  }
  const auto never = [](std::size_t) { return false; };
  const auto none = [](std::size_t) { return 0.0; };
  for (std::size_t d = 0; d < columns; ++d) {
    const auto dw_term = [&](std::size_t row) {
      return in.dy(row * columns + d) * in.x_hat(row * columns + d);
    };
    const auto db_term = [&](std::size_t row) { return in.dy(row * columns + d); };
    if (p.has(kDw)) store(p, out, kDw, d, column_sum<A>(rows, dw_term, never, none));
    if (p.has(kDb)) store(p, out, kDb, d, column_sum<A>(rows, db_term, never, none));
  }
  return out;
}

template Outputs layer_norm_model<float>(const Problem&);
template Outputs layer_norm_model<double>(const Problem&);

}  // namespace ops_test
