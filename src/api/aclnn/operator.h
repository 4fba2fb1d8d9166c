// The two phases that every operator has, written once. An operator's file names its tensors, says
// what it asks of them, and which argument of the formula each of them is.
#ifndef NORMGRAD_API_ACLNN_OPERATOR_H
#define NORMGRAD_API_ACLNN_OPERATOR_H

#include <initializer_list>
#include <memory>
#include <utility>

#include "api/aclnn/checks.h"
#include "api/aclnn/executor.h"
#include "api/aclnn/handles.h"
#include "runtime/environment.h"

namespace normgrad::api {

inline bool is_950() { return environment().soc == Soc::kAscend950; }

// The slots of all tensor arguments, in the order of the prototype; none is looked at.
void set_slots(aclOpExecutor& executor, Operands inputs, Operands outputs);

// An API tensor and which argument of the problem it is.
struct Binding {
  const Operand& operand;
  Arg arg;
};
using Bindings = std::initializer_list<Binding>;

// The last step of phase 1: what the core has against the problem, then a plan with its addresses.
int make_executor(aclOpExecutor& executor, Problem& problem, Bindings bindings);

// A variance of 1 for every channel, in place of one that was left out: before, and after
// make_executor.
Tensor unit_variance(const char* name, std::int64_t channels);
void set_unit_variance(aclOpExecutor& executor, Arg arg);

// Phase 1 of operator `op` (the name of phase 2): check_and_plan(executor) refuses, or leaves slots
// and, unless there is nothing to do, a plan.
template <class CheckAndPlan>
int phase_one(const char* name, const char* op, std::uint64_t* workspace_size,
              aclOpExecutor** executor_ptr, CheckAndPlan&& check_and_plan) {
  return aclnn_entry(name, [&] {
    if (workspace_size == nullptr) return refuse_null_pointer("workspaceSize");
    if (executor_ptr == nullptr) return refuse_null_pointer("executor");
    auto executor = std::make_unique<aclOpExecutor>();
    executor->op = op;
    NORMGRAD_ACLNN_TRY(check_and_plan(*executor));
    const std::uint64_t needed = executor->plan.workspace_bytes();
    publish(std::move(executor), executor_ptr);
    *workspace_size = needed;
    return 0;
  });
}

int phase_two(const char* name, void* workspace, std::uint64_t workspace_size,
              aclOpExecutor* executor, aclrtStream stream);

}  // namespace normgrad::api

#endif
