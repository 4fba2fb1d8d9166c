// The one pass criterion for an element of an output.
#ifndef TESTS_REFERENCE_CRITERION_H
#define TESTS_REFERENCE_CRITERION_H

#include "reference/number_format.h"
#include "reference/quad.h"

namespace reference {

// What an output is: elements of a big tensor (dx, y), sums over one (dw, db, sum_dy, sum_dy_xmu),
// or forward statistics.
enum class Output { kElement, kSum, kStatistic };

enum class Arithmetic { kFast, kExact };  // GatherStats: exact

struct Rule {
  Arithmetic arithmetic;
  Output which;
  Format output;  // that the element is stored in
  Format data;    // of dy and x
  // Results that are not finite must be of one class (NaN, Inf, -Inf). Not so in fast with infinite statistics.
  bool classes_count = true;
};

struct Verdict {
  bool pass = false;
  double error = 0;      // |y - r|; 0 where classes, not distances, are compared
  double allowance = 0;  // 1/2 ulp(r) + c*T, and what else is allowed

  double used() const { return allowance > 0 ? error / allowance : 0; }
};

// y: the element as stored. r: the exact result. T: its scale (gradients.h). further: what else is allowed.
Verdict within_bound(double y, Quad r, Quad T, const Rule& rule, Quad further = 0);

// 2^(max(floor(log2 |r|), emin) - p + 1), r finite.
double ulp(Quad r, Format format);

}  // namespace reference

#endif
