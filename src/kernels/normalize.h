// Rows, normalized, times w plus b.
#include "kernels/target.h"

namespace normgrad::NORMGRAD_TARGET {

using kernels::GroupScales;

template <class A, class T, bool kCentred, bool kFar>
void normalize_rows(const Rows& m, const float* w, const float* b, const GroupScales& scales,
                    std::int64_t first) {
  for (std::int64_t i = 0; i < m.rows; ++i) {
    const T* x = row<T>(m.x, m.x_stride, i);
    T* out = row<T>(m.out, m.out_stride, i);
    const auto& k = scales.rounded;
    const Vec<A> mean = all<A>(k.mean[first + i]), shift = all<A>(k.shift[first + i]);
    const Vec<A> r = all<A>(kCentred ? -k.r[first + i] : k.r[first + i]);
    for_row<A>(m.columns, [&](auto unit, std::int64_t column, auto part) NORMGRAD_LAMBDA {
      const std::int64_t at = column + unit * kUnit<A>;
      Vec<A> xs[2];
      load_unit(x + at, part, xs[0], xs[1]);
      NORMGRAD_UNROLL for (int v = 0; v < 2; ++v) {
        const std::int64_t lanes =
            column + (v == 0 ? first_vector<A, T>(unit) : second_vector<A, T>(unit)) * kWidth<A>;
        if constexpr (kCentred) {
          const Vec<A> x_n = multiply_add(mean - xs[v], r, shift);
          xs[v] = multiply_add(x_n, load<A>(w + lanes), load<A>(b + lanes));
        } else {
          xs[v] = xs[v] * r * load<A>(w + lanes);
        }
      }
      if constexpr (kFar) {
        fetch<A>(x, at, m.x_ahead);
        store_far(xs[0], xs[1], out + at, part, m.past_cache);
      } else {
        store_unit(xs[0], xs[1], out + at, part);
      }
    });
  }
}

template <class A, class T>
void normalize(const Rows& m, const float* w, const float* b, const GroupScales& scales,
               std::int64_t first) {
  const bool far = m.x_ahead != 0 || m.past_cache;
  if (b != nullptr && far) return normalize_rows<A, T, true, true>(m, w, b, scales, first);
  if (b != nullptr) return normalize_rows<A, T, true, false>(m, w, b, scales, first);
  if (far) return normalize_rows<A, T, false, true>(m, w, b, scales, first);
  normalize_rows<A, T, false, false>(m, w, b, scales, first);
}

}  // namespace normgrad::NORMGRAD_TARGET
