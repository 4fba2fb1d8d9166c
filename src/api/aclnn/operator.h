// The two phases that every operator has, written once. An operator's file has its rows of the table, and says what its
// attributes change of them.
#ifndef NORMGRAD_API_ACLNN_OPERATOR_H
#define NORMGRAD_API_ACLNN_OPERATOR_H

#include <memory>
#include <utility>

#include "api/aclnn/checks.h"
#include "api/aclnn/executor.h"
#include "api/aclnn/handles.h"

namespace normgrad::api {

// A problem of the operator, with the channels' axis.
Problem problem_of(const Arguments& arguments);

// One number for every channel: for checks before the core's.
int check_channels_of(const Arguments& arguments, const Operand& operand);

// The last step of phase 1: what the core has against the problem, and against the shapes of what has no part in it; then a
// plan with its addresses. Tensors that the problem has already stay as they are.
int make_executor(aclOpExecutor& executor, Problem& problem, const Arguments& arguments);

// Of row norms: how many axes make a row, and the numbers of the formula.
struct RowNumbers {
  int axes;
  double eps = 0, alpha = 1;
};
// What document and mathematics demand of all arguments, in the order of most operators; then a plan.
int check_rows(const Arguments& arguments);
int plan_rows(aclOpExecutor& executor, const Arguments& arguments, const RowNumbers& numbers);
// Not empty, and the last extents of the operator's data. An array that is alive.
int check_normalized_shape(const Arguments& arguments, const aclIntArray& shape);

// A variance of 1 for every channel, in place of one that was left out: before, and after make_executor.
Tensor unit_variance(const Arguments& arguments, const Operand& variance);
void set_unit_variance(aclOpExecutor& executor);

// An input without elements, in place of `data`: statistics of nothing.
Tensor nothing_like(const Arguments& arguments, const Operand& data);

void set_slots(aclOpExecutor& executor, const Arguments& arguments);

// Phase 1: check_and_plan(arguments, executor) refuses, or leaves a plan, unless there is nothing to do.
template <const Spec& kSpec, class CheckAndPlan, class... Tensors>
int phase_one(const char* name, std::uint64_t* workspace_size, aclOpExecutor** executor_ptr,
              CheckAndPlan&& check_and_plan, const Tensors*... tensors) {
  static_assert(sizeof...(tensors) == kSpec.rows.size());
  static_assert(sizeof...(tensors) <= kMostOperands);
  return aclnn_entry(name, [&] {
    if (workspace_size == nullptr) return refuse_null_pointer("workspaceSize");
    if (executor_ptr == nullptr) return refuse_null_pointer("executor");
    const aclTensor* const in_order[] = {tensors...};
    Arguments arguments(kSpec, in_order);
    auto executor = std::make_unique<aclOpExecutor>();
    set_slots(*executor, arguments);
    NORMGRAD_ACLNN_TRY(check_and_plan(arguments, *executor));
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
