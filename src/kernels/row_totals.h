// How sums along rows are added up: chains of 8 steps of 32 lanes in the kernels' arithmetic, their lanes onto a row's totals
// in f64, and the totals of some rows at once.
#ifndef NORMGRAD_KERNELS_ROW_TOTALS_H
#define NORMGRAD_KERNELS_ROW_TOTALS_H

#include "kernels/target.h"

namespace normgrad::NORMGRAD_TARGET {

using kernels::kGroup;

// Eight f64 lanes for each of a row's two sums, which begin a cache line.
struct alignas(64) GroupTotals {
  double of[kGroup][kTotals];

  // Of rows' first or second sums, added as kernels::fold_totals does.
  NORMGRAD_INLINE void fold(std::int64_t rows, int which, double* sums) const {
    const double* t = of[0] + which * 8;
    std::int64_t r = 0;
    for (; r + kDoubles <= rows; r += kDoubles, t += kDoubles * kTotals) {
      store_doubles(fold_totals_of_rows(t, kTotals), sums + r);
    }
    for (; r < rows; ++r, t += kTotals) sums[r] = kernels::fold_totals(t);
  }
};

// Calls body with whether rows are one chain: they go without the loop of chains.
template <class Body>
NORMGRAD_INLINE void with_length(std::int64_t columns, Body&& body) {
  if (columns < kChain * kStep) return body(std::true_type());
  body(std::false_type());
}
// A row's totals. add(unit, column, part, first, second) adds a unit of the row to the lanes of a chain.
template <class A, bool kHasFirst, bool kHasSecond, bool kIsShort, class Add>
NORMGRAD_INLINE void sum_row(std::int64_t columns, double* totals, Add&& add) {
  double sums[kTotals] = {};  // registers
  std::int64_t begin = 0;
  do {
    Vec<A> first[kVectors<A>] = {}, second[kVectors<A>] = {};
    const auto add_unit = [&](auto unit, std::int64_t column, auto part)
                              NORMGRAD_LAMBDA { add(unit, begin + column, part, first, second); };
    if (!kIsShort && columns - begin >= kChain * kStep) {
      for_chain<A>(add_unit);
    } else {
      for_row<A>(columns - begin, add_unit);
    }
    if constexpr (kHasFirst) fold_lanes(first, sums);
    if constexpr (kHasSecond) fold_lanes(second, sums + 8);
    begin += kChain * kStep;
  } while (!kIsShort && begin < columns);
  NORMGRAD_UNROLL for (int i = kHasFirst ? 0 : 8; i < (kHasSecond ? 16 : 8); i += kDoubles) {
    store_doubles(load_doubles(sums + i), totals + i);
  }
}

}  // namespace normgrad::NORMGRAD_TARGET

#endif
