// What the library must return, bit for bit: the operators in their fixed order of evaluation, on their fixed trees
// (tree.h, forward_tree.h).
#ifndef TESTS_OPS_MODEL_H
#define TESTS_OPS_MODEL_H

#include <cmath>

#include "ops/library.h"

namespace ops_test {

// GatherStats has one arithmetic, whatever is asked for.
Outputs run_model(const Problem& problem,
                  normgrad::Arithmetic arithmetic = normgrad::Arithmetic::kFast);

Outputs row_norm_model(const Problem& problem, normgrad::Arithmetic arithmetic);
Outputs row_forward_model(const Problem& problem, normgrad::Arithmetic arithmetic);
// And SyncBatchNorm's second half.
Outputs batch_norm_model(const Problem& problem, normgrad::Arithmetic arithmetic);

Outputs forward_model(const Problem& problem, normgrad::Arithmetic arithmetic);  // BatchNorm
Outputs gather_stats_model(const Problem& problem);

// (1 - momentum)*old + momentum*fresh: what becomes of a running statistic.
inline double updated(const Problem& problem, double old, double fresh) {
  return (1.0 - problem.momentum) * old + problem.momentum * fresh;
}

// x - mean in A: where the mean has more digits than A, what A loses of it is taken off afterwards.
template <class A>
A minus_mean(double x, double mean) {
  const A high = static_cast<A>(mean);
  const double lost =
      std::isfinite(static_cast<double>(high)) ? mean - static_cast<double>(high) : 0;
  return (static_cast<A>(x) - high) - static_cast<A>(lost);
}

// Stores element i of an output, if it is wanted; one rounding.
inline void store(const Problem& problem, Outputs& out, Slot slot, std::size_t i, double value) {
  if (!problem.has(slot)) return;
  out.bits[slot].resize(element_count(problem.tensor[slot]));
  out.bits[slot][i] = encode(problem.tensor[slot].format, value);
}

}  // namespace ops_test

#endif
