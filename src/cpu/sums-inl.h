// The summation tree (docs/architecture.md). Element i of a run goes to lane i mod 16. f32 data:
// every lane adds in f64. 16-bit data: every lane adds 8 steps in f32 from +0, then that sum in
// f64. Lanes fold 8-4-2-1.
#if defined(NORMGRAD_CPU_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_CPU_SUMS_INL_H
#undef NORMGRAD_CPU_SUMS_INL_H
#else
#define NORMGRAD_CPU_SUMS_INL_H
#endif

#include <algorithm>
#include <array>

#include "cpu/pairwise.h"
#include "cpu/vectors-inl.h"

NORMGRAD_TARGET_BEGIN

inline constexpr std::int64_t kLanes = 16;
inline constexpr int kChain = 8;  // f32 additions before a sum goes to f64
template <typename A>
inline constexpr int kParts = static_cast<int>(kLanes / kWidth<A>);

// The arithmetic for elements of type T.
template <typename T>
using Arithmetic = std::conditional_t<std::is_same_v<T, float>, double, float>;

// K sums of 16 lanes each.
template <typename A, int K>
struct LaneSums {
  Vec<A> part[K][kParts<A>];

  NORMGRAD_ALWAYS void clear() {
    unroll<K>([&](auto k) NORMGRAD_INLINE {
      unroll<kParts<A>>([&](auto p) NORMGRAD_INLINE { part[k][p] = all(A{0}); });
    });
  }
  // One step: terms(i, step) gives the K terms of the vector at element i.
  template <class Terms>
  NORMGRAD_ALWAYS void add(std::int64_t i, Terms&& terms) {
    unroll<kParts<A>>([&](auto p) NORMGRAD_INLINE {
      const std::array<Vec<A>, K> term = terms(i + p * kWidth<A>, Whole());
      unroll<K>([&](auto k) NORMGRAD_INLINE { part[k][p] = part[k][p] + term[k]; });
    });
  }
  // A step of fewer than 16 elements, i ... n - 1.
  template <class Terms>
  NORMGRAD_ALWAYS void add_rest(std::int64_t i, std::int64_t n, Terms&& terms) {
    unroll<kParts<A>>([&](auto p) NORMGRAD_INLINE {
      const std::int64_t at = i + p * kWidth<A>;
      if (at >= n) return;
      const auto add_part = [&](auto step) NORMGRAD_INLINE {
        const std::array<Vec<A>, K> term = terms(at, step);
        unroll<K>([&](auto k) NORMGRAD_INLINE { part[k][p] = part[k][p] + keep(term[k], step); });
      };
      if (at + kWidth<A> <= n) {
        add_part(Whole());
      } else {
        add_part(Part{n - at});
      }
    });
  }
};

template <int K>
inline NORMGRAD_ALWAYS void add_widened(LaneSums<double, K>& total,
                                        const LaneSums<float, K>& chain) {
  unroll<K>([&](auto k) NORMGRAD_INLINE {
    unroll<kParts<double>>([&](auto p) NORMGRAD_INLINE {
      total.part[k][p] = total.part[k][p] + widen<p % kWidening>(chain.part[k][p / kWidening]);
    });
  });
}

template <int K>
inline NORMGRAD_ALWAYS std::array<double, K> fold(LaneSums<double, K> total) {
  std::array<double, K> sums;
  unroll<K>([&](auto k) NORMGRAD_INLINE {
    if constexpr (kParts<double> >= 4) {
      constexpr int kHalf = kParts<double> / 2;
      unroll<kHalf>([&](auto p) NORMGRAD_INLINE {
        total.part[k][p] = total.part[k][p] + total.part[k][p + kHalf];
      });
    }
    double lane[kLanes];
    constexpr int kLeft = kParts<double> >= 4 ? kParts<double> / 2 : kParts<double>;
    unroll<kLeft>([&](auto p)
                      NORMGRAD_INLINE { store(total.part[k][p], lane + p * kWidth<double>); });
    for (std::int64_t half = kLeft * kWidth<double> / 2; half > 0; half /= 2) {
      for (std::int64_t j = 0; j < half; ++j) lane[j] += lane[j + half];
    }
    sums[k] = lane[0];
  });
  return sums;
}

// K sums over the elements of one chunk, walked in one or more runs.
template <typename A, int K>
class Sums;

template <int K>
class Sums<double, K> {
 public:
  Sums() { total_.clear(); }

  template <class Terms>
  NORMGRAD_ALWAYS void walk(std::int64_t n, Terms&& terms) {
    LaneSums<double, K> total = total_;  // local, so that it stays in registers
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) total.add(i, terms);
    if (i < n) total.add_rest(i, n, terms);
    total_ = total;
  }
  std::array<double, K> finish() const { return fold(total_); }

 private:
  LaneSums<double, K> total_;
};

template <int K>
class Sums<float, K> {
 public:
  Sums() {
    total_.clear();
    chain_.clear();
  }

  template <class Terms>
  NORMGRAD_ALWAYS void walk(std::int64_t n, Terms&& terms) {
    std::int64_t i = 0;
    if (steps_ != 0)
      i = walk_steps(0, std::min(n / kLanes, std::int64_t{kChain - steps_}) * kLanes, terms);
    if (i + kChain * kLanes <= n) i = walk_chains(i, n, terms);
    if (i + kLanes <= n) i = walk_steps(i, n / kLanes * kLanes, terms);
    if (i < n) {
      chain_.add_rest(i, n, terms);
      end_step();
    }
  }
  std::array<double, K> finish() {
    add_widened(total_, chain_);
    return fold(total_);
  }

 private:
  // Whole chains, from a chain's start; everything in registers.
  template <class Terms>
  NORMGRAD_ALWAYS std::int64_t walk_chains(std::int64_t i, std::int64_t n, Terms&& terms) {
    LaneSums<double, K> total = total_;
    for (; i + kChain * kLanes <= n; i += kChain * kLanes) {
      LaneSums<float, K> chain;
      chain.clear();
      for (int s = 0; s < kChain; ++s) chain.add(i + s * kLanes, terms);
      add_widened(total, chain);
    }
    total_ = total;
    return i;
  }
  template <class Terms>
  NORMGRAD_ALWAYS std::int64_t walk_steps(std::int64_t i, std::int64_t end, Terms&& terms) {
    for (; i < end; i += kLanes) {
      chain_.add(i, terms);
      end_step();
    }
    return i;
  }
  NORMGRAD_ALWAYS void end_step() {
    if (++steps_ < kChain) return;
    add_widened(total_, chain_);
    chain_.clear();
    steps_ = 0;
  }

  LaneSums<double, K> total_;
  LaneSums<float, K> chain_;
  int steps_ = 0;  // in chain_
};

NORMGRAD_TARGET_END
#endif
