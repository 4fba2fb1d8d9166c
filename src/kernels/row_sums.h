// Sums along rows.
#include "kernels/row_totals.h"

namespace normgrad::NORMGRAD_TARGET {

using kernels::GroupSums;

template <class A, class T, Terms kTerms, Centre kCentre>
void row_sums_of(const Rows& m, const float* w, const RowMap* map, GroupSums& sums) {
  GroupTotals totals;
  with_length(m.columns, [&](auto is_short) NORMGRAD_LAMBDA {
    const std::int64_t rows = m.rows, columns = m.columns;
    const std::int64_t g_stride = m.g_stride, x_stride = m.x_stride;
    const T *g = static_cast<const T*>(m.g), *x = static_cast<const T*>(m.x);
    for (std::int64_t r = 0; r < rows;
         ++r, g = row<T>(g, g_stride, 1), x = row<T>(x, x_stride, 1)) {
      const Mean<A, kCentre> mean(map[r].mean);
      const auto add = [&](auto unit, std::int64_t column, auto part, auto& first,
                           auto& second) NORMGRAD_LAMBDA {
        const int vectors[2] = {first_vector<A, T>(unit), second_vector<A, T>(unit)};
        const std::int64_t at = column + unit * kUnit<A>;
        Vec<A> gs[2], xs[2];
        load_unit(g + at, part, gs[0], gs[1]);
        load_unit(x + at, part, xs[0], xs[1]);
        NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
          const int v = vectors[i];
          gs[i] = gs[i] * load<A>(w + column + v * kWidth<A>);
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
      sum_row<A, true, true, is_short()>(columns, totals.of[r], add);
    }
  });
  totals.fold(m.rows, 0, sums.first);
  totals.fold(m.rows, 1, sums.second);
}

template <class A, class T>
void row_sums(Terms terms, const Rows& m, const float* w, const RowMap* map, GroupSums& sums) {
  switch (terms) {
    case Terms::kWg:
      return with_centre<A>(
          m, map, [&](auto centre) { row_sums_of<A, T, Terms::kWg, centre()>(m, w, map, sums); });
    case Terms::kWgxAndSquares:
      return row_sums_of<A, T, Terms::kWgxAndSquares, Centre::kNone>(m, w, map, sums);
  }
}

}  // namespace normgrad::NORMGRAD_TARGET
