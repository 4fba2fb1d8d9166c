// Channels by planes: a row is some of one channel's elements, with the numbers of that channel. Rows may be short, so what
// is constant along them has been rounded before (prepare_planes).
#include "kernels/channel_maps.h"

namespace normgrad::NORMGRAD_TARGET {

// A chain has 8 steps of 32 lanes; then its lanes are added to f64.
template <class A, class T, bool kHasRest>
NORMGRAD_INLINE void plane_sums_of(const Rows& m, const T* g, const T* x, Vec<A> mean, Vec<A> rest,
                                   double* totals) {
  const bool far = m.g_ahead != 0 || m.x_ahead != 0;
  for (std::int64_t left = m.columns; left > 0; left -= kChain * kStep) {
    Vec<A> first[kVectors<A>] = {}, second[kVectors<A>] = {};
    const auto add = [&](auto unit, std::int64_t column, auto part) NORMGRAD_LAMBDA {
      const int vectors[2] = {first_vector<A, T>(unit), second_vector<A, T>(unit)};
      const std::int64_t at = column + unit * kUnit<A>;
      Vec<A> gs[2], xs[2];
      load_unit(g + at, part, gs[0], gs[1]);
      load_unit(x + at, part, xs[0], xs[1]);
      if (far) {
        fetch<A>(g, at, m.g_ahead);
        fetch<A>(x, at, m.x_ahead);
      }
      NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
        const int v = vectors[i];
        first[v] = first[v] + gs[i];
        second[v] = multiply_add(gs[i], off_mean<A, kHasRest>(xs[i], mean, rest), second[v]);
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
  }
}
template <class A, class T>
void plane_sums(const Rows& m, const ChannelMaps& maps, double* totals) {
  const A *mean = map_row<A>(maps, kMean), *rest = map_row<A>(maps, kRest);
  const T *g = row<T>(m.g, 0, 0), *x = row<T>(m.x, 0, 0);
  for (std::int64_t r = 0; r < m.rows; ++r, totals += kTotals) {
    if (rest[r] == 0) {
      plane_sums_of<A, T, false>(m, g, x, all<A>(mean[r]), Vec<A>{}, totals);
    } else {
      plane_sums_of<A, T, true>(m, g, x, all<A>(mean[r]), all<A>(rest[r]), totals);
    }
    g = row<T>(g, m.g_stride, 1);
    x = row<T>(x, m.x_stride, 1);
  }
}

template <class A, class T, Form kForm, bool kHasRest, bool kNear>
NORMGRAD_INLINE void map_plane(const Rows& m, const ChannelMaps& maps, std::int64_t r) {
  const T *g = row<T>(m.g, m.g_stride, r), *x = row<T>(m.x, m.x_stride, r);
  T* out = row<T>(m.out, m.out_stride, r);
  const auto number = [&](MapRow which)
                          NORMGRAD_LAMBDA { return all<A>(map_row<A>(maps, which)[r]); };
  const Vec<A> mean = number(kMean), rest = number(kRest), a = number(kA), b = number(kB),
               c = number(kC);
  for_row<A>(m.columns, [&](auto unit, std::int64_t column, auto part) NORMGRAD_LAMBDA {
    const std::int64_t at = column + unit * kUnit<A>;
    Vec<A> gs[2], xs[2];
    if constexpr (kForm != Form::kX) load_unit(g + at, part, gs[0], gs[1]);
    if constexpr (kForm != Form::kG) load_unit(x + at, part, xs[0], xs[1]);
    NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
      if constexpr (kForm == Form::kG) {
        gs[i] = gs[i] * a;
      } else if constexpr (kForm == Form::kX) {
        gs[i] = multiply_add(mean - xs[i], b, c);
      } else {
        gs[i] =
            multiply_add(off_mean<A, kHasRest>(xs[i], mean, rest), b, multiply_add(gs[i], a, c));
      }
    }
    if constexpr (kNear) return store_unit(gs[0], gs[1], out + at, part);
    fetch<A>(g, at, m.g_ahead);
    fetch<A>(x, at, m.x_ahead);
    store_far(gs[0], gs[1], out + at, part, m.past_cache);
  });
}
template <class A, class T, bool kNear>
void map_all_planes(Form form, const Rows& m, const ChannelMaps& maps) {
  for (std::int64_t r = 0; r < m.rows; ++r) {
    if (form == Form::kG) {
      map_plane<A, T, Form::kG, false, kNear>(m, maps, r);
    } else if (form == Form::kX) {
      map_plane<A, T, Form::kX, false, kNear>(m, maps, r);
    } else if (map_row<A>(maps, kRest)[r] == 0) {
      map_plane<A, T, Form::kGX, false, kNear>(m, maps, r);
    } else {
      map_plane<A, T, Form::kGX, true, kNear>(m, maps, r);
    }
  }
}
template <class A, class T>
void map_planes(Form form, const Rows& m, const ChannelMaps& maps) {
  is_near(m) ? map_all_planes<A, T, true>(form, m, maps)
             : map_all_planes<A, T, false>(form, m, maps);
}

}  // namespace normgrad::NORMGRAD_TARGET
