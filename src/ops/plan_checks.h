// What the plans of all operators have in common: their arguments' checks and the check of pointers
// in run().
#ifndef NORMGRAD_OPS_PLAN_CHECKS_H
#define NORMGRAD_OPS_PLAN_CHECKS_H

#include <initializer_list>

#include "runtime/failure.h"
#include "runtime/layout.h"
#include "normgrad/plan.h"

namespace normgrad {

// Checks come in the order data types, shapes, strides, so that the code which a caller sees is the
// documented one.

// Enters the tensors as arguments 0, 1, ...; the first `outputs` are outputs.
void set_arguments(Plan& plan, std::initializer_list<const Tensor*> tensors, int outputs) noexcept;

// Present and f16, bf16 or f32.
Status check_data_dtype(const Tensor& tensor);
// Absent, or of the dtype of `data`.
Status check_same_dtype(const Tensor& tensor, const Tensor& data);
// Absent, or of dtype f32, of the dtype of `data`, or (statistics) f64.
enum class Allow { kParameter, kStatistic };
Status check_parameter_dtype(const Tensor& tensor, const Tensor& data, Allow allow);

// Absent, or f16, bf16, f32 or f64.
Status check_number_dtype(const Tensor& tensor);

Status check_present(const Tensor& tensor);
// Absent, or of the shape of `data`.
Status check_same_shape(const Tensor& tensor, const Tensor& data);
// Absent, or of shape (length), which is `meaning`.
Status check_vector(const Tensor& tensor, std::int64_t length, const char* meaning);
// Measures all arguments: each fits into memory.
Status check_sizes(Plan& plan);

// No output overlaps itself.
Status check_outputs(const Plan& plan);

// run(): the plan was made for operator `op`.
Status check_op(const Plan& plan, const char* op);

}  // namespace normgrad

// Leaves the function with a status that is not kOk.
#define NORMGRAD_TRY(expression)                             \
  if (const ::normgrad::Status status_of_try = (expression); \
      status_of_try != ::normgrad::Status::kOk)              \
  return status_of_try

#endif
