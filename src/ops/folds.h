// Partial sums become sums, always in the same order: stride doubling, p[i] += p[i + s] for s = 1, 2, 4, ...
#ifndef NORMGRAD_OPS_FOLDS_H
#define NORMGRAD_OPS_FOLDS_H

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

}  // namespace normgrad

#endif
