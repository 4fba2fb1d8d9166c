#include "api/aclnn/operator.h"

#include "ops/check.h"

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
Tensor to_tensor(const Operand& operand) {
  const aclTensor& given = *operand.tensor;
  Tensor tensor;
  tensor.name = operand.name();
  tensor.dtype = to_data_type(given.dtype);
  tensor.rank = static_cast<int>(given.shape.size());
  std::copy(given.shape.begin(), given.shape.end(), tensor.shape);
  std::copy(given.strides.begin(), given.strides.end(), tensor.strides);
  return tensor;
}

constexpr double kUnitVariance = 1;

}  // namespace

int check_channels_of(const Arguments& arguments, const Operand& operand) {
  if (!operand) return 0;
  return to_aclnn(
      check_channels(to_tensor(operand), to_tensor(arguments.data()), arguments.channel_axis()));
}

static_assert(kMaxSlots >= kMostOperands);

void set_slots(aclOpExecutor& executor, const Arguments& arguments) {
  executor.op = arguments.spec().name;
  for (const Operand& operand : arguments) {
    executor.inputs += operand.row->use != Use::kOut;
    executor.slot[executor.slots++] = {operand.name(), operand.given};
  }
}

Problem problem_of(const Arguments& arguments) {
  Problem problem;
  problem.op = arguments.spec().op;
  problem.channel_axis = arguments.channel_axis();
  return problem;
}

int make_executor(aclOpExecutor& executor, Problem& problem, const Arguments& arguments) {
  const auto has_part = [](const Operand& operand) { return operand && operand.arg != Arg::kNone; };
  for (const Operand& operand : arguments) {
    if (has_part(operand)) problem[operand.arg] = to_tensor(operand);
  }
  NORMGRAD_ACLNN_TRY(to_aclnn(make_plan(problem, &executor.plan)));
  for (const Operand& operand : arguments) {
    const bool unused = operand.arg == Arg::kNone && operand.row->form == Form::kVector;
    if (unused) NORMGRAD_ACLNN_TRY(check_channels_of(arguments, operand));
  }
  TensorSlot* slot = executor.slot;
  for (const Operand& operand : arguments) {
    if (has_part(operand)) {
      slot->arg = operand.arg;
      // The offset of a tensor without elements is not checked and means nothing.
      slot->offset_bytes =
          operand->is_empty() ? 0 : operand->offset * size_of(problem[operand.arg].dtype);
      executor.set_address(*slot, operand->address);
    }
    ++slot;
  }
  return 0;
}

Tensor unit_variance(const Arguments& arguments, const Operand& variance) {
  return {DataType::kF64, 1, {arguments.channels()}, {0}, variance.name()};
}
void set_unit_variance(aclOpExecutor& executor) { executor.addresses[Arg::kVar] = &kUnitVariance; }

Tensor nothing_like(const Arguments& arguments, const Operand& data) {
  const std::int64_t channels = arguments.channels();
  return {DataType::kF32, 2, {0, channels}, {channels, 1}, data.name()};
}

}  // namespace normgrad::api
