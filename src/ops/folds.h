// Partial sums become sums, always in the same order: stride doubling, p[i] += p[i + s] for s = 1, 2, 4, ...
#ifndef NORMGRAD_OPS_FOLDS_H
#define NORMGRAD_OPS_FOLDS_H

#include <algorithm>
#include <cstdint>

#include "kernels/kernels.h"

namespace normgrad {

// Rows of numbers, `pitch` apart, into the first: columns [begin, end), whole steps.
inline void fold_rows(const kernels::Kernels& k, double* rows, std::int64_t count,
                      std::int64_t pitch, std::int64_t begin, std::int64_t end) {
  for (std::int64_t s = 1; s < count; s *= 2) {
    for (std::int64_t i = 0; i + s < count; i += 2 * s) {
      double* to = rows + i * pitch + begin;
      k.add(to + s * pitch, to, end - begin);
    }
  }
}

// Moments of parts into those of the first: calls merge_into(i, j, merge) for pairs of parts that lie side by side.
// before(i): elements in front of part i.
template <class Before, class MergeInto>
void fold_moments(std::int64_t parts, Before&& before, MergeInto&& merge_into) {
  for (std::int64_t s = 1; s < parts; s *= 2) {
    for (std::int64_t i = 0; i + s < parts; i += 2 * s) {
      const std::int64_t middle = before(i + s), end = before(std::min(parts, i + 2 * s));
      merge_into(i, i + s,
                 kernels::Merge(static_cast<double>(middle - before(i)),
                                static_cast<double>(end - middle)));
    }
  }
}

}  // namespace normgrad

#endif
