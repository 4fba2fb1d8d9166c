// Chunk results fold by stride doubling: p[i] += p[i + s] for s = 1, 2, 4, ... Fed in order, a
// binary counter does the same additions and keeps one partial result per level.
#ifndef NORMGRAD_KERNELS_PAIRWISE_H
#define NORMGRAD_KERNELS_PAIRWISE_H

#include <array>
#include <cstdint>

namespace normgrad::kernels {

template <int K>
class Pairwise {
 public:
  void add(std::array<double, K> sums) {
    int level = 0;
    for (std::uint64_t carry = count_++; (carry & 1u) != 0; carry >>= 1) {
      sums = plus(level_[level++], sums);
    }
    level_[level] = sums;
  }

  // Zero for no chunk at all.
  std::array<double, K> finish() const {
    std::array<double, K> sums{};
    bool first = true;
    int level = 0;
    for (std::uint64_t left = count_; left != 0; left >>= 1, ++level) {
      if ((left & 1u) == 0) continue;
      sums = first ? level_[level] : plus(level_[level], sums);
      first = false;
    }
    return sums;
  }

 private:
  static std::array<double, K> plus(const std::array<double, K>& a,
                                    const std::array<double, K>& b) {
    std::array<double, K> sums;
    for (int k = 0; k < K; ++k) sums[k] = a[k] + b[k];
    return sums;
  }

  std::uint64_t count_ = 0;
  std::array<double, K> level_[64];
};

}  // namespace normgrad::kernels

#endif
