// Vectors of numbers, once per instruction set: the compilers' own vectors for arithmetic, a few intrinsics for
// conversions. A kernel file is compiled once per target (src/CMakeLists.txt), each time with NORMGRAD_TARGET, the
// namespace, and that instruction set's flags. Only text of this room is compiled so: an inline function of another
// header might be linked for every processor.
//
// A step is 32 lanes, of which every sum along a row has one accumulator each. On every target the lanes hold the same
// elements, and fold_lanes() adds them in the same order: the bits do not depend on the width of a vector.
#ifndef NORMGRAD_KERNELS_VECTORS_H
#define NORMGRAD_KERNELS_VECTORS_H

#include <cstdint>
#include <cstring>
#include <type_traits>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "kernels/element.h"
#include "kernels/kernels.h"

#if NORMGRAD_CALLS  // functions stay functions: src/CMakeLists.txt says where and why
#define NORMGRAD_INLINE inline
#define NORMGRAD_LAMBDA
#else
#define NORMGRAD_INLINE inline __attribute__((always_inline))
#define NORMGRAD_LAMBDA __attribute__((always_inline))
#endif

// Before a short loop whose arrays are to be registers.
#if defined(__clang__)
#define NORMGRAD_UNROLL _Pragma("clang loop unroll(full)")
#else
#define NORMGRAD_UNROLL _Pragma("GCC unroll 16")
#endif

namespace normgrad::NORMGRAD_TARGET {

using kernels::BFloat;
using kernels::Half;
using kernels::TwoDoubles;

inline constexpr int kStep = 32;

// A vector of numbers of type A: float.
template <class A>
struct Lanes;
#if defined(NORMGRAD_TARGET_AVX512)
template <>
struct Lanes<float> {
  using Type = __m512;
};
#elif defined(NORMGRAD_TARGET_AVX2)
template <>
struct Lanes<float> {
  using Type = __m256;
};
#else
template <>
struct Lanes<float> {
  typedef float Type __attribute__((vector_size(16)));
};
#endif
template <class A>
using Vec = typename Lanes<A>::Type;
template <class A>
inline constexpr int kWidth = static_cast<int>(sizeof(Vec<A>) / sizeof(A));
template <class A>
inline constexpr int kVectors = kStep / kWidth<A>;
// Elements are loaded and stored as units: two vectors.
template <class A>
inline constexpr int kUnit = 2 * kWidth<A>;

template <class A>
NORMGRAD_INLINE Vec<A> all(A value) {
  return value - Vec<A>{};  // -0, too
}
// Numbers that lie in the order of lanes.
template <class A>
NORMGRAD_INLINE Vec<A> load(const A* from) {
  Vec<A> v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
// Not std::memcpy: where a compiler knows the size of an array, _FORTIFY_SOURCE makes a call of that.
template <class A>
NORMGRAD_INLINE void store(const Vec<A>& v, A* to) {
  __builtin_memcpy(to, &v, sizeof(v));
}

// Of f64 a vector has half as many.
typedef double Doubles __attribute__((vector_size(sizeof(Vec<float>))));
typedef std::int64_t LongWords __attribute__((vector_size(sizeof(Doubles))));
typedef float Floats __attribute__((vector_size(sizeof(Doubles) / 2)));
typedef std::int32_t Words __attribute__((vector_size(sizeof(Doubles) / 2)));
inline constexpr int kDoubles = kWidth<float> / 2;

NORMGRAD_INLINE Doubles load_doubles(const double* from) {
  Doubles v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
NORMGRAD_INLINE void store_doubles(const Doubles& v, double* to) {
  __builtin_memcpy(to, &v, sizeof(v));
}

// The two vectors of a unit within its step: neighbours, or as kernels::lane_of() has it.
template <class A, class T>
inline constexpr bool kSplitsLanes = std::is_same_v<T, BFloat>&& std::is_same_v<A, float>;
template <class A, class T>
inline constexpr int first_vector(int unit) {
  return kSplitsLanes<A, T> ? unit : 2 * unit;
}
template <class A, class T>
inline constexpr int second_vector(int unit) {
  return kSplitsLanes<A, T> ? unit + kVectors<A> / 2 : 2 * unit + 1;
}

// Whether units are stored past the cache as whole lines. Then rows can be side by side: half-filled lines of several rows in
// turn take 4 to 8 times as long.
#if defined(NORMGRAD_TARGET_AVX512) || defined(NORMGRAD_TARGET_AVX2)
template <class A, class T>
inline constexpr bool kFillsLines = kUnit<A> * sizeof(T) % 64 == 0;
#else
template <class A, class T>
inline constexpr bool kFillsLines = false;
#endif

// How much of a unit is there: all of it, or the first `count` elements; the others read as 0 and are not written.
struct Whole {};
struct First {
  int count;
};

#if defined(NORMGRAD_TARGET_AVX512)
NORMGRAD_INLINE __m512 multiply_add(__m512 a, __m512 b, __m512 c) {
  return _mm512_fmadd_ps(a, b, c);
}

NORMGRAD_INLINE __mmask16 mask16(int count) {
  return static_cast<__mmask16>(count >= 16 ? 0xFFFF : count <= 0 ? 0 : (1 << count) - 1);
}
NORMGRAD_INLINE __mmask32 mask32(int count) {
  return static_cast<__mmask32>((std::uint64_t{1} << count) - 1);
}
NORMGRAD_INLINE __m512i words(const void* from, Whole) { return _mm512_loadu_si512(from); }
NORMGRAD_INLINE __m512i words(const void* from, First part) {
  return _mm512_maskz_loadu_epi16(mask32(part.count), from);
}
NORMGRAD_INLINE void put_words(__m512i v, void* to, Whole) { _mm512_storeu_si512(to, v); }
NORMGRAD_INLINE void put_words(__m512i v, void* to, First part) {
  _mm512_mask_storeu_epi16(to, mask32(part.count), v);
}

NORMGRAD_INLINE void load_unit(const float* from, Whole, __m512& a, __m512& b) {
  a = _mm512_loadu_ps(from);
  b = _mm512_loadu_ps(from + 16);
}
NORMGRAD_INLINE void load_unit(const float* from, First part, __m512& a, __m512& b) {
  a = _mm512_maskz_loadu_ps(mask16(part.count), from);
  b = _mm512_maskz_loadu_ps(mask16(part.count - 16), from + 16);
}
NORMGRAD_INLINE void store_unit(__m512 a, __m512 b, float* to, Whole) {
  _mm512_storeu_ps(to, a);
  _mm512_storeu_ps(to + 16, b);
}
NORMGRAD_INLINE void store_unit(__m512 a, __m512 b, float* to, First part) {
  _mm512_mask_storeu_ps(to, mask16(part.count), a);
  _mm512_mask_storeu_ps(to + 16, mask16(part.count - 16), b);
}
// Past the cache, to whole lines.
NORMGRAD_INLINE void stream_unit(__m512 a, __m512 b, float* to) {
  _mm512_stream_ps(to, a);
  _mm512_stream_ps(to + 16, b);
}
template <class T>
NORMGRAD_INLINE void stream_unit(__m512 a, __m512 b, T* to) {
  T words[32];
  store_unit(a, b, words, Whole());
  __m512i v;
  std::memcpy(&v, words, sizeof(v));
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), v);
}
template <class Part>
NORMGRAD_INLINE void load_unit(const Half* from, Part part, __m512& a, __m512& b) {
  const __m512i v = words(from, part);
  a = _mm512_cvtph_ps(_mm512_castsi512_si256(v));
  b = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(v, 1));
}
template <class Part>
NORMGRAD_INLINE void store_unit(__m512 a, __m512 b, Half* to, Part part) {
  const __m256i low = _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT);
  const __m256i high = _mm512_cvtps_ph(b, _MM_FROUND_TO_NEAREST_INT);
  put_words(_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1), to, part);
}
template <class Part>
NORMGRAD_INLINE void load_unit(const BFloat* from, Part part, __m512& a, __m512& b) {
  const __m512i v = words(from, part), zero = _mm512_setzero_si512();
  a = _mm512_castsi512_ps(_mm512_unpacklo_epi16(zero, v));
  b = _mm512_castsi512_ps(_mm512_unpackhi_epi16(zero, v));
}
// To nearest even, in the lower half of every 32 bits. A NaN has nothing in its lower half and stays one: those of bf16
// inputs and of invalid operations are so, and coefficients lose theirs (plain_number).
NORMGRAD_INLINE __m512i rounded(__m512 a) {
  const __m512i bits = _mm512_castps_si512(a);
  // Half of the last digit that is kept, or, if that is even, a little less.
  const __mmask16 odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x10000));
  const __m512i half =
      _mm512_mask_blend_epi32(odd, _mm512_set1_epi32(0x7FFF), _mm512_set1_epi32(0x8000));
  return _mm512_add_epi32(bits, half);
}
template <class Part>
NORMGRAD_INLINE void store_unit(__m512 a, __m512 b, BFloat* to, Part part) {
  // The upper halves, of every four lanes of a, then of b.
  const __m512i upper = _mm512_set_epi64(0x003f003d003b0039, 0x001f001d001b0019, 0x0037003500330031,
                                         0x0017001500130011, 0x002f002d002b0029, 0x000f000d000b0009,
                                         0x0027002500230021, 0x0007000500030001);
  put_words(_mm512_permutex2var_epi16(rounded(a), upper, rounded(b)), to, part);
}

// Adds a step's lanes, (q0 + q2) + (q1 + q3) of its quarters, to eight f64.
NORMGRAD_INLINE void fold_lanes(const __m512 (&v)[2], double* to) {
  const __m512 sum = v[0] + v[1];
  const __m256 eight = _mm512_castps512_ps256(sum) + _mm512_extractf32x8_ps(sum, 1);
  _mm512_storeu_pd(to, _mm512_loadu_pd(to) + _mm512_cvtps_pd(eight));
}
// What kernels::fold_totals makes of eight rows' totals, which are so many numbers apart.
NORMGRAD_INLINE Doubles fold_totals_of_rows(const double* t, int apart) {
  const auto fold_to_four = [=](int a, int b) NORMGRAD_LAMBDA {
    const __m512d u = _mm512_loadu_pd(t + a * apart), v = _mm512_loadu_pd(t + b * apart);
    return _mm512_shuffle_f64x2(u, v, 0x44) + _mm512_shuffle_f64x2(u, v, 0xEE);
  };
  const auto fold_to_two = [=](int a, int b) NORMGRAD_LAMBDA {
    const __m512d u = fold_to_four(a, a + 2), v = fold_to_four(b, b + 2);
    return _mm512_shuffle_f64x2(u, v, 0x88) + _mm512_shuffle_f64x2(u, v, 0xDD);
  };
  const __m512d even = fold_to_two(0, 4), odd = fold_to_two(1, 5);
  return _mm512_unpacklo_pd(even, odd) + _mm512_unpackhi_pd(even, odd);
}
NORMGRAD_INLINE void add_widened(__m512 v, double* to) {
  _mm512_storeu_pd(to, _mm512_loadu_pd(to) + _mm512_cvtps_pd(_mm512_castps512_ps256(v)));
  _mm512_storeu_pd(to + 8, _mm512_loadu_pd(to + 8) + _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1)));
}

#elif defined(NORMGRAD_TARGET_AVX2)
NORMGRAD_INLINE __m256 multiply_add(__m256 a, __m256 b, __m256 c) {
  return _mm256_fmadd_ps(a, b, c);
}

NORMGRAD_INLINE __m256i lanes8() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
NORMGRAD_INLINE __m256i mask8(int count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), lanes8());
}
// Of 16-bit elements there are no masked loads and stores, but of pairs; an odd one goes by itself.
NORMGRAD_INLINE __m256i words(const void* from, Whole) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
NORMGRAD_INLINE __m256i words(const void* from, First part) {
  const int pairs = part.count / 2;
  const __m256i v = _mm256_maskload_epi32(static_cast<const int*>(from), mask8(pairs));
  if (part.count % 2 == 0) return v;
  std::uint16_t last;
  std::memcpy(&last, static_cast<const char*>(from) + 4 * pairs, sizeof(last));
  const __m256i here = _mm256_cmpeq_epi32(_mm256_set1_epi32(pairs), lanes8());
  return _mm256_or_si256(v, _mm256_and_si256(here, _mm256_set1_epi32(last)));
}
NORMGRAD_INLINE void put_words(__m256i v, void* to, Whole) {
  _mm256_storeu_si256(static_cast<__m256i*>(to), v);
}
NORMGRAD_INLINE void put_words(__m256i v, void* to, First part) {
  const int pairs = part.count / 2;
  _mm256_maskstore_epi32(static_cast<int*>(to), mask8(pairs), v);
  if (part.count % 2 == 0) return;
  const __m256i here = _mm256_permutevar8x32_epi32(v, _mm256_set1_epi32(pairs));
  const auto last = static_cast<std::uint16_t>(_mm_cvtsi128_si32(_mm256_castsi256_si128(here)));
  std::memcpy(static_cast<char*>(to) + 4 * pairs, &last, sizeof(last));
}

NORMGRAD_INLINE void load_unit(const float* from, Whole, __m256& a, __m256& b) {
  a = _mm256_loadu_ps(from);
  b = _mm256_loadu_ps(from + 8);
}
NORMGRAD_INLINE void load_unit(const float* from, First part, __m256& a, __m256& b) {
  a = _mm256_maskload_ps(from, mask8(part.count));
  b = _mm256_maskload_ps(from + 8, mask8(part.count - 8));
}
NORMGRAD_INLINE void store_unit(__m256 a, __m256 b, float* to, Whole) {
  _mm256_storeu_ps(to, a);
  _mm256_storeu_ps(to + 8, b);
}
NORMGRAD_INLINE void store_unit(__m256 a, __m256 b, float* to, First part) {
  _mm256_maskstore_ps(to, mask8(part.count), a);
  _mm256_maskstore_ps(to + 8, mask8(part.count - 8), b);
}
// Past the cache, to a whole line.
NORMGRAD_INLINE void stream_unit(__m256 a, __m256 b, float* to) {
  _mm256_stream_ps(to, a);
  _mm256_stream_ps(to + 8, b);
}
NORMGRAD_INLINE void load_unit(const Half* from, Whole, __m256& a, __m256& b) {
  a = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  b = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 8)));
}
NORMGRAD_INLINE void load_unit(const Half* from, First part, __m256& a, __m256& b) {
  const __m256i v = words(from, part);
  a = _mm256_cvtph_ps(_mm256_castsi256_si128(v));
  b = _mm256_cvtph_ps(_mm256_extracti128_si256(v, 1));
}
NORMGRAD_INLINE __m128i halves(__m256 a) { return _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT); }
NORMGRAD_INLINE void store_unit(__m256 a, __m256 b, Half* to, Whole) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), halves(a));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 8), halves(b));
}
NORMGRAD_INLINE void store_unit(__m256 a, __m256 b, Half* to, First part) {
  put_words(_mm256_set_m128i(halves(b), halves(a)), to, part);
}
template <class Part>
NORMGRAD_INLINE void load_unit(const BFloat* from, Part part, __m256& a, __m256& b) {
  const __m256i v = words(from, part), zero = _mm256_setzero_si256();
  a = _mm256_castsi256_ps(_mm256_unpacklo_epi16(zero, v));
  b = _mm256_castsi256_ps(_mm256_unpackhi_epi16(zero, v));
}
// To nearest even, in the lower half of every 32 bits. A NaN has nothing in its lower half and stays one: those of bf16
// inputs and of invalid operations are so, and coefficients lose theirs (plain_number).
NORMGRAD_INLINE __m256i rounded(__m256 a) {
  const __m256i bits = _mm256_castps_si256(a);
  // Half of the last digit that is kept, or, if that is even, a little less.
  const __m256 half = _mm256_blendv_ps(_mm256_castsi256_ps(_mm256_set1_epi32(0x7FFF)),
                                       _mm256_castsi256_ps(_mm256_set1_epi32(0x8000)),
                                       _mm256_castsi256_ps(_mm256_slli_epi32(bits, 15)));
  return _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_castps_si256(half)), 16);
}
template <class Part>
NORMGRAD_INLINE void store_unit(__m256 a, __m256 b, BFloat* to, Part part) {
  put_words(_mm256_packus_epi32(rounded(a), rounded(b)), to, part);
}

// What kernels::fold_totals makes of four rows' totals, which are so many numbers apart.
NORMGRAD_INLINE Doubles fold_totals_of_rows(const double* t, int apart) {
  const auto fold_to_two = [=](int a, int b) NORMGRAD_LAMBDA {
    const __m256d u = load_doubles(t + a * apart) + load_doubles(t + a * apart + 4);
    const __m256d v = load_doubles(t + b * apart) + load_doubles(t + b * apart + 4);
    return _mm256_permute2f128_pd(u, v, 0x20) + _mm256_permute2f128_pd(u, v, 0x31);
  };
  const __m256d even = fold_to_two(0, 2), odd = fold_to_two(1, 3);
  return _mm256_unpacklo_pd(even, odd) + _mm256_unpackhi_pd(even, odd);
}
NORMGRAD_INLINE void add_widened(__m256 v, double* to) {
  _mm256_storeu_pd(to, _mm256_loadu_pd(to) + _mm256_cvtps_pd(_mm256_castps256_ps128(v)));
  _mm256_storeu_pd(to + 4, _mm256_loadu_pd(to + 4) + _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)));
}

#else
// Words of 16 bits as f32 and back, several at once: what kernels::to_float and round_to do.
typedef std::int32_t Words4 __attribute__((vector_size(16)));
typedef std::uint32_t Bits4 __attribute__((vector_size(16)));
typedef std::uint16_t Shorts4 __attribute__((vector_size(8)));

NORMGRAD_INLINE Shorts4 four(const void* from) {
  Shorts4 v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
NORMGRAD_INLINE void put_four(const Shorts4& v, void* to) { std::memcpy(to, &v, sizeof(v)); }

NORMGRAD_INLINE Vec<float> as_f32(Words4 v) { return (Vec<float>)v; }
NORMGRAD_INLINE Words4 as_words(Vec<float> v) { return (Words4)v; }

NORMGRAD_INLINE Vec<float> widened(Shorts4 v, BFloat) {
  return as_f32(__builtin_convertvector(v, Words4) << 16);
}
NORMGRAD_INLINE Shorts4 narrowed(Vec<float> v, BFloat) {
  const Bits4 bits = (Bits4)v;
  return __builtin_convertvector((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16, Shorts4);
}
#if defined(NORMGRAD_TARGET_NEON)
NORMGRAD_INLINE Vec<float> multiply_add(Vec<float> a, Vec<float> b, Vec<float> c) {
  return (Vec<float>)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
NORMGRAD_INLINE Vec<float> widened(Shorts4 v, Half) {
  return (Vec<float>)vcvt_f32_f16((float16x4_t)v);
}
NORMGRAD_INLINE Shorts4 narrowed(Vec<float> v, Half) {
  return (Shorts4)vcvt_f16_f32((float32x4_t)v);
}
#else
NORMGRAD_INLINE Vec<float> widened(Shorts4 v, Half) {
  const Words4 bits = __builtin_convertvector(v, Words4);
  const Words4 magnitude = bits & 0x7FFF;
  const Words4 sign = (bits ^ magnitude) << 16;
  const Words4 normal = (magnitude << 13) + (112 << 23);
  const Words4 special =
      (normal + (112 << 23)) | (magnitude > 0x7C00 ? Words4{} + 0x00400000 : Words4{});
  const Words4 subnormal = as_words(__builtin_convertvector(magnitude, Vec<float>) * 0x1p-24f);
  const Words4 finite = magnitude < 0x0400 ? subnormal : normal;
  return as_f32(sign | (magnitude < 0x7C00 ? finite : special));
}
NORMGRAD_INLINE Shorts4 narrowed(Vec<float> v, Half) {
  const Words4 bits = as_words(v);
  const Words4 magnitude = bits & 0x7FFFFFFF;
  const Bits4 wrapping = (Bits4)magnitude;  // g++ 12 would let signed sums overflow for NaNs
  const Words4 normal = (Words4)((wrapping - (112u << 23) + 0xFFFu + (wrapping >> 13 & 1u)) >> 13);
  const Words4 subnormal = as_words(as_f32(magnitude) + 0.5f) - as_words(Vec<float>{} + 0.5f);
  const Words4 finite = magnitude < 0x38800000 ? subnormal : normal;
  const Words4 nan = (magnitude >> 13 & 0x3FF) | 0x7E00;
  const Words4 special = magnitude > 0x7F800000 ? nan : Words4{} + 0x7C00;
  return __builtin_convertvector(
      (bits >> 16 & 0x8000) | (magnitude < 0x477FF000 ? finite : special), Shorts4);
}

// a*b + c with one rounding, for processors that do not have it. f64 has the product exactly; s is its sum with c, e what
// rounding left of it. Rounding s to odd (the neighbour towards e, if e is not 0 and s ends in an even bit) makes the
// second rounding, to f32, that of the whole. Comparisons with a NaN are false: then s is NaN or infinite as it is.
// Two at a time: of vectors wider than the processor's g++ compares every element by itself.
typedef float Pair __attribute__((vector_size(8)));
NORMGRAD_INLINE Pair multiply_add_pair(Pair a, Pair b, Pair c) {
  typedef std::int64_t Integers __attribute__((vector_size(16)));
  const TwoDoubles p =
      __builtin_convertvector(a, TwoDoubles) * __builtin_convertvector(b, TwoDoubles);
  const TwoDoubles z = __builtin_convertvector(c, TwoDoubles);
  const TwoDoubles s = p + z;
  const TwoDoubles p_part = s - z, z_part = s - p_part;
  const TwoDoubles e = (p - p_part) + (z - z_part);
  const Integers bits = (Integers)s;
  const Integers away = (e > 0.0) ^ (s > 0.0);  // -1 or 0
  const Integers inexact = (e > 0.0) | (e < 0.0);
  const Integers odd = bits + (inexact & ((bits & 1) - 1) & (away + away + 1));
  return __builtin_convertvector((TwoDoubles)odd, Pair);
}
[[gnu::noinline]] inline Vec<float> multiply_add(Vec<float> a, Vec<float> b, Vec<float> c) {
  const auto low = [](Vec<float> v) { return __builtin_shufflevector(v, v, 0, 1); };
  const auto high = [](Vec<float> v) { return __builtin_shufflevector(v, v, 2, 3); };
  return __builtin_shufflevector(multiply_add_pair(low(a), low(b), low(c)),
                                 multiply_add_pair(high(a), high(b), high(c)), 0, 1, 2, 3);
}
#endif

template <class T>
NORMGRAD_INLINE void load_unit(const T* from, Whole, Vec<float>& a, Vec<float>& b) {
  if constexpr (std::is_same_v<T, float>) {
    a = load<float>(from), b = load<float>(from + 4);
  } else {
    a = widened(four(from), T()), b = widened(four(from + 4), T());
  }
}
template <class T>
NORMGRAD_INLINE void store_unit(Vec<float> a, Vec<float> b, T* to, Whole) {
  if constexpr (std::is_same_v<T, float>) {
    store<float>(a, to), store<float>(b, to + 4);
  } else {
    put_four(narrowed(a, T()), to), put_four(narrowed(b, T()), to + 4);
  }
}
// What kernels::fold_totals makes of two rows' totals, which are so many numbers apart.
NORMGRAD_INLINE Doubles fold_totals_of_rows(const double* t, int apart) {
  const Doubles a = kernels::fold_to_two(t), b = kernels::fold_to_two(t + apart);
  return __builtin_shufflevector(a, b, 0, 2) + __builtin_shufflevector(a, b, 1, 3);
}
NORMGRAD_INLINE void add_widened(Vec<float> v, double* to) {
  for (int j = 0; j < 4; ++j) to[j] += static_cast<double>(v[j]);
}

// Parts of a unit go through memory of our own.
template <class T, class V>
NORMGRAD_INLINE void load_unit(const T* from, First part, V& a, V& b) {
  T whole[2 * sizeof(V) / sizeof(a[0])] = {};
  std::memcpy(static_cast<void*>(whole), static_cast<const void*>(from),
              static_cast<std::size_t>(part.count) * sizeof(T));
  load_unit(whole, Whole(), a, b);
}
template <class T, class V>
NORMGRAD_INLINE void store_unit(V a, V b, T* to, First part) {
  T whole[2 * sizeof(V) / sizeof(a[0])];
  store_unit(a, b, whole, Whole());
  std::memcpy(static_cast<void*>(to), static_cast<const void*>(whole),
              static_cast<std::size_t>(part.count) * sizeof(T));
}
#endif

#if !defined(NORMGRAD_TARGET_AVX512)
// Adds a step's lanes, (q0 + q2) + (q1 + q3) of its quarters, to eight f64.
template <class V, int kCount>
NORMGRAD_INLINE void fold_lanes(const V (&v)[kCount], double* to) {
  constexpr int kQuarter = kCount / 4;
  constexpr int kLanes = kStep / kCount;
  for (int j = 0; j < kQuarter; ++j) {
    add_widened((v[j] + v[j + 2 * kQuarter]) + (v[j + kQuarter] + v[j + 3 * kQuarter]),
                to + j * kLanes);
  }
}
#endif

// Of what was computed from one vector of a unit (the first, the second), the lanes whose elements are there; the others 0.
template <class T>
NORMGRAD_INLINE Vec<float> only_there(Vec<float> v, Whole, int) {
  return v;
}
template <class T>
NORMGRAD_INLINE Vec<float> only_there(Vec<float> v, First part, int second) {
  typedef std::int32_t Numbers __attribute__((vector_size(sizeof(Vec<float>))));
  Numbers element, bits;
  NORMGRAD_UNROLL for (int lane = 0; lane < kWidth<float>; ++lane) {
    element[lane] = kSplitsLanes<float, T> ? lane / 4 * 8 + second * 4 + lane % 4
                                           : second * kWidth<float> + lane;
  }
  std::memcpy(&bits, &v, sizeof(v));
  bits &= element < part.count;
  std::memcpy(&v, &bits, sizeof(v));
  return v;
}

// Calls body(unit, column, part) for every unit of a step. unit is a compile-time constant, so that accumulators named by
// it stay in registers; in plain C++ it is a number, which compiles in a tenth of the time.
#if defined(NORMGRAD_TARGET_PLAIN)
template <class A, class Body>
NORMGRAD_INLINE void for_whole_units(std::int64_t column, Body&& body) {
  for (int unit = 0; unit < kVectors<A> / 2; ++unit) body(unit, column, Whole());
}
template <class A, class Body>
NORMGRAD_INLINE void for_last_units(std::int64_t column, int rest, Body&& body) {
  int unit = 0;
  for (; rest >= kUnit<A>; rest -= kUnit<A>) body(unit++, column, Whole());
  if (rest > 0) body(unit, column, First{rest});
}
#else
template <class A, class Body, int kU = 0>
NORMGRAD_INLINE void for_whole_units(std::int64_t column, Body&& body) {
  if constexpr (kU < kVectors<A> / 2) {
    body(std::integral_constant<int, kU>(), column, Whole());
    for_whole_units<A, Body&, kU + 1>(column, body);
  }
}
template <class A, class Body, int kU = 0>
NORMGRAD_INLINE void for_last_units(std::int64_t column, int rest, Body&& body) {
  if constexpr (kU < kVectors<A> / 2) {
    if (rest >= kUnit<A>) {
      body(std::integral_constant<int, kU>(), column, Whole());
      for_last_units<A, Body&, kU + 1>(column, rest - kUnit<A>, body);
    } else if (rest > 0) {
      body(std::integral_constant<int, kU>(), column, First{rest});
    }
  }
}
#endif
// And for every unit of `columns` elements.
template <class A, class Body>
NORMGRAD_INLINE void for_row(std::int64_t columns, Body&& body) {
  const std::int64_t whole = columns & -std::int64_t{kStep};
  for (std::int64_t column = 0; column < whole; column += kStep) for_whole_units<A>(column, body);
  if (whole < columns) for_last_units<A>(whole, static_cast<int>(columns - whole), body);
}

// And for every unit of 8 steps, without a loop.
template <class A, class Body>
NORMGRAD_INLINE void for_chain(Body&& body) {
#if defined(NORMGRAD_TARGET_PLAIN)
  for_row<A>(kernels::kChain * kStep, body);
#else
  NORMGRAD_UNROLL for (int step = 0; step < kernels::kChain; ++step) {
    for_whole_units<A>(step * kStep, body);
  }
#endif
}

}  // namespace normgrad::NORMGRAD_TARGET

#endif
