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

// The numbers of a channel.
template <class A>
struct PlaneMap {
  Vec<A> mean, rest, a, b, c;
};
template <class A, Form kForm, bool kHasRest>
NORMGRAD_INLINE Vec<A> mapped(const PlaneMap<A>& k, Vec<A> g, Vec<A> x) {
  if constexpr (kForm == Form::kG) return g * k.a;
  if constexpr (kForm == Form::kX) return multiply_add(k.mean - x, k.b, k.c);
  return multiply_add(off_mean<A, kHasRest>(x, k.mean, k.rest), k.b, multiply_add(g, k.a, k.c));
}
template <class A, class T, Form kForm, bool kHasRest, bool kNear>
NORMGRAD_INLINE void map_plane(const Rows& m, const PlaneMap<A>& k, const T* g, const T* x,
                               T* out) {
  const auto map = [&](std::int64_t at, auto part, Vec<A>(&to)[2]) NORMGRAD_LAMBDA {
    Vec<A> xs[2] = {};
    if constexpr (kForm != Form::kX) load_unit(g + at, part, to[0], to[1]);
    if constexpr (kForm != Form::kG) load_unit(x + at, part, xs[0], xs[1]);
    NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
      to[i] = mapped<A, kForm, kHasRest>(k, to[i], xs[i]);
    }
  };
  if constexpr (kNear) {
    // The last unit ends with the plane: some elements are mapped twice. It is read first, since out may be x.
    if (m.columns >= kUnit<A>) {
      const std::int64_t last = m.columns - kUnit<A>;
      Vec<A> end[2] = {};
      map(last, Whole(), end);
      for (std::int64_t at = 0; at < last; at += kUnit<A>) {
        Vec<A> to[2] = {};
        map(at, Whole(), to);
        store_unit(to[0], to[1], out + at, Whole());
      }
      store_unit(end[0], end[1], out + last, Whole());
      return;
    }
  }
  for_row<A>(m.columns, [&](auto unit, std::int64_t column, auto part) NORMGRAD_LAMBDA {
    const std::int64_t at = column + unit * kUnit<A>;
    Vec<A> to[2] = {};
    map(at, part, to);
    if constexpr (kNear) return store_unit(to[0], to[1], out + at, part);
    fetch<A>(g, at, m.g_ahead);
    fetch<A>(x, at, m.x_ahead);
    store_far(to[0], to[1], out + at, part, m.past_cache);
  });
}
template <class A, class T, Form kForm, bool kNear>
void map_all_planes(const Rows& m, const ChannelMaps& maps) {
  const T *g = row<T>(m.g, 0, 0), *x = row<T>(m.x, 0, 0);
  T* out = row<T>(m.out, 0, 0);
  for (std::int64_t r = 0; r < m.rows; ++r) {
    const auto number = [&](MapRow which)
                            NORMGRAD_LAMBDA { return all<A>(map_row<A>(maps, which)[r]); };
    const PlaneMap<A> k = {number(kMean), number(kRest), number(kA), number(kB), number(kC)};
    if (kForm != Form::kGX || map_row<A>(maps, kRest)[r] == 0) {
      map_plane<A, T, kForm, false, kNear>(m, k, g, x, out);
    } else {
      map_plane<A, T, kForm, true, kNear>(m, k, g, x, out);
    }
    g = row<T>(g, m.g_stride, 1);
    x = row<T>(x, m.x_stride, 1);
    out = row<T>(out, m.out_stride, 1);
  }
}
template <class A, class T, bool kNear>
void map_form(Form form, const Rows& m, const ChannelMaps& maps) {
  if (form == Form::kG) return map_all_planes<A, T, Form::kG, kNear>(m, maps);
  if (form == Form::kX) return map_all_planes<A, T, Form::kX, kNear>(m, maps);
  map_all_planes<A, T, Form::kGX, kNear>(m, maps);
}
template <class A, class T>
void map_planes(Form form, const Rows& m, const ChannelMaps& maps) {
  is_near(m) ? map_form<A, T, true>(form, m, maps) : map_form<A, T, false>(form, m, maps);
}

}  // namespace normgrad::NORMGRAD_TARGET
