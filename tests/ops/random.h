// Random numbers that are the same with every compiler and library: integers, scaled exactly.
#ifndef TESTS_OPS_RANDOM_H
#define TESTS_OPS_RANDOM_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace ops_test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>((next() >> 32) % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  // [-1, 1), a multiple of 2^-31.
  double uniform() {
    return static_cast<double>(static_cast<std::int32_t>(next() >> 32)) * 0x1p-31;
  }
  // Nearly normal, variance 1, |value| < 6: the sum of 12 sixteen-bit uniforms.
  double normal() {
    std::int64_t sum = 0;
    for (int word = 0; word < 3; ++word) {
      const std::uint64_t bits = next();
      for (int part = 0; part < 64; part += 16)
        sum += static_cast<std::int64_t>((bits >> part) & 0xffff);
    }
    return static_cast<double>(sum - 6 * 65535) * 0x1p-16;
  }
  // +-[1, 2).
  double away_from_zero() {
    const double u = uniform();
    return u < 0 ? u - 1 : u + 1;
  }
  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace ops_test

#endif
