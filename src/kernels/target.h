// What the kernel files share, compiled with each of them for every target: rows, means, weights.
#ifndef NORMGRAD_KERNELS_TARGET_H
#define NORMGRAD_KERNELS_TARGET_H

#include "kernels/kernels.h"
#include "kernels/vectors.h"

namespace normgrad::NORMGRAD_TARGET {

using kernels::ChannelMaps;
using kernels::ColumnChains;
using kernels::Form;
using kernels::kChain;
using kernels::kTotals;
using kernels::RowMap;
using kernels::Rows;
using kernels::Terms;

template <class T>
NORMGRAD_INLINE const T* row(const void* data, std::int64_t stride, std::int64_t r) {
  return reinterpret_cast<const T*>(static_cast<const char*>(data) + r * stride);
}
template <class T>
NORMGRAD_INLINE T* row(void* data, std::int64_t stride, std::int64_t r) {
  return reinterpret_cast<T*>(static_cast<char*>(data) + r * stride);
}

// Starts to bring into the second cache what lies `ahead` of a unit of a row, every line with the unit that it begins with.
// By name: g++ drops __builtin_prefetch in an inline function.
template <class A, class T>
NORMGRAD_INLINE void fetch(const T* row, std::int64_t unit_at, std::int64_t ahead) {
  constexpr std::int64_t kBytes = kUnit<A> * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t begin = unit_at * static_cast<std::int64_t>(sizeof(T));
  if (ahead == 0 || (kBytes < 64 && begin % 64 != 0)) return;
  const auto at =
      reinterpret_cast<std::uintptr_t>(row) + static_cast<std::uintptr_t>(begin + ahead);
  NORMGRAD_UNROLL for (std::int64_t line = 0; line < kBytes; line += 64) {
#if defined(__x86_64__)
    __asm__ volatile("prefetcht1 (%0)" : : "r"(at + static_cast<std::uintptr_t>(line)));
#else
    __builtin_prefetch(reinterpret_cast<const void*>(at + static_cast<std::uintptr_t>(line)), 0, 2);
#endif
  }
}

// Whether nothing is fetched or stored past the cache. Asked in every unit it would be a tenth of a map's instructions.
inline bool is_near(const Rows& m) { return m.g_ahead == 0 && m.x_ahead == 0 && !m.past_cache; }
// Stores a unit, past the cache if that is asked for and the unit fills whole lines.
template <class T, class Part>
NORMGRAD_INLINE void store_far(Vec<float> a, Vec<float> b, T* to, Part part, bool past_cache) {
  if constexpr (kFillsLines<float, T> && std::is_same_v<Part, Whole>) {
    if (past_cache) return stream_unit(a, b, to);
  }
  store_unit(a, b, to, part);
}

// A coefficient, rounded to the arithmetic; a NaN loses its payload (see rounded() in vectors.h).
template <class A>
NORMGRAD_INLINE A plain_number(double value) {
  return value == value ? static_cast<A>(value) : static_cast<A>(__builtin_nan(""));
}
template <class A>
NORMGRAD_INLINE Vec<A> coefficient(double value) {
  return all<A>(plain_number<A>(value));
}

// What is subtracted from x: nothing, a number of the arithmetic, or one with more digits, in two parts. Close to the
// mean, where the lost digits count, the first difference is exact.
enum class Centre { kNone, kOne, kTwo };
// What rounding to the arithmetic leaves of a mean.
template <class A>
NORMGRAD_INLINE double rest_of(double mean) {
  const double high = static_cast<double>(static_cast<A>(mean));
  const double rest = mean - high;
  return rest == rest ? rest : 0;  // an infinite mean has none
}
template <class A, Centre kCentre>
struct Mean {
  explicit Mean(double mean) : high(coefficient<A>(mean)), low(coefficient<A>(rest_of<A>(mean))) {}
  NORMGRAD_INLINE Vec<A> off(Vec<A> x) const {
    if constexpr (kCentre == Centre::kNone) return x;
    if constexpr (kCentre == Centre::kOne) return x - high;
    return (x - high) - low;
  }
  Vec<A> high, low;
};
// Calls body with what the means of these rows ask for. Subtracting 0 changes no bit, so that the choice does not either.
template <class A, class Body>
NORMGRAD_INLINE void with_centre(const Rows& m, const RowMap* map, Body&& body) {
  bool one = false, two = false;
  for (std::int64_t r = 0; r < m.rows; ++r) one |= !(map[r].mean == 0);
  for (std::int64_t r = 0; one && r < m.rows; ++r) two |= rest_of<A>(map[r].mean) != 0;
  if (two) return body(std::integral_constant<Centre, Centre::kTwo>());
  if (one) return body(std::integral_constant<Centre, Centre::kOne>());
  body(std::integral_constant<Centre, Centre::kNone>());
}

// Rows of numbers per channel.
enum MapRow { kMean, kRest, kA, kB, kC };  // kRest: what rounding left of the mean
template <class A>
NORMGRAD_INLINE const A* map_row(const ChannelMaps& maps, MapRow which) {
  return maps.rows + which * maps.pitch + maps.first;
}

}  // namespace normgrad::NORMGRAD_TARGET

#endif
