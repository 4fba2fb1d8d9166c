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
  const T* g = row<T>(m.g, m.g_stride, first_row);
  const T* x = row<T>(m.x, m.x_stride, first_row);
  T* out = row<T>(m.out, m.out_stride, first_row);
  const A *means = map_row<A>(map, kMean), *rests = map_row<A>(map, kRest);
  const A *as = map_row<A>(map, kA), *bs = map_row<A>(map, kB), *cs = map_row<A>(map, kC);
  for_row<A>(m.columns, [&](auto unit, std::int64_t column, auto part) NORMGRAD_LAMBDA {
    const std::int64_t at = column + unit * kUnit<A>;
    Vec<A> mean[2], rest[2], a[2], b[2], c[2];
    NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
      const int v = i == 0 ? first_vector<A, T>(unit) : second_vector<A, T>(unit);
      const std::int64_t lanes = column + v * kWidth<A>;
      mean[i] = load<A>(means + lanes), rest[i] = load<A>(rests + lanes);
      a[i] = load<A>(as + lanes), b[i] = load<A>(bs + lanes), c[i] = load<A>(cs + lanes);
    }
    NORMGRAD_UNROLL for (int r = 0; r < kRows; ++r) {
      const T *g_at = row<T>(g, m.g_stride, r) + at, *x_at = row<T>(x, m.x_stride, r) + at;
      T* out_at = row<T>(out, m.out_stride, r) + at;
      Vec<A> gs[2], xs[2];
      if constexpr (kForm != Form::kX) load_unit(g_at, part, gs[0], gs[1]);
      if constexpr (kForm != Form::kG) load_unit(x_at, part, xs[0], xs[1]);
      NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
        if constexpr (kForm == Form::kG) {
          gs[i] = gs[i] * a[i];
        } else if constexpr (kForm == Form::kX) {
          gs[i] = multiply_add(mean[i] - xs[i], b[i], c[i]);
        } else {
          gs[i] = multiply_add(off_mean<A, kHasRest>(xs[i], mean[i], rest[i]), b[i],
                               multiply_add(gs[i], a[i], c[i]));
        }
      }
      if constexpr (kNear) {
        store_unit(gs[0], gs[1], out_at, part);
      } else {
        fetch<A>(g_at - at, at, m.g_ahead);
        fetch<A>(x_at - at, at, m.x_ahead);
        store_far(gs[0], gs[1], out_at, part, m.past_cache);
      }
    }
  });
}

// Four rows at a time save loads of coefficients. Of long rows that takes longer beyond L2; with dy there are not registers enough.
template <class A, class T, Form kForm, bool kHasRest, bool kNear>
NORMGRAD_INLINE void map_all_columns_of(const Rows& m, const ChannelMaps& map) {
  std::int64_t r = 0;
  if constexpr (sizeof(T) == 2 && kForm == Form::kX) {
    for (; m.columns <= kernels::kShortColumns && r + 4 <= m.rows; r += 4) {
      map_columns_of<A, T, kForm, kHasRest, kNear, 4>(m, map, r);
    }
  }
  for (; r < m.rows; ++r) map_columns_of<A, T, kForm, kHasRest, kNear, 1>(m, map, r);
}
template <class A, class T, Form kForm, bool kHasRest>
void map_all_columns(const Rows& m, const ChannelMaps& map) {
  is_near(m) ? map_all_columns_of<A, T, kForm, kHasRest, true>(m, map)
             : map_all_columns_of<A, T, kForm, kHasRest, false>(m, map);
}

template <class A, class T>
void map_columns(Form form, const Rows& m, const ChannelMaps& map) {
  if (form == Form::kG) return map_all_columns<A, T, Form::kG, false>(m, map);
  if (form == Form::kX) return map_all_columns<A, T, Form::kX, false>(m, map);
  if (!map.have_rest) return map_all_columns<A, T, Form::kGX, false>(m, map);
  map_all_columns<A, T, Form::kGX, true>(m, map);
}

}  // namespace normgrad::NORMGRAD_TARGET
