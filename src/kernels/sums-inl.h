// The summation tree (docs/architecture.md). Element i of a run goes to lane i mod 16. f32 data:
// every lane adds in f64. 16-bit data: every lane adds 8 steps in f32 from +0, then that sum in
// f64. Lanes fold 8-4-2-1.
#if defined(NORMGRAD_KERNELS_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_KERNELS_SUMS_INL_H
#undef NORMGRAD_KERNELS_SUMS_INL_H
#else
#define NORMGRAD_KERNELS_SUMS_INL_H
#endif

#include <algorithm>
#include <array>

#include "kernels/pairwise.h"
#include "kernels/steps-inl.h"

NORMGRAD_TARGET_BEGIN

inline constexpr std::int64_t kLanes = 16;
inline constexpr int kChain = 8;  // f32 additions before a sum goes to f64
template <typename A>
inline constexpr int kParts = static_cast<int>(kLanes / kWidth<A>);

// The arithmetic for elements of type T.
template <typename T>
using Arithmetic = std::conditional_t<std::is_same_v<T, float>, double, float>;

// K sums of 16 lanes each; kAlternating: lanes in the order of a pair that alternates.
template <typename A, int K, bool kAlternating = false>
struct LaneSums {
  static_assert(!kAlternating || kParts<float> == 2);  // a step is one pair
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
      add_part<p>(i + kOffset<kAlternating, p, A>, step_of<kAlternating, p>(Whole()), terms);
    });
  }
  // A step of fewer than 16 elements, i ... n - 1.
  template <class Terms>
  NORMGRAD_ALWAYS void add_rest(std::int64_t i, std::int64_t n, Terms&& terms) {
    unroll<kParts<A>>([&](auto p) NORMGRAD_INLINE {
      const std::int64_t at = i + kOffset<kAlternating, p, A>;
      if (at >= n) return;
      if (!kAlternating && at + kWidth<A> <= n) {
        add_part<p>(at, Whole(), terms);
      } else {
        add_part<p>(at, step_of<kAlternating, p>(Part{n - at}), terms);
      }
    });
  }

 private:
  template <int p, class Step, class Terms>
  NORMGRAD_ALWAYS void add_part(std::int64_t at, Step step, Terms&& terms) {
    const std::array<Vec<A>, K> term = terms(at, step);
    unroll<K>([&](auto k) NORMGRAD_INLINE {
      const Vec<A> kept = keep(term[k], step);
      part[k][p] = k == 1 ? plus(kept, part[k][p]) : part[k][p] + kept;
    });
  }
};

template <int K, bool kAlternating>
inline NORMGRAD_ALWAYS void add_widened(LaneSums<double, K, kAlternating>& total,
                                        const LaneSums<float, K, kAlternating>& chain) {
  unroll<K>([&](auto k) NORMGRAD_INLINE {
    unroll<kParts<double>>([&](auto p) NORMGRAD_INLINE {
      total.part[k][p] = total.part[k][p] + widen<p % kWidening>(chain.part[k][p / kWidening]);
    });
  });
}

// The second half of so many vectors added to the first, until one is left.
template <int kCount>
inline NORMGRAD_ALWAYS Vec<double> fold_vectors(const Vec<double>* part) {
  if constexpr (kCount == 1) {
    return part[0];
  } else {
    Vec<double> half[kCount / 2];
    unroll<kCount / 2>([&](auto p) NORMGRAD_INLINE { half[p] = part[p] + part[p + kCount / 2]; });
    return fold_vectors<kCount / 2>(half);
  }
}

// Lanes fold 8-4-2-1.
template <int K, bool kAlternating>
inline NORMGRAD_ALWAYS std::array<double, K> fold(const LaneSums<double, K, kAlternating>& total) {
  std::array<double, K> sums;
  unroll<K>([&](auto k) NORMGRAD_INLINE {
    const auto& part = total.part[k];
    if constexpr (kAlternating) {
      // Lanes j and j + 8 are in neighbouring vectors: 0 2 4 6 and 8 10 12 14, 1 3 5 7 and 9 11 13 15.
      double even[4], odd[4];
      store(part[0] + part[1], even);
      store(part[2] + part[3], odd);
      sums[k] =
          ((even[0] + even[2]) + (even[1] + even[3])) + ((odd[0] + odd[2]) + (odd[1] + odd[3]));
    } else {
      double lane[kWidth<double>];
      store(fold_vectors<kParts<double>>(part), lane);
      for (std::int64_t half = kWidth<double> / 2; half > 0; half /= 2) {
        for (std::int64_t j = 0; j < half; ++j) lane[j] += lane[j + half];
      }
      sums[k] = lane[0];
    }
  });
  return sums;
}

// K sums over the elements of one chunk, walked in one or more runs.
template <typename A, int K, bool kAlternating = false>
class Sums;

template <int K>
class Sums<double, K, false> {
 public:
  NORMGRAD_ALWAYS Sums() { total_.clear(); }

  template <class Terms, class Fetch = NoFetch>
  NORMGRAD_ALWAYS void walk(std::int64_t n, Terms&& terms, Fetch&& fetch = {}) {
    LaneSums<double, K> total = total_;  // local, so that it stays in registers
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      fetch(i);
      total.add(i, terms);
    }
    if (i < n) total.add_rest(i, n, terms);
    total_ = total;
  }
  NORMGRAD_ALWAYS std::array<double, K> finish() const { return fold(total_); }

 private:
  LaneSums<double, K> total_;
};

template <int K, bool kAlternating>
class Sums<float, K, kAlternating> {
 public:
  NORMGRAD_ALWAYS Sums() {
    total_.clear();
    chain_.clear();
  }

  template <class Terms, class Fetch = NoFetch>
  NORMGRAD_ALWAYS void walk(std::int64_t n, Terms&& terms, Fetch&& fetch = {}) {
    std::int64_t i = 0;
    if (steps_ != 0) i = extend_chain(0, n, terms, fetch);
    if (i + kChain * kLanes <= n) i = walk_chains(i, n, terms, fetch);
    if (i < n) extend_chain(i, n, terms, fetch);
  }
  NORMGRAD_ALWAYS std::array<double, K> finish() {
    add_widened(total_, chain_);
    return fold(total_);
  }

 private:
  // Whole chains, from a chain's start; everything in registers.
  template <class Terms, class Fetch>
  NORMGRAD_ALWAYS std::int64_t walk_chains(std::int64_t i, std::int64_t n, Terms&& terms,
                                           Fetch&& fetch) {
    LaneSums<double, K, kAlternating> total = total_;
    for (; i + kChain * kLanes <= n; i += kChain * kLanes) {
      LaneSums<float, K, kAlternating> chain;
      chain.clear();
      for (int s = 0; s < kChain; ++s) {
        if (s % 2 == 0) fetch(i + s * kLanes);
        chain.add(i + s * kLanes, terms);
      }
      add_widened(total, chain);
    }
    total_ = total;
    return i;
  }
  // Steps until the chain or the run ends.
  template <class Terms, class Fetch>
  NORMGRAD_ALWAYS std::int64_t extend_chain(std::int64_t i, std::int64_t n, Terms&& terms,
                                            Fetch&& fetch) {
    LaneSums<float, K, kAlternating> chain = chain_;
    int steps = steps_;
    for (; steps < kChain && i + kLanes <= n; i += kLanes, ++steps) {
      if (steps % 2 == 0) fetch(i);
      chain.add(i, terms);
    }
    if (steps < kChain && i < n) {
      chain.add_rest(i, n, terms);
      i = n;
      ++steps;
    }
    if (steps == kChain) {
      add_widened(total_, chain);
      chain.clear();
      steps = 0;
    }
    chain_ = chain;
    steps_ = steps;
    return i;
  }

  LaneSums<double, K, kAlternating> total_;
  LaneSums<float, K, kAlternating> chain_;
  int steps_ = 0;  // in chain_
};

NORMGRAD_TARGET_END
#endif
