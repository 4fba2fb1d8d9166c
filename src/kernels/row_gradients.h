// The map of rows, and their terms of dw and db in the same sweep.
#include "kernels/target.h"

namespace normgrad::NORMGRAD_TARGET {

// Two rows at a time, so that weights and chains are loaded once for both.
// kBegin, kEnd: of the chains, with these rows.
template <class A, class T, bool kScaled, bool kHasDb, Centre kCentre, int kRows, bool kBegin,
          bool kEnd>
NORMGRAD_INLINE void row_gradients_of(const Rows& m, const float* w, const RowMap* map,
                                      const ColumnChains& chains, std::int64_t first_row) {
  auto *dw = static_cast<A*>(chains.dw), *db = static_cast<A*>(chains.db);
  double *dw_sums = chains.dw_sums, *db_sums = chains.db_sums;
  const T *g[kRows], *x[kRows];
  T* out[kRows];
  NORMGRAD_UNROLL for (int r = 0; r < kRows; ++r) {
    g[r] = row<T>(m.g, m.g_stride, first_row + r);
    x[r] = row<T>(m.x, m.x_stride, first_row + r);
    out[r] = row<T>(m.out, m.out_stride, first_row + r);
  }
  struct Row {
    explicit Row(const RowMap& k)
        : mean(k.mean),
          a(all<A>(k.rounded.a)),
          b(all<A>(k.rounded.b)),
          c(all<A>(k.rounded.c)),
          r(all<A>(k.rounded.r)) {}
    Mean<A, kCentre> mean;
    Vec<A> a, b, c, r;
  };
  const Row rows[2] = {Row(map[first_row]), Row(map[first_row + kRows - 1])};
  const bool near = m.g_ahead == 0 && m.x_ahead == 0 && !m.past_cache;
  for_row<A>(m.columns, [&](auto unit, std::int64_t column, auto part) NORMGRAD_LAMBDA {
    const std::int64_t at = column + unit * kUnit<A>;
    Vec<A> gs[kRows][2], xs[kRows][2];
    NORMGRAD_UNROLL for (int r = 0; r < kRows; ++r) {
      load_unit(g[r] + at, part, gs[r][0], gs[r][1]);
      load_unit(x[r] + at, part, xs[r][0], xs[r][1]);
    }
    NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
      const int v = i == 0 ? first_vector<A, T>(unit) : second_vector<A, T>(unit);
      const std::int64_t lanes = column + v * kWidth<A>;
      const Vec<A> weight = load<A>(w + lanes);
      Vec<A> dw_chain = {}, db_chain = {};
      if constexpr (!kBegin) {
        dw_chain = load<A>(dw + lanes);
        if constexpr (kHasDb) db_chain = load<A>(db + lanes);
      }
      NORMGRAD_UNROLL for (int r = 0; r < kRows; ++r) {
        const Vec<A> dy = gs[r][i], x_mu = rows[r].mean.off(xs[r][i]);
        gs[r][i] = multiply_add(x_mu, rows[r].b, multiply_add(dy * weight, rows[r].a, rows[r].c));
        dw_chain = multiply_add(kScaled ? dy * rows[r].r : dy, x_mu, dw_chain);
        if constexpr (kHasDb) db_chain = db_chain + dy;
      }
      if constexpr (kEnd) {
        add_widened(dw_chain, dw_sums + lanes);
        if constexpr (kHasDb) add_widened(db_chain, db_sums + lanes);
      } else {
        store<A>(dw_chain, dw + lanes);
        if constexpr (kHasDb) store<A>(db_chain, db + lanes);
      }
    }
    if (near) {
      NORMGRAD_UNROLL for (int r = 0; r < kRows; ++r) {
        store_unit(gs[r][0], gs[r][1], out[r] + at, part);
      }
      return;
    }
    NORMGRAD_UNROLL for (int r = 0; r < kRows; ++r) {
      fetch<A>(g[r], at, m.g_ahead);
      fetch<A>(x[r], at, m.x_ahead);
      store_far(gs[r][0], gs[r][1], out[r] + at, part, m.past_cache);
    }
  });
}

template <class A>
void end_chain(const void* chain, double* sums, std::int64_t columns) {
  const auto* from = static_cast<const A*>(chain);
  for (std::int64_t c = 0; c < columns; c += kStep) {
    NORMGRAD_UNROLL for (int i = 0; i < kStep; i += kWidth<A>) {
      add_widened(load<A>(from + c + i), sums + c + i);
    }
  }
}
template <class A>
void begin_chain(void* chain, std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; c += kWidth<A>)
    store<A>(Vec<A>{}, static_cast<A*>(chain) + c);
}

template <class A, class T, bool kScaled, bool kHasDb, Centre kCentre>
void all_row_gradients(const Rows& m, const float* w, const RowMap* map,
                       const ColumnChains& chains) {
  const std::int64_t columns = kernels::padded(m.columns);
  std::int64_t r = 0;
  bool end = chains.end;
  if (chains.begin && m.rows >= 2) {
    row_gradients_of<A, T, kScaled, kHasDb, kCentre, 2, true, false>(m, w, map, chains, 0);
    r = 2;
  } else if (chains.begin) {
    begin_chain<A>(chains.dw, columns);
    if constexpr (kHasDb) begin_chain<A>(chains.db, columns);
  }
  for (; r + 2 <= m.rows; r += 2) {
    if (end && r + 2 == m.rows) {
      row_gradients_of<A, T, kScaled, kHasDb, kCentre, 2, false, true>(m, w, map, chains, r);
      end = false;
    } else {
      row_gradients_of<A, T, kScaled, kHasDb, kCentre, 2, false, false>(m, w, map, chains, r);
    }
  }
  if (r < m.rows) {
    row_gradients_of<A, T, kScaled, kHasDb, kCentre, 1, false, false>(m, w, map, chains, r);
  }
  if (!end) return;
  end_chain<A>(chains.dw, chains.dw_sums, columns);
  if constexpr (kHasDb) end_chain<A>(chains.db, chains.db_sums, columns);
}

template <class A, class T>
void row_gradients(const Rows& m, const float* w, const RowMap* map, const ColumnChains& chains) {
  bool scaled = false;
  for (std::int64_t r = 0; r < m.rows; ++r) scaled |= !(map[r].r == 1 && map[r].mean == 0);
  if (chains.db == nullptr) {
    return all_row_gradients<A, T, true, false, Centre::kNone>(m, w, map, chains);
  }
  if (!scaled) return all_row_gradients<A, T, false, true, Centre::kNone>(m, w, map, chains);
  with_centre<A>(m, map, [&](auto centre) {
    all_row_gradients<A, T, true, true, centre()>(m, w, map, chains);
  });
}

}  // namespace normgrad::NORMGRAD_TARGET
