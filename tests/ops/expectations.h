// Expectations that tests of single problems share.
#ifndef TESTS_OPS_EXPECTATIONS_H
#define TESTS_OPS_EXPECTATIONS_H

#include <gtest/gtest.h>

#include "ops/check.h"
#include "ops/library.h"

namespace ops_test {

// The outputs; a failure is one of the test.
inline Outputs run(const Problem& p, Arithmetic arithmetic = Arithmetic::kFast) {
  Outputs out = run_library(p, {2, normgrad::Isa::kAvx512, 1, arithmetic});
  EXPECT_EQ(out.failure, "") << describe(p);
  return out;
}

// In fast arithmetic on every instruction set, which have the same bits; in exact arithmetic once.
inline void expect_within_bound(const Problem& p) {
  Tally tally;
  const Outputs plain = run_library(p, {2, normgrad::Isa::kPlain, 1});
  EXPECT_EQ(check(p, plain, tally), "") << describe(p);
  for (const normgrad::Isa isa : available_isas()) {
    EXPECT_EQ(first_difference(p, run_library(p, {2, isa, 1}), plain), "")
        << describe(p) << " " << name(isa);
  }
  if (!has_two_arithmetics(p.op)) return;
  EXPECT_EQ(check(p, run(p, Arithmetic::kExact), tally, Arithmetic::kExact), "")
      << describe(p) << " exact";
}

}  // namespace ops_test

#endif
