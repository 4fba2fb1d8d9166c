// Between elements of callers' types and numbers of the kernels' arithmetic, in the order of columns.
#include "kernels/target.h"

namespace normgrad::NORMGRAD_TARGET {

// The two vectors of a unit, in the order of its elements, and back: what unpacking splits goes together again.
template <class T>
NORMGRAD_INLINE void to_columns([[maybe_unused]] Vec<float>& a, [[maybe_unused]] Vec<float>& b) {
#if defined(NORMGRAD_TARGET_AVX512)
  if constexpr (!kSplitsLanes<float, T>) return;
  const __m512i low = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
  const __m512i high = _mm512_or_si512(low, _mm512_set1_epi32(8));
  const __m512 first = _mm512_permutex2var_ps(a, low, b);
  b = _mm512_permutex2var_ps(a, high, b);
  a = first;
#elif defined(NORMGRAD_TARGET_AVX2)
  if constexpr (!kSplitsLanes<float, T>) return;
  const __m256 first = _mm256_permute2f128_ps(a, b, 0x20);
  b = _mm256_permute2f128_ps(a, b, 0x31);
  a = first;
#endif
}
template <class T>
NORMGRAD_INLINE void from_columns([[maybe_unused]] Vec<float>& a, [[maybe_unused]] Vec<float>& b) {
#if defined(NORMGRAD_TARGET_AVX512)
  if constexpr (!kSplitsLanes<float, T>) return;
  const __m512 first = _mm512_shuffle_f32x4(a, b, 0x88);
  b = _mm512_shuffle_f32x4(a, b, 0xDD);
  a = first;
#else
  to_columns<T>(a, b);
#endif
}

// to = body(from, to).
template <class A, class T, class Body>
NORMGRAD_INLINE void for_numbers(const void* from, std::int64_t count, void* to, Body&& body) {
  const T* elements = static_cast<const T*>(from);
  A* numbers = static_cast<A*>(to);
  for_row<A>(count, [&](auto unit, std::int64_t column, auto part) NORMGRAD_LAMBDA {
    const std::int64_t at = column + unit * kUnit<A>;
    Vec<A> a, b;
    load_unit(elements + at, part, a, b);
    to_columns<T>(a, b);
    store<A>(body(a, numbers + at), numbers + at);
    store<A>(body(b, numbers + at + kWidth<A>), numbers + at + kWidth<A>);
  });
}

template <class A, class T>
void widen(const void* from, std::int64_t count, void* to) {
  for_numbers<A, T>(from, count, to,
                    [](const Vec<A>& element, const A*) NORMGRAD_LAMBDA { return element; });
}
template <class A, class T>
void widen_add(double factor, const void* from, std::int64_t count, void* to) {
  const Vec<A> factors = coefficient<A>(factor);
  for_numbers<A, T>(from, count, to, [&](const Vec<A>& element, const A* number) NORMGRAD_LAMBDA {
    return multiply_add(factors, element, load<A>(number));
  });
}
template <class A, class T>
void widen_scale(const void* from, std::int64_t count, void* to) {
  for_numbers<A, T>(from, count, to, [](const Vec<A>& element, const A* number) NORMGRAD_LAMBDA {
    const Vec<A> old = load<A>(number);
    return multiply_add(old, element, old);
  });
}

// A NaN loses its payload (see rounded() in vectors.h).
template <class A>
NORMGRAD_INLINE Vec<A> without_payload(Vec<A> v) {
  return v == v ? v : all<A>(static_cast<A>(__builtin_nan("")));
}
template <class A, class T>
void narrow(double factor, const void* from, std::int64_t count, void* to) {
  const A* numbers = static_cast<const A*>(from);
  const Vec<A> factors = coefficient<A>(factor);
  for_row<A>(count, [&](auto unit, std::int64_t column, auto part) NORMGRAD_LAMBDA {
    const std::int64_t at = column + unit * kUnit<A>;
    Vec<A> a = load<A>(numbers + at) * factors, b = load<A>(numbers + at + kWidth<A>) * factors;
    if constexpr (std::is_same_v<T, BFloat>) a = without_payload<A>(a), b = without_payload<A>(b);
    from_columns<T>(a, b);
    store_unit(a, b, static_cast<T*>(to) + at, part);
  });
}

}  // namespace normgrad::NORMGRAD_TARGET
