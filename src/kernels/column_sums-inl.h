// Sums down columns: neighbouring elements go to neighbouring f64 sums in memory. f64 terms are added to
// the sums one by one; f32 terms, at most 8 of them, from +0 in registers and then to the sums in f64.
#if defined(NORMGRAD_KERNELS_COLUMN_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_KERNELS_COLUMN_SUMS_INL_H
#undef NORMGRAD_KERNELS_COLUMN_SUMS_INL_H
#else
#define NORMGRAD_KERNELS_COLUMN_SUMS_INL_H
#endif

#include <algorithm>

#include "kernels/steps-inl.h"

NORMGRAD_TARGET_BEGIN

// K sums of kVectors vectors of columns, in registers while terms are added to `part`; kAlternating: in pairs
// that alternate. Sum k of the first column lies at `at + k*pitch`.
template <typename A, int K, int kVectors, bool kAlternating = false>
struct ColumnSums {
  Vec<A> part[K][kVectors];

  template <class Size>
  NORMGRAD_ALWAYS void start(const double* at, std::int64_t pitch, Size size) {
    unroll<K>([&](auto k) NORMGRAD_INLINE {
      unroll<kVectors>([&](auto v) NORMGRAD_INLINE {
        if constexpr (sizeof(A) == 8) {
          part[k][v] = load<double>(at + k * pitch + v * kWidth<A>, size);
        } else {
          part[k][v] = all(A{0});
        }
      });
    });
  }
  // Half of the additions by the units that multiply.
  NORMGRAD_ALWAYS void add(int k, int v, Vec<A> term) {
    part[k][v] = k == 1 ? plus(term, part[k][v]) : part[k][v] + term;
  }
  template <class Size>
  NORMGRAD_ALWAYS void finish(double* at, std::int64_t pitch, Size size) {
    unroll<K>([&](auto k) NORMGRAD_INLINE {
      unroll<kVectors>([&](auto v) NORMGRAD_INLINE {
        double* to = at + k * pitch + v * kWidth<A>;
        if constexpr (sizeof(A) == 8) {
          store(part[k][v], to, size);
        } else if constexpr (!kAlternating) {
          add_f64(part[k][v], to, size);
        } else if constexpr (v % 2 == 0) {
          put_in_order(part[k][v], part[k][v + 1]);
          add_f64(part[k][v], to, part_of(size, 0));
          add_f64(part[k][v + 1], to + kWidth<A>, part_of(size, kWidth<A>));
        }
      });
    });
  }

 private:
  static Whole part_of(Whole, std::int64_t) { return {}; }
  // What lies in the vector from `begin` on.
  static Part part_of(Part size, std::int64_t begin) {
    return {std::clamp(size.count - begin, std::int64_t{0}, kWidth<float>)};
  }
  static NORMGRAD_ALWAYS void add_f64(Vec<float> a, double* to, Whole) {
    unroll<kWidening>([&](auto p) NORMGRAD_INLINE {
      double* at = to + p * kWidth<double>;
      store(load<double>(at) + widen<p>(a), at);
    });
  }
  static NORMGRAD_ALWAYS void add_f64(Vec<float> a, double* to, Part size) {
    float lane[kWidth<float>];
    store(a, lane);
    for (std::int64_t j = 0; j < size.count; ++j) to[j] += static_cast<double>(lane[j]);
  }
};

NORMGRAD_TARGET_END
#endif
