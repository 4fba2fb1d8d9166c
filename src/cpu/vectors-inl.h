// Vec<A>: kWidth<A> numbers of the arithmetic type A in one vector, its loads from and stores to
// every element type, and walks along elements. The only vector code that knows element types; the
// plain path has the same interface in vectors_plain-inl.h. kWidth divides the 16 lanes of the
// summation tree.
#if defined(NORMGRAD_CPU_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_CPU_VECTORS_INL_H
#undef NORMGRAD_CPU_VECTORS_INL_H
#else
#define NORMGRAD_CPU_VECTORS_INL_H
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "cpu/element.h"
#include "cpu/target-inl.h"

#if NORMGRAD_PLAIN
#include "cpu/vectors_plain-inl.h"
#else
#include <hwy/cache_control.h>

NORMGRAD_TARGET_BEGIN
namespace hn = hwy::HWY_NAMESPACE;
using cpu::BFloat;
using cpu::Half;

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
HWY_INLINE Vec<A> all(A value) {
  return {hn::Set(Tag<A>(), value)};
}
template <typename A>
HWY_INLINE Vec<A> operator+(Vec<A> a, Vec<A> b) {
  return {hn::Add(a.v, b.v)};
}
template <typename A>
HWY_INLINE Vec<A> operator-(Vec<A> a, Vec<A> b) {
  return {hn::Sub(a.v, b.v)};
}
template <typename A>
HWY_INLINE Vec<A> operator*(Vec<A> a, Vec<A> b) {
  return {hn::Mul(a.v, b.v)};
}
template <typename A>
HWY_INLINE Vec<A> operator/(Vec<A> a, Vec<A> b) {
  return {hn::Div(a.v, b.v)};
}
template <typename A>
HWY_INLINE Vec<A> operator/(A a, Vec<A> b) {
  return all(a) / b;
}
template <typename A>
HWY_INLINE Vec<A> square_root(Vec<A> a) {
  return {hn::Sqrt(a.v)};
}
// a + b and a - b to the last bit, by the units that multiply: on Zen the units that add also convert
// between f32 and f64, so that half of the additions are better done here (f32 BatchNorm sums: 2.5 -> 1.5
// cycles per 4 elements).
#if HWY_TARGET == HWY_AVX2
template <typename A>
HWY_INLINE Vec<A> plus(Vec<A> a, Vec<A> b) {
  return {hn::MulAdd(a.v, hn::Set(Tag<A>(), A{1}), b.v)};
}
template <typename A>
HWY_INLINE Vec<A> minus(Vec<A> a, Vec<A> b) {
  return {hn::MulSub(a.v, hn::Set(Tag<A>(), A{1}), b.v)};
}
// a*b - c for a and b that f32 has: f64 has their product exactly, so that fusing changes no bit.
template <typename A>
HWY_INLINE Vec<A> product_minus(Vec<A> a, Vec<A> b, Vec<A> c) {
  if constexpr (std::is_same_v<A, double>) return {hn::MulSub(a.v, b.v, c.v)};
  return a * b - c;
}
#else
template <typename A>
HWY_INLINE Vec<A> product_minus(Vec<A> a, Vec<A> b, Vec<A> c) {
  return a * b - c;
}
template <typename A>
HWY_INLINE Vec<A> plus(Vec<A> a, Vec<A> b) {
  return a + b;
}
template <typename A>
HWY_INLINE Vec<A> minus(Vec<A> a, Vec<A> b) {
  return a - b;
}
#endif
// The first `count` lanes, +0 in the others, whatever stood there.
template <typename A>
HWY_INLINE Vec<A> keep_first(Vec<A> a, std::int64_t count) {
  return {hn::IfThenElseZero(hn::FirstN(Tag<A>(), static_cast<std::size_t>(count)), a.v)};
}

// A Vec<float> as kWidening Vec<double>: the one of index kPart.
inline constexpr int kWidening = static_cast<int>(kWidth<float> / kWidth<double>);
template <int kPart>
HWY_INLINE Vec<double> widen(Vec<float> a) {
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
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON  // the processor itself converts f16
inline constexpr bool kConvertsHalf = true;
#else
inline constexpr bool kConvertsHalf = false;
#endif
template <typename A, typename T>
inline constexpr bool kConverts = std::is_same_v<T, float> ||
                                  (std::is_same_v<A, float> &&
                                   (std::is_same_v<T, BFloat> ||
                                    (std::is_same_v<T, Half> && kConvertsHalf)));

template <typename A, typename T>
using NarrowTag = Narrow<typename LaneOf<T>::Type, A>;

template <typename A, typename T>
HWY_INLINE Vec<A> promote(hn::Vec<NarrowTag<A, T>> narrow) {
  const Tag<A> d;
  if constexpr (std::is_same_v<T, BFloat>) {
    const hn::RebindToUnsigned<Tag<A>> d32;
    return {hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, narrow)))};
  } else {
    return {hn::PromoteTo(d, narrow)};
  }
}

// Loads kWidth<A> elements from any address.
template <typename A, typename T>
HWY_INLINE Vec<A> load(const T* from) {
  const Tag<A> d;
  if constexpr (std::is_same_v<A, T>) {
    return {hn::LoadU(d, from)};
  } else if constexpr (kConverts<A, T>) {
    using Lane = typename LaneOf<T>::Type;
    return promote<A, T>(hn::LoadU(NarrowTag<A, T>(), reinterpret_cast<const Lane*>(from)));
  } else {
    A wide[kWidth<A>];
    for (std::int64_t j = 0; j < kWidth<A>; ++j)
      wide[j] = static_cast<A>(cpu::to_float(cpu::read(from + j)));
    return {hn::LoadU(d, wide)};
  }
}

// Rounded to bf16, in the upper half of each 32 bits; the lower half is rubbish.
HWY_INLINE hn::Vec<hn::RebindToUnsigned<Tag<float>>> bfloat_bits(Vec<float> a) {
  const hn::RebindToUnsigned<Tag<float>> d;
  const auto bits = hn::BitCast(d, a.v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1u));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(d, 0x7FFFu)), odd);
  return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(a.v)), hn::Set(d, 0x7FC00000u), rounded);
}

// A vector of T, rounded once; `put` is how to write it: hn::StoreU, hn::Stream.
template <typename A, typename T, class Put>
HWY_INLINE void put_rounded(Vec<A> a, T* to, Put&& put) {
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
    for (std::int64_t j = 0; j < kWidth<A>; ++j) cpu::write(to + j, cpu::round_to<T>(wide[j]));
  }
}
// To any address.
template <typename A, typename T>
HWY_INLINE void store(Vec<A> a, T* to) {
  put_rounded(a, to, [](auto v, auto d, auto* at) NORMGRAD_INLINE { hn::StoreU(v, d, at); });
}
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4
// Whether f32 has these numbers, or their neighbours, as normal ones; not for NaN.
HWY_INLINE bool all_normal_in_f32(Vec<double> a) {
  const Tag<double> d;
  return hn::AllTrue(d,
                     hn::Or(hn::Ge(hn::Abs(a.v), hn::Set(d, 0x1p-126)), hn::Eq(a.v, hn::Zero(d))));
}
// cpu::round_to_odd of numbers that are normal in f32: digits that it has no room for are dropped and leave their mark
// in the last one kept.
HWY_INLINE hn::Vec<Narrow<float, double>> round_to_odd(Vec<double> a) {
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
// Two vectors side by side.
template <typename A, typename T>
HWY_INLINE void store2(Vec<A> a, Vec<A> b, T* to) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4
  if constexpr (std::is_same_v<A, double> && sizeof(T) == 2) {
    if (all_normal_in_f32(a) && all_normal_in_f32(b)) {
      return store(Vec<float>{hn::Combine(Tag<float>(), round_to_odd(b), round_to_odd(a))}, to);
    }
  }
#endif
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4  // one store of the upper halves of both
  if constexpr (std::is_same_v<T, BFloat> && std::is_same_v<A, float>) {
    const hn::Repartition<std::uint16_t, Tag<float>> d;
    hn::StoreU(hn::ConcatOdd(d, hn::BitCast(d, bfloat_bits(b)), hn::BitCast(d, bfloat_bits(a))), d,
               reinterpret_cast<std::uint16_t*>(to));
    return;
  }
#endif
  store(a, to);
  store(b, to + kWidth<A>);
}
// Past the cache, to an address aligned to 16 bytes. End with stream_fence(). Highway writes whole
// 16 bytes however short the vector is, so shorter ones go the ordinary way.
template <typename A, typename T>
HWY_INLINE void stream(Vec<A> a, T* to) {
  if constexpr (kWidth<A> * sizeof(T) >= 16) {
    put_rounded(a, to, [](auto v, auto d, auto* at) NORMGRAD_INLINE { hn::Stream(v, d, at); });
  } else {
    store(a, to);
  }
}
HWY_INLINE void stream_fence() { hwy::FlushStream(); }

#if HWY_TARGET == HWY_AVX2
// bf16 as pairs of vectors, one of the even and one of the odd elements: no element changes its place within its 32
// bits, so there is nothing to shuffle.
template <typename T, typename A>
inline constexpr bool kAlternates = std::is_same_v<T, BFloat>&& std::is_same_v<A, float>;

using PairBits = hn::Vec<hn::RebindToUnsigned<Tag<float>>>;
template <int kOdd>
HWY_INLINE Vec<float> alternate_of(PairBits both) {
  const Tag<float> d;
  const hn::RebindToUnsigned<Tag<float>> d32;
  if constexpr (kOdd == 1) return {hn::BitCast(d, hn::And(both, hn::Set(d32, 0xFFFF0000u)))};
  return {hn::BitCast(d, hn::ShiftLeft<16>(both))};
}
template <int kOdd>
HWY_INLINE Vec<float> load_alternate(const BFloat* from) {
  const hn::RebindToUnsigned<Tag<float>> d32;
  return alternate_of<kOdd>(hn::LoadU(d32, reinterpret_cast<const std::uint32_t*>(from)));
}
// A NaN must have nothing in the lower half of its bits, or rounding might carry it away. So have those of bf16 inputs
// and of invalid operations; weights and statistics lose theirs when they are read.
HWY_INLINE hn::Vec<hn::Repartition<std::uint16_t, Tag<float>>> rounded_pair(Vec<float> even,
                                                                            Vec<float> odd) {
  const hn::RebindToUnsigned<Tag<float>> d;
  const hn::Repartition<std::uint16_t, Tag<float>> d16;
  const auto rounded = [&](Vec<float> a) NORMGRAD_INLINE {
    const auto bits = hn::BitCast(d, a.v);
    const auto last = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1u));
    return hn::Add(hn::Add(bits, hn::Set(d, 0x7FFFu)), last);
  };
  const auto low = hn::BitCast(d16, hn::ShiftRight<16>(rounded(even)));
  const auto high = hn::BitCast(d16, rounded(odd));
  return hn::OddEven(high, low);
}
template <bool kStreamed = false>
HWY_INLINE void store_alternate(Vec<float> even, Vec<float> odd, BFloat* to) {
  const hn::Repartition<std::uint16_t, Tag<float>> d16;
  const auto both = rounded_pair(even, odd);
  if constexpr (kStreamed) {
    hn::Stream(both, d16, reinterpret_cast<std::uint16_t*>(to));
  } else {
    hn::StoreU(both, d16, reinterpret_cast<std::uint16_t*>(to));
  }
}
// The elements of a pair in their order.
HWY_INLINE void put_in_order(Vec<float>& even, Vec<float>& odd) {
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

NORMGRAD_TARGET_BEGIN

// body(std::integral_constant<int, 0>) ... body(<N - 1>): an index into registers must be a
// constant.
template <int kCount, class Body>
inline NORMGRAD_ALWAYS void unroll(Body&& body) {
  [&]<int... I>(std::integer_sequence<int, I...>) NORMGRAD_INLINE {
    (body(std::integral_constant<int, I>()), ...);
  }
  (std::make_integer_sequence<int, kCount>());
}

// Masks that leave memory beyond them alone: AVX2 has them, SSE4 has not.
#undef NORMGRAD_FAST_PARTS
#if !NORMGRAD_PLAIN && HWY_TARGET == HWY_AVX2
#define NORMGRAD_FAST_PARTS 1
#else
#define NORMGRAD_FAST_PARTS 0
#endif

// How much of a vector a step of a walk covers.
struct Whole {};
struct Part {
  std::int64_t count;  // less than kWidth
};

template <typename A, typename T>
inline NORMGRAD_ALWAYS Vec<A> load(const T* from, Whole) {
  return load<A>(from);
}

// The first `bytes` (even, less than 16) at an address, as two words: no call, and nothing goes through memory.
struct TwoWords {
  std::uint64_t low = 0, high = 0;
};
template <typename Word>
inline NORMGRAD_ALWAYS Word read_word(const void* from, std::int64_t offset) {
  Word word;
  std::memcpy(&word, static_cast<const char*>(from) + offset, sizeof(word));
  return word;
}
inline NORMGRAD_ALWAYS TwoWords read_part(const void* from, std::int64_t bytes) {
  std::uint64_t last = 0;  // what does not fill a word
  if ((bytes & 2) != 0) last = read_word<std::uint16_t>(from, bytes & 12);
  if ((bytes & 4) != 0) last = last << 32 | read_word<std::uint32_t>(from, bytes & 8);
  if ((bytes & 8) == 0) return {last, 0};
  return {read_word<std::uint64_t>(from, 0), last};
}
inline NORMGRAD_ALWAYS void write_part(TwoWords words, void* to, std::int64_t bytes) {
  auto* at = static_cast<char*>(to);
  std::uint64_t last = words.low;
  if ((bytes & 8) != 0) {
    std::memcpy(at, &words.low, 8);
    at += 8;
    last = words.high;
  }
  if ((bytes & 4) != 0) {
    std::memcpy(at, &last, 4);
    at += 4;
    last >>= 32;
  }
  if ((bytes & 2) != 0) std::memcpy(at, &last, 2);
}

#if NORMGRAD_FAST_PARTS
template <class V>
inline NORMGRAD_ALWAYS TwoWords words_of(V v) {
  const hn::Full128<std::uint64_t> d;
  const auto words = hn::BitCast(d, v);
  return {hn::GetLane(words), hn::GetLane(hn::Shuffle01(words))};
}
#endif

template <typename A, typename T>
inline NORMGRAD_ALWAYS Vec<A> load(const T* from, Part part) {
#if NORMGRAD_FAST_PARTS
  if constexpr (std::is_same_v<A, T>) {
    const Tag<A> d;
    return {hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(part.count)), d, from)};
  } else if constexpr (kConverts<A, T> && kWidth<A> * sizeof(T) == 16) {
    const hn::Full128<std::uint64_t> d;
    const TwoWords words = read_part(from, part.count * std::int64_t{sizeof(T)});
    const auto bits = hn::InterleaveLower(d, hn::Set(d, words.low), hn::Set(d, words.high));
    return promote<A, T>(hn::BitCast(NarrowTag<A, T>(), bits));
  } else
#endif
  {
    T padded[kWidth<A>] = {};
    std::memcpy(static_cast<void*>(padded), static_cast<const void*>(from),
                static_cast<std::size_t>(part.count) * sizeof(T));
    return load<A>(padded);
  }
}
template <typename A, typename T>
inline NORMGRAD_ALWAYS void store(Vec<A> a, T* to, Whole) {
  store(a, to);
}
template <typename A, typename T>
inline NORMGRAD_ALWAYS void store(Vec<A> a, T* to, Part part) {
#if NORMGRAD_FAST_PARTS
  if constexpr (std::is_same_v<A, T>) {
    const Tag<A> d;
    hn::BlendedStore(a.v, hn::FirstN(d, static_cast<std::size_t>(part.count)), d, to);
    return;
  } else if constexpr (kConverts<A, T> && kWidth<A> * sizeof(T) == 16) {
    put_rounded(a, to, [&](auto v, auto, auto* at) NORMGRAD_INLINE {
      write_part(words_of(v), at, part.count * std::int64_t{sizeof(T)});
    });
    return;
  }
#endif
  T padded[kWidth<A>];
  store(a, padded);
  std::memcpy(static_cast<void*>(to), static_cast<const void*>(padded),
              static_cast<std::size_t>(part.count) * sizeof(T));
}
// A vector of a pair that alternates: the even or the odd ones of 2*kWidth elements, or of the first `count` of them.
template <int kOdd>
struct Alternate {};
template <int kOdd>
struct AlternatePart {
  std::int64_t count;
};
template <typename A, typename T, int kOdd>
inline NORMGRAD_ALWAYS Vec<A> load(const T* from, Alternate<kOdd>) {
  return load_alternate<kOdd>(from);
}
template <typename A, typename T, int kOdd>
inline NORMGRAD_ALWAYS Vec<A> load(const T* from, [[maybe_unused]] AlternatePart<kOdd> part) {
#if NORMGRAD_FAST_PARTS
  // Whole pairs by a mask; an element without a partner is the lower half of the next 32 bits.
  const hn::RebindToUnsigned<Tag<float>> d;
  const auto pairs = hn::FirstN(d, static_cast<std::size_t>(part.count / 2));
  const auto some = hn::FirstN(d, static_cast<std::size_t>((part.count + 1) / 2));
  const auto last = hn::Set(d, std::uint32_t{cpu::read(from + part.count - 1).bits});
  const auto single = hn::IfThenElseZero(hn::AndNot(pairs, some), last);
  const auto both = hn::MaskedLoad(pairs, d, reinterpret_cast<const std::uint32_t*>(from));
  return alternate_of<kOdd>(hn::Or(both, single));
#else
  return load_alternate<kOdd>(from);  // there is none
#endif
}
template <typename A, typename T>
inline NORMGRAD_ALWAYS void store_alternate(Vec<A> even, Vec<A> odd, T* to, Whole) {
  store_alternate(even, odd, to);
}
template <typename A, typename T>
inline NORMGRAD_ALWAYS void store_alternate(Vec<A> even, Vec<A> odd, T* to,
                                            [[maybe_unused]] Part part) {
#if NORMGRAD_FAST_PARTS
  const hn::Full128<std::uint16_t> d;
  const auto both = rounded_pair(even, odd);
  const std::int64_t first = std::min(part.count, kWidth<A>);
  if (first == kWidth<A>) {
    hn::StoreU(hn::LowerHalf(d, both), d, reinterpret_cast<std::uint16_t*>(to));
  } else {
    write_part(words_of(hn::LowerHalf(d, both)), to, first * 2);
  }
  if (part.count > kWidth<A>) {
    write_part(words_of(hn::UpperHalf(d, both)), to + kWidth<A>, (part.count - kWidth<A>)*2);
  }
#else
  store_alternate(even, odd, to);     // there is none
#endif
}

// The order of elements in consecutive vectors: one after the other, or in pairs that alternate. Vector kIndex of those
// that begin at an element: how far on it is loaded, and by which step.
template <bool kAlternating, int kIndex, typename A>
inline constexpr std::int64_t kOffset = (kAlternating ? kIndex / 2 * 2 : kIndex) * kWidth<A>;
template <bool kAlternating, int kIndex>
inline NORMGRAD_ALWAYS auto step_of(Whole) {
  return std::conditional_t<kAlternating, Alternate<kIndex % 2>, Whole>();
}
template <bool kAlternating, int kIndex>
inline NORMGRAD_ALWAYS auto step_of(Part part) {
  return std::conditional_t<kAlternating, AlternatePart<kIndex % 2>, Part>{part.count};
}

// Lanes past the end are left out of a sum, never multiplied by zero: what stands there may have
// become NaN.
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> keep(Vec<A> a, Whole) {
  return a;
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> keep(Vec<A> a, Part part) {
  return keep_first(a, part.count);
}
template <typename A, int kOdd>
inline NORMGRAD_ALWAYS Vec<A> keep(Vec<A> a, Alternate<kOdd>) {
  return a;
}
template <typename A, int kOdd>
inline NORMGRAD_ALWAYS Vec<A> keep(Vec<A> a, AlternatePart<kOdd> part) {
  return keep_first(a, (part.count + 1 - kOdd) / 2);
}

// body(i, Whole) for each whole vector of [0, n), and body(i, Part) for the rest.
template <typename A, class Body>
inline NORMGRAD_ALWAYS void for_vectors(std::int64_t n, Body&& body) {
  std::int64_t i = 0;
  for (; i + kWidth<A> <= n; i += kWidth<A>) body(i, Whole());
  if (i < n) body(i, Part{n - i});
}

NORMGRAD_TARGET_END
#endif
