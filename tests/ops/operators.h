// A problem in the words of include/normgrad: its plan, and one run of it.
#ifndef TESTS_OPS_OPERATORS_H
#define TESTS_OPS_OPERATORS_H

#include <array>

#include "normgrad/plan.h"
#include "ops/problem.h"

namespace ops_test {

using Pointers = std::array<void*, kSlotCount>;

normgrad::Status make_plan(const Problem& problem, normgrad::Plan* plan);
normgrad::Status run(const Problem& problem, const normgrad::Plan& plan, const Pointers& data,
                     void* workspace);

}  // namespace ops_test

#endif
