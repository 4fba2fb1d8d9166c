// Sums along rows. A chain has 8 steps of 32 lanes in the kernels' arithmetic; then its lanes are added to f64.
#include "kernels/target.h"

namespace normgrad::NORMGRAD_TARGET {

template <class A, class T, Terms kTerms, Centre kCentre>
void row_sums_of(const Rows& m, const float* w, const RowMap* map, double* totals) {
  for (std::int64_t r = 0; r < m.rows; ++r, totals += kTotals) {
    const Mean<A, kCentre> mean(map[r].mean);
    const T* g = row<T>(m.g, m.g_stride, r);
    const T* x = row<T>(m.x, m.x_stride, r);
    const float* weights = w;
    for (std::int64_t left = m.columns; left > 0; left -= kChain * kStep) {
      Vec<A> first[kVectors<A>] = {}, second[kVectors<A>] = {};
      const auto add = [&](auto unit, std::int64_t column, auto part) NORMGRAD_LAMBDA {
        const int vectors[2] = {first_vector<A, T>(unit), second_vector<A, T>(unit)};
        const std::int64_t at = column + unit * kUnit<A>;
        Vec<A> gs[2], xs[2];
        load_unit(g + at, part, gs[0], gs[1]);
        load_unit(x + at, part, xs[0], xs[1]);
        NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
          const int v = vectors[i];
          gs[i] = gs[i] * load<A>(weights + column + v * kWidth<A>);
          const Vec<A> x_mu = mean.off(xs[i]);
          if constexpr (kTerms == Terms::kWgxAndSquares) {
            first[v] = multiply_add(gs[i], x_mu, first[v]);
            second[v] = multiply_add(x_mu, x_mu, second[v]);
          } else {
            first[v] = first[v] + gs[i];
            second[v] = multiply_add(gs[i], x_mu, second[v]);
          }
        }
      };
      if (left >= kChain * kStep) {
        for_chain<A>(add);
      } else {
        for_row<A>(left, add);
      }
      fold_lanes(first, totals);
      fold_lanes(second, totals + 8);
      g += kChain * kStep;
      x += kChain * kStep;
      weights += kChain * kStep;
    }
  }
}

template <class A, class T>
void row_sums(Terms terms, const Rows& m, const float* w, const RowMap* map, double* totals) {
  switch (terms) {
    case Terms::kWg:
      return with_centre<A>(
          m, map, [&](auto centre) { row_sums_of<A, T, Terms::kWg, centre()>(m, w, map, totals); });
    case Terms::kWgxAndSquares:
      return row_sums_of<A, T, Terms::kWgxAndSquares, Centre::kNone>(m, w, map, totals);
  }
}

}  // namespace normgrad::NORMGRAD_TARGET
