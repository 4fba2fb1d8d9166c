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
  std::size_t by_model = 0;    // cases outside the promised range, held to the model's bits
  std::size_t with_slack = 0;  // elements beyond the bound, by no more than Expected::slack
  std::map<std::string, double>
      worst;  // error in units of the allowance, by operator, data type and output

  std::string report() const;
};

// "" or the first element out of bounds: which, got, expected, allowance.
std::string check(const Problem& problem, const Outputs& got, Tally& tally);

struct ExpectedOutputs {
  std::array<reference::Expected, kOutputCount> output;
  // Whether the bound is promised: to 16-bit data whose non-zero magnitudes lie within 1e-12 and
  // 1e12 (numerics, section 4), 1/sigma, a quotient of two of them, then within 1e-24 and 1e24; to
  // GatherStats, whose rstd do not deny the eps that is in them (reference/forward.h).
  bool promised = true;
};
ExpectedOutputs expected_outputs(const Problem& problem);

}  // namespace ops_test

#endif
