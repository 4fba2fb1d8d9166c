// The first two moments of rows. Their mean is found in two steps, so that nothing cancels: a pivot near it, then the sums
// around that pivot.
#include "kernels/row_totals.h"

namespace normgrad::NORMGRAD_TARGET {

using kernels::About;
using kernels::GroupMoments;

// 1 where a unit has an element, 0 where it has none.
template <class T>
struct Ones {
  constexpr Ones() : one() {
    for (T& value : one) {
      if constexpr (std::is_same_v<T, float>) value = 1;
      if constexpr (std::is_same_v<T, Half>) value = {0x3C00};
      if constexpr (std::is_same_v<T, BFloat>) value = {0x3F80};
    }
  }
  T one[kUnit<float>];
};
template <class T>
inline constexpr Ones<T> kOnes;
template <class A, class T>
NORMGRAD_INLINE void presence(First part, Vec<A> (&here)[2]) {
  load_unit(kOnes<T>.one, part, here[0], here[1]);
}

// Each row's two sums, in eight f64 lanes each: of x, of x - pivot and its square, or of the square of x. Takes no vectors:
// after a function that is given one, g++ 12 leaves the upper halves of registers dirty, and SSE instructions wait for them.
enum class Sums { kX, kAroundPivot, kSquares };
template <class A, class T, Sums kSums>
void sums_of(const Rows& m, std::int64_t columns, const A* pivots, GroupTotals& totals) {
  with_length(columns, [&](auto is_short) NORMGRAD_LAMBDA {
    const std::int64_t rows = m.rows, stride = m.x_stride;
    const T* x = static_cast<const T*>(m.x);
    for (std::int64_t r = 0; r < rows; ++r, x = row<T>(x, stride, 1)) {
      const Vec<A> pivot = kSums == Sums::kAroundPivot ? all<A>(pivots[r]) : Vec<A>{};
      const auto add = [&](auto unit, std::int64_t column, auto part, auto& first,
                           auto& second) NORMGRAD_LAMBDA {
        const int vectors[2] = {first_vector<A, T>(unit), second_vector<A, T>(unit)};
        Vec<A> xs[2], here[2];
        load_unit(x + column + unit * kUnit<A>, part, xs[0], xs[1]);
        constexpr bool kIsPart =
            kSums == Sums::kAroundPivot && std::is_same_v<decltype(part), First>;
        if constexpr (kIsPart) presence<A, T>(part, here);
        NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
          const int v = vectors[i];
          if constexpr (kSums == Sums::kX) first[v] = first[v] + xs[i];
          if constexpr (kSums == Sums::kSquares) {
            second[v] = multiply_add(xs[i], xs[i], second[v]);
          }
          if constexpr (kSums != Sums::kAroundPivot) continue;
          // And not x - pivot: x is then read by the subtraction.
          Vec<A> off = pivot - xs[i];
          if constexpr (kIsPart) off = off * here[i];
          first[v] = first[v] - off;
          second[v] = multiply_add(off, off, second[v]);
        }
      };
      sum_row<A, kSums != Sums::kSquares, kSums != Sums::kX, is_short()>(columns, totals.of[r],
                                                                         add);
    }
  });
}

// Around the mean of each row's first columns, so many as `sample` says, rounded to the arithmetic.
template <class A, class T>
void moments_around_sample(const Rows& m, std::int64_t sample, GroupMoments& to) {
  GroupTotals totals;
  A pivots[kGroup];
  sums_of<A, T, Sums::kX>(m, sample, nullptr, totals);
  for (double& pivot : to.pivot) pivot = 0;  // of rows that are not there
  totals.fold(m.rows, 0, to.pivot);
  const double share = 1 / static_cast<double>(sample);
  NORMGRAD_UNROLL for (int r = 0; r < kGroup; r += kDoubles) {
    const Floats rounded = __builtin_convertvector(load_doubles(to.pivot + r) * share, Floats);
    __builtin_memcpy(pivots + r, &rounded, sizeof(rounded));
    store_doubles(__builtin_convertvector(rounded, Doubles), to.pivot + r);
  }
  sums_of<A, T, Sums::kAroundPivot>(m, m.columns, pivots, totals);
  totals.fold(m.rows, 0, to.sum);
  totals.fold(m.rows, 1, to.squares);
}
template <class A, class T>
void moments_about_mean(const Rows& m, GroupMoments& moments) {
  const std::int64_t sample = kernels::sample_of(m.columns);
  const auto n = static_cast<double>(m.columns), size = static_cast<double>(sample);
  moments_around_sample<A, T>(m, sample, moments);
  if (sample == m.columns) return;
  for (std::int64_t r = 0; r < m.rows; ++r) {
    if (!kernels::is_far(moments.of(r), n, size)) continue;
    Rows one = m;
    one.x = row<T>(m.x, m.x_stride, r);
    one.rows = 1;
    GroupMoments again;
    moments_around_sample<A, T>(one, m.columns, again);
    moments.set(r, again.of(0));
  }
}

template <class A, class T>
void moments(About about, const Rows& m, GroupMoments& moments) {
  if (about == About::kMean) return moments_about_mean<A, T>(m, moments);
  GroupTotals totals;
  sums_of<A, T, Sums::kSquares>(m, m.columns, nullptr, totals);
  for (std::int64_t r = 0; r < m.rows; ++r) moments.pivot[r] = moments.sum[r] = 0;
  totals.fold(m.rows, 1, moments.squares);
}

}  // namespace normgrad::NORMGRAD_TARGET
