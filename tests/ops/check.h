// Holds every element of every output to the reference's bound, and keeps count.
#ifndef TESTS_OPS_CHECK_H
#define TESTS_OPS_CHECK_H

#include <map>
#include <string>

#include "ops/library.h"
#include "reference/criterion.h"

namespace ops_test {

struct Tally {
  std::size_t cases = 0, elements = 0;
  std::size_t by_model = 0;  // cases outside the promised range, held to the model's bits
  // Error in units of the allowance, by operator, arithmetic, data type and output.
  std::map<std::string, double> worst;

  std::string report() const;
};

// "" or the first element out of bounds: which, got, expected, allowance.
std::string check(const Problem& problem, const Outputs& got, Tally& tally,
                  normgrad::Arithmetic arithmetic = normgrad::Arithmetic::kFast);

// The same where the bound is not promised for all data of such sizes.
std::string check_bound(const Problem& problem, const Outputs& got,
                        normgrad::Arithmetic arithmetic = normgrad::Arithmetic::kFast);

reference::Output kind_of(Slot slot);
// Of the operator, if it is told to compute so.
reference::Arithmetic arithmetic_of(Op op, normgrad::Arithmetic arithmetic);

struct ExpectedOutputs {
  std::array<reference::Expected, kOutputCount> output;
  // Whether the bound is promised (numerics, section 5).
  //   fast: non-zero magnitudes of dy, w, x, x - mean, x_hat and rstd lie within 1e-5 and 1e5; of LayerNorm's x_hat within
  //     1e-7 and 1e7
  //   forward of rows in fast: within 1e-12 and 1e12; rstd, a quotient of two of them, within 1e-24 and 1e24
  //   GatherStats: rstd do not deny the eps that is in them (reference/forward.h)
  bool promised = true;
  bool infinite_statistics = false;
};
ExpectedOutputs expected_outputs(const Problem& problem,
                                 normgrad::Arithmetic arithmetic = normgrad::Arithmetic::kFast);

}  // namespace ops_test

#endif
