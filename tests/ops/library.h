// Runs a problem through make_plan and run, and sees that nothing but the outputs was written.
#ifndef TESTS_OPS_LIBRARY_H
#define TESTS_OPS_LIBRARY_H

#include <array>
#include <string>

#include "normgrad/plan.h"
#include "normgrad/settings.h"
#include "ops/isas.h"
#include "ops/problem.h"
#include "ops/storage.h"

namespace ops_test {

using normgrad::Arithmetic;
inline constexpr Arithmetic kArithmetics[] = {Arithmetic::kFast, Arithmetic::kExact};

const char* name(normgrad::Isa isa);
const char* name(Arithmetic arithmetic);
// Of this processor, with kernels of their own.
std::vector<normgrad::Isa> available_isas();
// While it lives, as if the cache were so small; 0: the machine's.
struct OtherCache {
  explicit OtherCache(std::int64_t bytes);
  OtherCache(const OtherCache&) = delete;
  OtherCache& operator=(const OtherCache&) = delete;
  ~OtherCache();
};

struct RunSettings {
  int threads = 1;
  normgrad::Isa isa = normgrad::Isa::kAvx512;  // the highest
  std::size_t workspace_shift_bytes = 1;
  Arithmetic arithmetic = Arithmetic::kFast;
};

struct Outputs {
  std::array<Bits, kOutputCount> bits;  // empty where absent
  std::string failure;  // the call's, or what it wrote where it must not; "" if none
};

// One run of the problem's plan, in memory of its own.
Outputs run_plan(const Problem& problem, const normgrad::Plan& plan,
                 std::size_t workspace_shift_bytes = 1);
Outputs run_library(const Problem& problem, const RunSettings& settings = {});

// "" if all elements are the same numbers; all NaNs are one, and so are the two zeros.
std::string first_difference(const Problem& problem, const Outputs& got, const Outputs& expected);

// An output's elements as numbers.
Values values(const Problem& problem, const Outputs& outputs, Slot slot);

}  // namespace ops_test

#endif
