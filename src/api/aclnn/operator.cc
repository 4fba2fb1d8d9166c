#include "api/aclnn/operator.h"

#include "runtime/layout.h"

namespace normgrad::api {
namespace {

// The checks have passed, so it is none but these; make_plan would refuse another.
DataType to_data_type(aclDataType dtype) {
  if (dtype == ACL_FLOAT16) return DataType::kF16;
  if (dtype == ACL_BF16) return DataType::kBF16;
  if (dtype == ACL_FLOAT) return DataType::kF32;
  return dtype == ACL_INT32 ? DataType::kI32 : DataType::kOther;
}

// The checks have passed: its rank is at most kMaxRank.
void set_tensor(const Operand& operand, Tensor* tensor) {
  const aclTensor& given = *operand.tensor;
  tensor->name = operand.name;
  tensor->dtype = to_data_type(given.dtype);
  tensor->rank = static_cast<int>(given.shape.size());
  std::copy(given.shape.begin(), given.shape.end(), tensor->shape);
  std::copy(given.strides.begin(), given.strides.end(), tensor->strides);
}

void set_argument(aclOpExecutor& executor, const Operand& operand, Arg arg, const Tensor& tensor) {
  const auto slot = std::find_if(executor.slot, executor.slot + executor.slots,
                                 [&](const TensorSlot& s) { return s.name == operand.name; });
  slot->arg = arg;
  // The offset of a tensor without elements is not checked and means nothing.
  slot->offset_bytes = operand->is_empty() ? 0 : operand->offset * size_of(tensor.dtype);
  executor.set_address(*slot, operand->address);
}

constexpr double kUnitVariance = 1;

}  // namespace

void set_slots(aclOpExecutor& executor, Operands inputs, Operands outputs) {
  executor.inputs = static_cast<int>(inputs.size());
  executor.slots = 0;
  for (const Operands& operands : {inputs, outputs}) {
    for (const Operand& operand : operands) {
      executor.slot[executor.slots++] = {operand.name, operand.given};
    }
  }
}

int make_executor(aclOpExecutor& executor, Problem& problem, Bindings bindings) {
  for (const auto& [operand, arg] : bindings) {
    if (operand) set_tensor(operand, &problem[arg]);
  }
  const Status status = make_plan(problem, &executor.plan);
  if (status != Status::kOk) return to_aclnn(status);
  for (const auto& [operand, arg] : bindings) {
    if (operand) set_argument(executor, operand, arg, problem[arg]);
  }
  return 0;
}

Tensor unit_variance(const char* name, std::int64_t channels) {
  return {DataType::kF64, 1, {channels}, {0}, name};
}

void set_unit_variance(aclOpExecutor& executor, Arg arg) {
  executor.addresses[arg] = &kUnitVariance;
}

}  // namespace normgrad::api
