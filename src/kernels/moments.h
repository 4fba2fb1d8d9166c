// The first two moments of rows. Their mean is found in two steps, so that nothing cancels: a pivot near it, then the sums
// around that pivot.
#include "kernels/target.h"

namespace normgrad::NORMGRAD_TARGET {

using kernels::About;
using kernels::Moments;

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

// A row's two sums: of x, of x - pivot and its square, or of the square of x.
struct BothSums {
  double first, second;
};
enum class Sums { kX, kAroundPivot, kSquares };
template <class A, class T, Sums kSums>
BothSums sums_of(const T* x, std::int64_t columns, Vec<A> pivot) {
  double totals[kTotals] = {};
  for (std::int64_t left = columns; left > 0; left -= kChain * kStep) {
    Vec<A> first[kVectors<A>] = {}, second[kVectors<A>] = {};
    const auto add = [&](auto unit, std::int64_t column, auto part) NORMGRAD_LAMBDA {
      const int vectors[2] = {first_vector<A, T>(unit), second_vector<A, T>(unit)};
      Vec<A> xs[2], here[2];
      load_unit(x + column + unit * kUnit<A>, part, xs[0], xs[1]);
      constexpr bool kIsPart = kSums == Sums::kAroundPivot && std::is_same_v<decltype(part), First>;
      if constexpr (kIsPart) presence<A, T>(part, here);
      NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
        const int v = vectors[i];
        if constexpr (kSums == Sums::kX) first[v] = first[v] + xs[i];
        if constexpr (kSums == Sums::kSquares) second[v] = multiply_add(xs[i], xs[i], second[v]);
        if constexpr (kSums != Sums::kAroundPivot) continue;
        Vec<A> off = pivot - xs[i];  // and not x - pivot: x is then read by the subtraction
        if constexpr (kIsPart) off = off * here[i];
        first[v] = first[v] - off;
        second[v] = multiply_add(off, off, second[v]);
      }
    };
    if (left >= kChain * kStep) {
      for_chain<A>(add);
    } else {
      for_row<A>(left, add);
    }
    if constexpr (kSums != Sums::kSquares) fold_lanes(first, totals);
    if constexpr (kSums != Sums::kX) fold_lanes(second, totals + 8);
    x += kChain * kStep;
  }
  return {kernels::fold_totals(totals), kernels::fold_totals(totals + 8)};
}

template <class A, class T>
NORMGRAD_INLINE A pivot_of(const T* x, std::int64_t columns, double share) {
  return plain_number<A>(sums_of<A, T, Sums::kX>(x, columns, Vec<A>{}).first * share);
}
template <class A, class T>
NORMGRAD_INLINE void set_moments(A pivot, const T* x, std::int64_t columns, Moments& to) {
  const BothSums sums = sums_of<A, T, Sums::kAroundPivot>(x, columns, all<A>(pivot));
  to.pivot = static_cast<double>(pivot);
  to.sum = sums.first;
  to.squares = sums.second;
}

template <class A, class T>
void moments_about_mean(const Rows& m, Moments* moments) {
  const std::int64_t sample = kernels::sample_of(m.columns);
  const auto n = static_cast<double>(m.columns), size = static_cast<double>(sample);
  const double share = 1 / n, share_of_sample = 1 / size;
  // All rows' pivots first: none waits for another's.
  for (std::int64_t r = 0; r < m.rows; ++r) {
    moments[r].pivot =
        static_cast<double>(pivot_of<A>(row<T>(m.x, m.x_stride, r), sample, share_of_sample));
  }
  for (std::int64_t r = 0; r < m.rows; ++r) {
    const T* x = row<T>(m.x, m.x_stride, r);
    set_moments(static_cast<A>(moments[r].pivot), x, m.columns, moments[r]);
    if (!kernels::is_far(moments[r], n, size) || sample == m.columns) continue;
    set_moments(pivot_of<A>(x, m.columns, share), x, m.columns, moments[r]);
  }
}

template <class A, class T>
void moments(About about, const Rows& m, Moments* moments) {
  if (about == About::kMean) return moments_about_mean<A, T>(m, moments);
  for (std::int64_t r = 0; r < m.rows; ++r) {
    const T* x = row<T>(m.x, m.x_stride, r);
    moments[r].pivot = moments[r].sum = 0;
    moments[r].squares = sums_of<A, T, Sums::kSquares>(x, m.columns, Vec<A>{}).second;
  }
}

}  // namespace normgrad::NORMGRAD_TARGET
