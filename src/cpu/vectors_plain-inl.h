// Vec<A> in plain C++: the same interface as the vector one in vectors-inl.h, which includes this.
// It is as wide as the summation tree, so that a compiler may still use whatever vectors it knows.
#ifndef NORMGRAD_CPU_VECTORS_PLAIN_INL_H
#define NORMGRAD_CPU_VECTORS_PLAIN_INL_H

#include <cmath>
#include <cstdint>

#include "cpu/element.h"

namespace normgrad::plain {
using cpu::BFloat;
using cpu::Half;

template <typename A>
inline constexpr std::int64_t kWidth = 16;

template <typename A>
struct Vec {
  A lane[kWidth<A>];
};

template <typename A, class F>
inline Vec<A> each(F&& f) {
  Vec<A> r;
  for (std::int64_t j = 0; j < kWidth<A>; ++j) r.lane[j] = f(j);
  return r;
}

template <typename A>
inline Vec<A> all(A value) {
  return each<A>([&](std::int64_t) { return value; });
}
template <typename A>
inline Vec<A> operator+(const Vec<A>& a, const Vec<A>& b) {
  return each<A>([&](std::int64_t j) { return a.lane[j] + b.lane[j]; });
}
template <typename A>
inline Vec<A> operator-(const Vec<A>& a, const Vec<A>& b) {
  return each<A>([&](std::int64_t j) { return a.lane[j] - b.lane[j]; });
}
template <typename A>
inline Vec<A> operator*(const Vec<A>& a, const Vec<A>& b) {
  return each<A>([&](std::int64_t j) { return a.lane[j] * b.lane[j]; });
}
template <typename A>
inline Vec<A> operator/(const Vec<A>& a, const Vec<A>& b) {
  return each<A>([&](std::int64_t j) { return a.lane[j] / b.lane[j]; });
}
template <typename A>
inline Vec<A> operator/(A a, const Vec<A>& b) {
  return all(a) / b;
}
template <typename A>
inline Vec<A> square_root(const Vec<A>& a) {
  return each<A>([&](std::int64_t j) { return std::sqrt(a.lane[j]); });
}
template <typename A>
inline Vec<A> plus(const Vec<A>& a, const Vec<A>& b) {
  return a + b;
}
template <typename A>
inline Vec<A> minus(const Vec<A>& a, const Vec<A>& b) {
  return a - b;
}
template <typename A>
inline Vec<A> product_minus(const Vec<A>& a, const Vec<A>& b, const Vec<A>& c) {
  return a * b - c;
}
template <typename A>
inline Vec<A> product_plus(const Vec<A>& a, const Vec<A>& b, const Vec<A>& c) {
  return a * b + c;
}
template <typename A>
inline Vec<A> keep_first(const Vec<A>& a, std::int64_t count) {
  return each<A>([&](std::int64_t j) { return j < count ? a.lane[j] : A{0}; });
}

inline constexpr int kWidening = 1;
template <int kPart>
inline Vec<double> widen(const Vec<float>& a) {
  return each<double>([&](std::int64_t j) { return static_cast<double>(a.lane[j]); });
}

template <typename A, typename T>
inline Vec<A> load(const T* from) {
  return each<A>([&](std::int64_t j) {
    if constexpr (sizeof(T) == 8) {
      return cpu::read(from + j);
    } else {
      return static_cast<A>(cpu::to_float(cpu::read(from + j)));
    }
  });
}
template <typename A, typename T>
inline void store(const Vec<A>& a, T* to) {
  for (std::int64_t j = 0; j < kWidth<A>; ++j) cpu::write(to + j, cpu::round_to<T>(a.lane[j]));
}
template <typename A, typename T>
inline void store2(const Vec<A>& a, const Vec<A>& b, T* to) {
  store(a, to);
  store(b, to + kWidth<A>);
}
template <typename A, typename T>
inline void stream(const Vec<A>& a, T* to) {
  store(a, to);
}
inline void stream_fence() {}

template <typename T, typename A>
inline constexpr bool kAlternates = false;

}  // namespace normgrad::plain

#endif
