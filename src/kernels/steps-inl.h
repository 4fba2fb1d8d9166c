// Walks along elements: whole vectors, what is left at the end of a row, bf16 in pairs that alternate.
#if defined(NORMGRAD_KERNELS_STEPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_KERNELS_STEPS_INL_H
#undef NORMGRAD_KERNELS_STEPS_INL_H
#else
#define NORMGRAD_KERNELS_STEPS_INL_H
#endif

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/vectors-inl.h"

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

// Vectors that are worked on side by side, where sums stay in registers meanwhile.
inline constexpr int kStripVectors = 4;
// The cache lines that so many vectors of A take as elements of type T: one, or two where vectors have 64 bytes.
template <typename T, typename A, int kVectors>
inline constexpr int kLines = static_cast<int>((kVectors * kWidth<A> * sizeof(T) + 63) / 64);

// Masks that leave memory beyond them alone: AVX2 has them, SSE4 has not.
#undef NORMGRAD_FAST_PARTS
#if !NORMGRAD_PLAIN && HWY_TARGET == HWY_AVX2
#define NORMGRAD_FAST_PARTS 1
#else
#define NORMGRAD_FAST_PARTS 0
#endif

// And for elements of any size: AVX-512.
#undef NORMGRAD_MASKED_PARTS
#if !NORMGRAD_PLAIN && HWY_TARGET == HWY_AVX3
#define NORMGRAD_MASKED_PARTS 1
template <typename T>
using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint32_t>;
#else
#define NORMGRAD_MASKED_PARTS 0
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
#if NORMGRAD_MASKED_PARTS
  if constexpr (std::is_same_v<A, T>) {
    const Tag<A> d;
    return {hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(part.count)), d, from)};
  } else if constexpr (kPromotes<A, T>) {
    const hn::Rebind<Bits<T>, Tag<A>> d;
    const auto first = hn::FirstN(d, static_cast<std::size_t>(part.count));
    const auto bits = hn::MaskedLoad(first, d, reinterpret_cast<const Bits<T>*>(from));
    return promote<A, T>(hn::BitCast(NarrowTag<A, T>(), bits));
  } else
#elif NORMGRAD_FAST_PARTS
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
#if NORMGRAD_MASKED_PARTS
  if constexpr (std::is_same_v<A, T>) {
    const Tag<A> d;
    hn::BlendedStore(a.v, hn::FirstN(d, static_cast<std::size_t>(part.count)), d, to);
    return;
  } else if constexpr (kConverts<A, T>) {
    const hn::Rebind<Bits<T>, Tag<A>> d;
    put_rounded(a, to, [&](auto v, auto, auto* at) NORMGRAD_INLINE {
      const auto first = hn::FirstN(d, static_cast<std::size_t>(part.count));
      hn::BlendedStore(hn::BitCast(d, v), first, d, reinterpret_cast<Bits<T>*>(at));
    });
    return;
  }
#elif NORMGRAD_FAST_PARTS
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
  const auto last = hn::Set(d, std::uint32_t{kernels::read(from + part.count - 1).bits});
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

// What a walk calls about once per cache line, to bring in what is needed later: nothing.
struct NoFetch {
  NORMGRAD_ALWAYS void operator()(std::int64_t) const {}
};

// body(i, Whole) for each whole vector of [0, n), and body(i, Part) for the rest.
template <typename A, class Body>
inline NORMGRAD_ALWAYS void for_vectors(std::int64_t n, Body&& body) {
  std::int64_t i = 0;
  for (; i + kWidth<A> <= n; i += kWidth<A>) body(i, Whole());
  if (i < n) body(i, Part{n - i});
}

NORMGRAD_TARGET_END
#endif
