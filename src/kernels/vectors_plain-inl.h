// Vec<A> in plain C++, with vectors as g++ and clang have them for every processor: the same interface as the one in
// vectors-inl.h, which includes this.
#ifndef NORMGRAD_KERNELS_VECTORS_PLAIN_INL_H
#define NORMGRAD_KERNELS_VECTORS_PLAIN_INL_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/element.h"

namespace normgrad::plain {
using kernels::BFloat;
using kernels::Half;

// 16 bytes, which every x86-64 and arm64 has. A loop over lanes instead, for the compiler to find vectors in, takes 3 times
// as long to compile, and 1 to 1.2 (f32) or 1.2 to 2 times (16-bit data) as long to run.
template <typename A>
inline constexpr std::int64_t kWidth = 16 / sizeof(A);

template <typename E, std::int64_t kCount>
struct LanesOf {
  typedef E Type __attribute__((vector_size(kCount * sizeof(E))));
};
template <typename E, std::int64_t kCount>
using Lanes = typename LanesOf<E, kCount>::Type;

template <typename A>
struct Vec {
  Lanes<A, kWidth<A>> v;
};

// Lane by lane.
template <typename A, class F>
inline NORMGRAD_ALWAYS Vec<A> each(F&& f) {
  Vec<A> r;
  for (std::int64_t j = 0; j < kWidth<A>; ++j) r.v[j] = f(j);
  return r;
}

template <typename A>
inline NORMGRAD_ALWAYS Vec<A> all(A value) {
  return {value - Lanes<A, kWidth<A>>{}};  // -0, too
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> operator+(Vec<A> a, Vec<A> b) {
  return {a.v + b.v};
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> operator-(Vec<A> a, Vec<A> b) {
  return {a.v - b.v};
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> operator*(Vec<A> a, Vec<A> b) {
  return {a.v * b.v};
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> operator/(Vec<A> a, Vec<A> b) {
  return {a.v / b.v};
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> operator/(A a, Vec<A> b) {
  return all(a) / b;
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> square_root(Vec<A> a) {
  return each<A>([&](std::int64_t j) NORMGRAD_INLINE { return std::sqrt(a.v[j]); });
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> plus(Vec<A> a, Vec<A> b) {
  return a + b;
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> minus(Vec<A> a, Vec<A> b) {
  return a - b;
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> product_minus(Vec<A> a, Vec<A> b, Vec<A> c) {
  return a * b - c;
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> product_plus(Vec<A> a, Vec<A> b, Vec<A> c) {
  return a * b + c;
}
template <typename A>
inline NORMGRAD_ALWAYS Vec<A> keep_first(Vec<A> a, std::int64_t count) {
  return each<A>([&](std::int64_t j) NORMGRAD_INLINE { return j < count ? a.v[j] : A{0}; });
}

inline constexpr int kWidening = 2;
template <int kPart>
inline NORMGRAD_ALWAYS Vec<double> widen(Vec<float> a) {
  const Lanes<float, 2> half = {a.v[2 * kPart], a.v[2 * kPart + 1]};
  return {__builtin_convertvector(half, Lanes<double, 2>)};
}

// 16-bit numbers as f32 and back: what kernels::to_float and kernels::round_to do, several at once.
template <std::int64_t kCount>
using Words = Lanes<std::int32_t, kCount>;

template <typename T, std::int64_t kCount>
inline NORMGRAD_ALWAYS Lanes<float, kCount> to_floats(Words<kCount> bits) {
  using W = Words<kCount>;
  using F = Lanes<float, kCount>;
  if constexpr (std::is_same_v<T, BFloat>) return std::bit_cast<F>(bits << 16);
  const W magnitude = bits & 0x7FFF;
  const W sign = (bits ^ magnitude) << 16;
  const W normal = (magnitude << 13) + (112 << 23);
  const W special = (normal + (112 << 23)) | (magnitude > 0x7C00 ? W{} + 0x00400000 : W{});
  const auto subnormal = std::bit_cast<W>(__builtin_convertvector(magnitude, F) * 0x1p-24f);
  const W finite = magnitude < 0x0400 ? subnormal : normal;
  return std::bit_cast<F>(sign | (magnitude < 0x7C00 ? finite : special));
}
template <typename T, std::int64_t kCount>
inline NORMGRAD_ALWAYS Words<kCount> round_floats(Lanes<float, kCount> value) {
  using W = Words<kCount>;
  const auto bits = std::bit_cast<W>(value);
  const W magnitude = bits & 0x7FFFFFFF;
  if constexpr (std::is_same_v<T, BFloat>) {
    const auto wrapping = std::bit_cast<Lanes<std::uint32_t, kCount>>(bits);  // NaNs may overflow
    const auto rounded = std::bit_cast<W>(wrapping + 0x7FFFu + (wrapping >> 16 & 1u));
    return (magnitude > 0x7F800000 ? bits | 0x00400000 : rounded) >> 16;
  }
  const W normal = (magnitude - (112 << 23) + 0xFFF + (magnitude >> 13 & 1)) >> 13;
  const auto shifted = std::bit_cast<Lanes<float, kCount>>(magnitude) + 0.5f;
  const W subnormal = std::bit_cast<W>(shifted) - std::bit_cast<std::int32_t>(0.5f);
  const W finite = magnitude < 0x38800000 ? subnormal : normal;
  const W nan = (magnitude >> 13 & 0x3FF) | 0x7E00;
  const W special = magnitude > 0x7F800000 ? nan : W{} + 0x7C00;
  return (bits >> 16 & 0x8000) | (magnitude < 0x477FF000 ? finite : special);
}

template <class V>
inline NORMGRAD_ALWAYS V read_lanes(const void* from) {
  V v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
template <typename A, typename T>
inline NORMGRAD_ALWAYS Vec<A> load(const T* from) {
  constexpr std::int64_t kCount = kWidth<A>;
  if constexpr (std::is_same_v<A, T>) {
    return {read_lanes<Lanes<A, kCount>>(from)};
  } else if constexpr (std::is_same_v<T, float>) {
    return {__builtin_convertvector((read_lanes<Lanes<float, kCount>>(from)), Lanes<A, kCount>)};
  } else {
    static_assert(sizeof(T) == 2);
    const auto bits = read_lanes<Lanes<std::uint16_t, kCount>>(from);
    const auto value = to_floats<T, kCount>(__builtin_convertvector(bits, Words<kCount>));
    return {__builtin_convertvector(value, Lanes<A, kCount>)};
  }
}
template <typename A, typename T>
inline NORMGRAD_ALWAYS void store(Vec<A> a, T* to) {
  constexpr std::int64_t kCount = kWidth<A>;
  if constexpr (std::is_same_v<A, T>) {
    std::memcpy(to, &a, sizeof(a));
  } else if constexpr (std::is_same_v<T, float>) {
    const auto narrow = __builtin_convertvector(a.v, Lanes<float, kCount>);
    std::memcpy(to, &narrow, sizeof(narrow));
  } else if constexpr (std::is_same_v<A, float>) {
    static_assert(sizeof(T) == 2);
    const auto narrow =
        __builtin_convertvector(round_floats<T, kCount>(a.v), Lanes<std::uint16_t, kCount>);
    std::memcpy(static_cast<void*>(to), &narrow, sizeof(narrow));
  } else {
    for (std::int64_t j = 0; j < kCount; ++j) kernels::write(to + j, kernels::round_to<T>(a.v[j]));
  }
}
template <typename A, typename T>
inline NORMGRAD_ALWAYS void store2(Vec<A> a, Vec<A> b, T* to) {
  store(a, to);
  store(b, to + kWidth<A>);
}
// There are no stores past the cache, and no loops for them.
inline constexpr bool kStreams = false;
template <typename A, typename T>
inline NORMGRAD_ALWAYS void stream(Vec<A> a, T* to) {
  store(a, to);
}
inline void stream_fence() {}

template <typename T, typename A>
inline constexpr bool kAlternates = false;

}  // namespace normgrad::plain

#endif
