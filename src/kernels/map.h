// The affine map, with coefficients per row or per column.
#include "kernels/target.h"

namespace normgrad::NORMGRAD_TARGET {

template <class A, class T, Centre kCentre>
void map_rows_of(const Rows& m, const float* w, const RowMap* map) {
  for (std::int64_t r = 0; r < m.rows; ++r) {
    const T* g = row<T>(m.g, m.g_stride, r);
    const T* x = row<T>(m.x, m.x_stride, r);
    T* out = row<T>(m.out, m.out_stride, r);
    const Mean<A, kCentre> mean(map[r].mean);
    const RowMap::Rounded& k = map[r].rounded;
    const Vec<A> a = all<A>(k.a), b = all<A>(k.b), c = all<A>(k.c);
    for_row<A>(m.columns, [&](auto unit, std::int64_t column, auto part) NORMGRAD_LAMBDA {
      const std::int64_t at = column + unit * kUnit<A>;
      Vec<A> gs[2], xs[2];
      load_unit(g + at, part, gs[0], gs[1]);
      load_unit(x + at, part, xs[0], xs[1]);
      fetch<A>(g, at, m.g_ahead);
      fetch<A>(x, at, m.x_ahead);
      NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
        const int v = i == 0 ? first_vector<A, T>(unit) : second_vector<A, T>(unit);
        gs[i] = gs[i] * load<A>(w + column + v * kWidth<A>);
        gs[i] = multiply_add(mean.off(xs[i]), b, multiply_add(gs[i], a, c));
      }
      store_unit(gs[0], gs[1], out + at, part);
    });
  }
}

template <class A, class T>
void map_rows(const Rows& m, const float* w, const RowMap* map) {
  with_centre<A>(m, map, [&](auto centre) { map_rows_of<A, T, centre()>(m, w, map); });
}

template <class A, class T, Form kForm, bool kHasRest, bool kNear, int kRows>
NORMGRAD_INLINE void map_columns_of(const Rows& m, const ChannelMaps& map, std::int64_t first_row) {
  const T *g[kRows], *x[kRows];
  T* out[kRows];
  NORMGRAD_UNROLL for (int r = 0; r < kRows; ++r) {
    g[r] = row<T>(m.g, m.g_stride, first_row + r);
    x[r] = row<T>(m.x, m.x_stride, first_row + r);
    out[r] = row<T>(m.out, m.out_stride, first_row + r);
  }
  const A *mean = map_row<A>(map, kMean), *rest = map_row<A>(map, kRest);
  const A *as = map_row<A>(map, kA), *bs = map_row<A>(map, kB), *cs = map_row<A>(map, kC);
  for_row<A>(m.columns, [&](auto unit, std::int64_t column, auto part) NORMGRAD_LAMBDA {
    const std::int64_t at = column + unit * kUnit<A>;
    Vec<A> gs[kRows][2], xs[kRows][2];
    NORMGRAD_UNROLL for (int r = 0; r < kRows; ++r) {
      if constexpr (kForm != Form::kX) load_unit(g[r] + at, part, gs[r][0], gs[r][1]);
      if constexpr (kForm != Form::kG) load_unit(x[r] + at, part, xs[r][0], xs[r][1]);
    }
    NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
      const int v = i == 0 ? first_vector<A, T>(unit) : second_vector<A, T>(unit);
      const std::int64_t lanes = column + v * kWidth<A>;
      NORMGRAD_UNROLL for (int r = 0; r < kRows; ++r) {
        if constexpr (kForm == Form::kG) {
          gs[r][i] = gs[r][i] * load<A>(as + lanes);
        } else if constexpr (kForm == Form::kX) {
          gs[r][i] = multiply_add(load<A>(mean + lanes) - xs[r][i], load<A>(bs + lanes),
                                  load<A>(cs + lanes));
        } else {
          Vec<A> x_mu = xs[r][i] - load<A>(mean + lanes);
          if constexpr (kHasRest) x_mu = x_mu - load<A>(rest + lanes);
          gs[r][i] = multiply_add(x_mu, load<A>(bs + lanes),
                                  multiply_add(gs[r][i], load<A>(as + lanes), load<A>(cs + lanes)));
        }
      }
    }
    NORMGRAD_UNROLL for (int r = 0; r < kRows; ++r) {
      if constexpr (kNear) {
        store_unit(gs[r][0], gs[r][1], out[r] + at, part);
      } else {
        fetch<A>(g[r], at, m.g_ahead);
        fetch<A>(x[r], at, m.x_ahead);
        store_far(gs[r][0], gs[r][1], out[r] + at, part, m.past_cache);
      }
    }
  });
}

// A row at a time: two would save loads of coefficients, but writing two rows at once takes longer beyond L2.
template <class A, class T, Form kForm, bool kHasRest>
void map_all_columns(const Rows& m, const ChannelMaps& map) {
  const bool near = is_near(m);
  for (std::int64_t r = 0; r < m.rows; ++r) {
    near ? map_columns_of<A, T, kForm, kHasRest, true, 1>(m, map, r)
         : map_columns_of<A, T, kForm, kHasRest, false, 1>(m, map, r);
  }
}

template <class A, class T>
void map_columns(Form form, const Rows& m, const ChannelMaps& map) {
  if (form == Form::kG) return map_all_columns<A, T, Form::kG, false>(m, map);
  if (form == Form::kX) return map_all_columns<A, T, Form::kX, false>(m, map);
  if (!map.have_rest) return map_all_columns<A, T, Form::kGX, false>(m, map);
  map_all_columns<A, T, Form::kGX, true>(m, map);
}

}  // namespace normgrad::NORMGRAD_TARGET
