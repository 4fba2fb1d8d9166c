// Vec<A>: kWidth<A> numbers of the arithmetic type A in one vector, its loads from and stores to
// every element type. The plain path has the same interface in vectors_plain-inl.h. kWidth divides the
// 16 lanes of the summation tree. Walks along elements, and their ends: steps-inl.h.
#if defined(NORMGRAD_KERNELS_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_KERNELS_VECTORS_INL_H
#undef NORMGRAD_KERNELS_VECTORS_INL_H
#else
#define NORMGRAD_KERNELS_VECTORS_INL_H
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/element.h"
#include "kernels/target-inl.h"

#if NORMGRAD_PLAIN
#include "kernels/vectors_plain-inl.h"
#else
#include <hwy/cache_control.h>

NORMGRAD_TARGET_BEGIN
namespace hn = hwy::HWY_NAMESPACE;
using kernels::BFloat;
using kernels::Half;

template <typename A>
using Tag = hn::CappedTag<A, 16>;
template <typename A>
inline constexpr std::int64_t kWidth = static_cast<std::int64_t>(hn::MaxLanes(Tag<A>()));
// As many T as a Vec<A> has lanes.
template <typename T, typename A>
using Narrow = hn::Rebind<T, Tag<A>>;

template <typename A>
struct Vec {
  hn::Vec<Tag<A>> v;
};

template <typename A>
inline NORMGRAD_ALWAYS Vec<A> all(A value) {
  return {hn::Set(Tag<A>(), value)};
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> operator+(Vec<A> a, Vec<A> b) {
  return {hn::Add(a.v, b.v)};
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> operator-(Vec<A> a, Vec<A> b) {
  return {hn::Sub(a.v, b.v)};
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> operator*(Vec<A> a, Vec<A> b) {
  return {hn::Mul(a.v, b.v)};
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> operator/(Vec<A> a, Vec<A> b) {
  return {hn::Div(a.v, b.v)};
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> operator/(A a, Vec<A> b) {
  return all(a) / b;
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> square_root(Vec<A> a) {
  return {hn::Sqrt(a.v)};
}
// AVX2 and above also convert f16; SSE4 and above have the shuffles and blends that rounding to 16 bits wants.
#undef NORMGRAD_HAS_FMA
#define NORMGRAD_HAS_FMA (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)
#undef NORMGRAD_HAS_SHUFFLES
#define NORMGRAD_HAS_SHUFFLES (NORMGRAD_HAS_FMA || HWY_TARGET == HWY_SSE4)

// a + b and a - b to the last bit, by the units that multiply: on Zen the units that add also convert
// between f32 and f64, so that half of the additions are better done here (f32 BatchNorm sums: 2.5 -> 1.5
// cycles per 4 elements).
#if NORMGRAD_HAS_FMA
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> plus(Vec<A> a, Vec<A> b) {
  return {hn::MulAdd(a.v, hn::Set(Tag<A>(), A{1}), b.v)};
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> minus(Vec<A> a, Vec<A> b) {
  return {hn::MulSub(a.v, hn::Set(Tag<A>(), A{1}), b.v)};
}
// a*b - c and a*b + c for a and b that f32 has: f64 has their product exactly, so that fusing changes no bit.
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> product_minus(Vec<A> a, Vec<A> b, Vec<A> c) {
  if constexpr (std::is_same_v<A, double>) return {hn::MulSub(a.v, b.v, c.v)};
  return a * b - c;
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> product_plus(Vec<A> a, Vec<A> b, Vec<A> c) {
  if constexpr (std::is_same_v<A, double>) return {hn::MulAdd(a.v, b.v, c.v)};
  return a * b + c;
}
#else
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> product_minus(Vec<A> a, Vec<A> b, Vec<A> c) {
  return a * b - c;
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> product_plus(Vec<A> a, Vec<A> b, Vec<A> c) {
  return a * b + c;
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> plus(Vec<A> a, Vec<A> b) {
  return a + b;
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> minus(Vec<A> a, Vec<A> b) {
  return a - b;
}
#endif
// The first `count` lanes, +0 in the others, whatever stood there.
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> keep_first(Vec<A> a, std::int64_t count) {
  return {hn::IfThenElseZero(hn::FirstN(Tag<A>(), static_cast<std::size_t>(count)), a.v)};
}

// A Vec<float> as kWidening Vec<double>: the one of index kPart.
inline constexpr int kWidening = static_cast<int>(kWidth<float> / kWidth<double>);
template <int kPart>
inline NORMGRAD_ALWAYS Vec<double> widen(Vec<float> a) {
#if HWY_TARGET == HWY_SCALAR
  return {hn::PromoteTo(Tag<double>(), a.v)};
#else
  if constexpr (kPart == 0) {
    return {hn::PromoteTo(Tag<double>(), hn::LowerHalf(a.v))};
  } else {
    return {hn::PromoteTo(Tag<double>(), hn::UpperHalf(hn::Half<Tag<float>>(), a.v))};
  }
#endif
}

// How Highway calls an element type, and whether it converts it exactly to A and back.
template <typename T>
struct LaneOf {
  using Type = T;
};
template <>
struct LaneOf<BFloat> {
  using Type = std::uint16_t;
};
template <>
struct LaneOf<Half> {
  using Type = hwy::float16_t;
};
#if NORMGRAD_HAS_FMA || HWY_TARGET == HWY_NEON  // the processor itself converts f16
inline constexpr bool kConvertsHalf = true;
#else
inline constexpr bool kConvertsHalf = false;
#endif
template <typename A, typename T>
inline constexpr bool kConverts = std::is_same_v<T, float> ||
                                  (std::is_same_v<A, float> &&
                                   (std::is_same_v<T, BFloat> ||
                                    (std::is_same_v<T, Half> && kConvertsHalf)));

// Whether at least its numbers become vectors of A without a detour through memory.
template <typename A, typename T>
inline constexpr bool kPromotes = kConverts<A, T> || kConverts<float, T>;

template <typename A, typename T>
using NarrowTag = Narrow<typename LaneOf<T>::Type, A>;

#if HWY_TARGET == HWY_AVX3
// Between 16 numbers of 32 bits and 16 words that are their upper halves: one shuffle, where Highway has two or three
// operations.
inline NORMGRAD_ALWAYS __m512i upper_halves_of(__m256i words) {
  alignas(64) static constexpr std::uint16_t kFrom[32] = {
      0, 0, 1, 1, 2,  2,  3,  3,  4,  4,  5,  5,  6,  6,  7,  7,
      8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15};
  return _mm512_maskz_permutexvar_epi16(0xAAAAAAAAu, _mm512_load_si512(kFrom),
                                        _mm512_castsi256_si512(words));
}
inline NORMGRAD_ALWAYS __m256i upper_halves(__m512i numbers) {
  alignas(64) static constexpr std::uint16_t kFrom[32] = {1,  3,  5,  7,  9,  11, 13, 15,
                                                          17, 19, 21, 23, 25, 27, 29, 31};
  return _mm512_castsi512_si256(_mm512_permutexvar_epi16(_mm512_load_si512(kFrom), numbers));
}
#endif

template <typename A, typename T>
inline NORMGRAD_ALWAYS Vec<A> promote(hn::Vec<NarrowTag<A, T>> narrow) {
  const Tag<A> d;
#if HWY_TARGET == HWY_AVX3
  if constexpr (std::is_same_v<T, BFloat> && std::is_same_v<A, float>) {
    return {{_mm512_castsi512_ps(upper_halves_of(narrow.raw))}};
  }
#endif
  const Narrow<float, A> d32;
  const auto in_f32 = [&]() NORMGRAD_INLINE {
    if constexpr (std::is_same_v<T, BFloat>) {
      const Narrow<std::uint32_t, A> bits;
      return hn::BitCast(d32, hn::ShiftLeft<16>(hn::PromoteTo(bits, narrow)));
    } else if constexpr (std::is_same_v<T, Half>) {
      return hn::PromoteTo(d32, narrow);
    } else {
      return narrow;
    }
  }();
  if constexpr (std::is_same_v<A, float>) {
    return {in_f32};
  } else {
    return {hn::PromoteTo(d, in_f32)};
  }
}

// Loads kWidth<A> elements from any address.
template <typename A, typename T>
inline NORMGRAD_ALWAYS Vec<A> load(const T* from) {
  const Tag<A> d;
  if constexpr (std::is_same_v<A, T>) {
    return {hn::LoadU(d, from)};
  } else if constexpr (kPromotes<A, T>) {
    using Lane = typename LaneOf<T>::Type;
    return promote<A, T>(hn::LoadU(NarrowTag<A, T>(), reinterpret_cast<const Lane*>(from)));
  } else {
    A wide[kWidth<A>];
    for (std::int64_t j = 0; j < kWidth<A>; ++j)
      wide[j] = static_cast<A>(kernels::to_float(kernels::read(from + j)));
    return {hn::LoadU(d, wide)};
  }
}

// Rounded to bf16, in the upper half of each 32 bits; the lower half is rubbish.
inline NORMGRAD_ALWAYS hn::Vec<hn::RebindToUnsigned<Tag<float>>> bfloat_bits(Vec<float> a) {
  const hn::RebindToUnsigned<Tag<float>> d;
  const auto bits = hn::BitCast(d, a.v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1u));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(d, 0x7FFFu)), odd);
  return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(a.v)), hn::Set(d, 0x7FC00000u), rounded);
}

#if NORMGRAD_HAS_SHUFFLES
// The same for numbers and for a NaN that has nothing in the lower half of its bits: see rounded_pair().
inline NORMGRAD_ALWAYS hn::Vec<hn::RebindToUnsigned<Tag<float>>> rounded_bits(Vec<float> a) {
  const hn::RebindToUnsigned<Tag<float>> d;
  const auto bits = hn::BitCast(d, a.v);
  const auto half = hn::Add(bits, hn::Set(d, 0x7FFFu));
  const auto odd = hn::TestBit(bits, hn::Set(d, 0x10000u));
  return hn::IfThenElse(odd, hn::Add(half, hn::Set(d, 1u)), half);
}
#endif

// A vector of T, rounded once; `put` is how to write it: hn::StoreU, hn::Stream.
template <typename A, typename T, class Put>
inline NORMGRAD_ALWAYS void put_rounded(Vec<A> a, T* to, Put&& put) {
  if constexpr (std::is_same_v<A, T>) {
    put(a.v, Tag<A>(), to);
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128  // Highway's own clamp what overflows f32
  } else if constexpr (std::is_same_v<T, float>) {
    const Narrow<float, A> d32;
    put(hn::DemoteTo(d32, a.v), d32, to);
#endif
  } else if constexpr (std::is_same_v<T, BFloat> && std::is_same_v<A, float>) {
    const Narrow<std::uint16_t, A> d16;
    const hn::RebindToSigned<Tag<A>> d;
    const auto bits = hn::ShiftRight<16>(bfloat_bits(a));
    put(hn::DemoteTo(d16, hn::BitCast(d, bits)), d16, reinterpret_cast<std::uint16_t*>(to));
  } else if constexpr (std::is_same_v<T, Half> && kConverts<A, T>) {
    const Narrow<std::uint16_t, A> bits;
    put(hn::BitCast(bits, hn::DemoteTo(NarrowTag<A, T>(), a.v)), bits,
        reinterpret_cast<std::uint16_t*>(to));
  } else {
    A wide[kWidth<A>];
    hn::StoreU(a.v, Tag<A>(), wide);
    for (std::int64_t j = 0; j < kWidth<A>; ++j) kernels::write(to + j, kernels::round_to<T>(wide[j]));
  }
}
// To any address.
template <typename A, typename T>
inline NORMGRAD_ALWAYS void store(Vec<A> a, T* to) {
  put_rounded(a, to, [](auto v, auto d, auto* at) NORMGRAD_INLINE { hn::StoreU(v, d, at); });
}
#if NORMGRAD_HAS_SHUFFLES
// Whether f32 has these numbers, or their neighbours, as normal ones; not for NaN.
inline NORMGRAD_ALWAYS bool all_normal_in_f32(Vec<double> a) {
  const Tag<double> d;
  return hn::AllTrue(d,
                     hn::Or(hn::Ge(hn::Abs(a.v), hn::Set(d, 0x1p-126)), hn::Eq(a.v, hn::Zero(d))));
}
// kernels::round_to_odd of numbers that are normal in f32: digits that it has no room for are dropped and leave their mark
// in the last one kept.
inline NORMGRAD_ALWAYS hn::Vec<Narrow<float, double>> round_to_odd(Vec<double> a) {
  constexpr std::uint64_t kLast = std::uint64_t{1} << 29;
  const hn::RebindToUnsigned<Tag<double>> d;
  const auto bits = hn::BitCast(d, a.v);
  const auto dropped = hn::Set(d, kLast - 1);
  const auto exact = hn::Eq(hn::And(bits, dropped), hn::Zero(d));
  const auto odd = hn::Or(hn::AndNot(dropped, bits), hn::Set(d, kLast));
  const auto kept = hn::BitCast(Tag<double>(), hn::IfThenElse(exact, bits, odd));
  return hn::DemoteTo(Narrow<float, double>(), kept);
}
#endif
// Two vectors side by side. A NaN to be stored as bf16 must have nothing in the lower half of its bits.
template <typename A, typename T>
inline NORMGRAD_ALWAYS void store2(Vec<A> a, Vec<A> b, T* to) {
#if NORMGRAD_HAS_SHUFFLES
  if constexpr (std::is_same_v<A, double> && sizeof(T) == 2) {
    if (all_normal_in_f32(a) && all_normal_in_f32(b)) {
      return store(Vec<float>{hn::Combine(Tag<float>(), round_to_odd(b), round_to_odd(a))}, to);
    }
  }
#endif
#if HWY_TARGET == HWY_AVX3
  if constexpr (std::is_same_v<T, BFloat> && std::is_same_v<A, float>) {
    for (const auto& [v, at] : {std::pair(a, to), std::pair(b, to + kWidth<A>)}) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), upper_halves(rounded_bits(v).raw));
    }
    return;
  }
#elif NORMGRAD_HAS_SHUFFLES  // one store of the upper halves of both
  if constexpr (std::is_same_v<T, BFloat> && std::is_same_v<A, float>) {
    const hn::Repartition<std::uint16_t, Tag<float>> d;
    const auto upper = [&](Vec<float> v)
                           NORMGRAD_INLINE { return hn::BitCast(d, rounded_bits(v)); };
    hn::StoreU(hn::ConcatOdd(d, upper(b), upper(a)), d, reinterpret_cast<std::uint16_t*>(to));
    return;
  }
#endif
  store(a, to);
  store(b, to + kWidth<A>);
}
inline constexpr bool kStreams = true;
// Past the cache, to an address aligned to 16 bytes. End with stream_fence(). Highway writes whole
// 16 bytes however short the vector is, so shorter ones go the ordinary way.
template <typename A, typename T>
inline NORMGRAD_ALWAYS void stream(Vec<A> a, T* to) {
  if constexpr (kWidth<A> * sizeof(T) >= 16) {
    put_rounded(a, to, [](auto v, auto d, auto* at) NORMGRAD_INLINE { hn::Stream(v, d, at); });
  } else {
    store(a, to);
  }
}
inline NORMGRAD_ALWAYS void stream_fence() { hwy::FlushStream(); }

#if HWY_TARGET == HWY_AVX2
// bf16 as pairs of vectors, one of the even and one of the odd elements: no element changes its place within its 32
// bits, so there is nothing to shuffle.
template <typename T, typename A>
inline constexpr bool kAlternates = std::is_same_v<T, BFloat>&& std::is_same_v<A, float>;

using PairBits = hn::Vec<hn::RebindToUnsigned<Tag<float>>>;
template <int kOdd>
inline NORMGRAD_ALWAYS Vec<float> alternate_of(PairBits both) {
  const Tag<float> d;
  const hn::RebindToUnsigned<Tag<float>> d32;
  if constexpr (kOdd == 1) return {hn::BitCast(d, hn::And(both, hn::Set(d32, 0xFFFF0000u)))};
  return {hn::BitCast(d, hn::ShiftLeft<16>(both))};
}
template <int kOdd>
inline NORMGRAD_ALWAYS Vec<float> load_alternate(const BFloat* from) {
  const hn::RebindToUnsigned<Tag<float>> d32;
  return alternate_of<kOdd>(hn::LoadU(d32, reinterpret_cast<const std::uint32_t*>(from)));
}
// A NaN must have nothing in the lower half of its bits, or rounding might carry it away. So have those of bf16 inputs
// and of invalid operations; weights and statistics lose theirs when they are read.
inline NORMGRAD_ALWAYS hn::Vec<hn::Repartition<std::uint16_t, Tag<float>>> rounded_pair(
    Vec<float> even, Vec<float> odd) {
  const hn::RebindToUnsigned<Tag<float>> d;
  const hn::Repartition<std::uint16_t, Tag<float>> d16;
  const auto rounded = [&](Vec<float> a) NORMGRAD_INLINE {
    const auto bits = hn::BitCast(d, a.v);
    // Half of the last digit that is kept, or, if that is even, a little less.
    const Tag<float> f;
    const auto half = hn::IfNegativeThenElse(hn::BitCast(f, hn::ShiftLeft<15>(bits)),
                                             hn::BitCast(f, hn::Set(d, 0x8000u)),
                                             hn::BitCast(f, hn::Set(d, 0x7FFFu)));
    return hn::Add(bits, hn::BitCast(d, half));
  };
  const auto low = hn::BitCast(d16, hn::ShiftRight<16>(rounded(even)));
  const auto high = hn::BitCast(d16, rounded(odd));
  return hn::OddEven(high, low);
}
template <bool kStreamed = false>
inline NORMGRAD_ALWAYS void store_alternate(Vec<float> even, Vec<float> odd, BFloat* to) {
  const hn::Repartition<std::uint16_t, Tag<float>> d16;
  const auto both = rounded_pair(even, odd);
  if constexpr (kStreamed) {
    hn::Stream(both, d16, reinterpret_cast<std::uint16_t*>(to));
  } else {
    hn::StoreU(both, d16, reinterpret_cast<std::uint16_t*>(to));
  }
}
// The elements of a pair in their order.
inline NORMGRAD_ALWAYS void put_in_order(Vec<float>& even, Vec<float>& odd) {
  const Tag<float> d;
  const auto lower = hn::InterleaveLower(d, even.v, odd.v);
  const auto upper = hn::InterleaveUpper(d, even.v, odd.v);
  even.v = hn::ConcatLowerLower(d, upper, lower);
  odd.v = hn::ConcatUpperUpper(d, upper, lower);
}
#else
template <typename T, typename A>
inline constexpr bool kAlternates = false;
#endif

NORMGRAD_TARGET_END
#endif  // NORMGRAD_PLAIN
#endif
