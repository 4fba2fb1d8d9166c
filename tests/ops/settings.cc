// Prints the settings that the environment led to, after one failing call.
#include "normgrad/settings.h"

#include <cstdio>

#include "normgrad/plan.h"

int main() {
  normgrad::Problem problem;
  problem.op = normgrad::Op::kRmsNormBackward;
  normgrad::Plan plan;
  const bool failed = make_plan(problem, &plan) != normgrad::Status::kOk;
  std::printf("isa %d threads %d\n", static_cast<int>(normgrad::isa()), normgrad::threads());
  std::printf("arithmetic %d\n", static_cast<int>(normgrad::arithmetic()));
  return failed ? 0 : 1;
}
