#include "api/aclnn/operator.h"

#include "api/aclnn/arrays.h"
#include "ops/check.h"
#include "runtime/layout.h"
#include "runtime/sizes.h"

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

// The same elements in their order as another shape; as it is if it has not as many, or gaps and more than ones to drop.
Tensor as_shape(const Tensor& given, int rank, const std::int64_t* shape) {
  Tensor out = given;
  out.rank = rank;
  std::copy_n(shape, rank, out.shape);
  if (given.rank == rank && std::equal(shape, shape + rank, given.shape)) return given;
  Checked elements = 1, wanted = 1, dense_stride = 1;
  bool is_dense = true;
  for (int d = given.rank - 1; d >= 0; --d) {
    is_dense &=
        given.shape[d] == 1 || !dense_stride.ok() || given.strides[d] == dense_stride.value();
    dense_stride = dense_stride * given.shape[d];
    elements = elements * given.shape[d];
  }
  for (int d = rank - 1; d >= 0; --d) {
    out.strides[d] = wanted.ok() ? wanted.value() : 0;
    wanted = wanted * shape[d];
  }
  if (!elements.ok() || !wanted.ok() || elements.value() != wanted.value()) return given;
  if (is_dense) return out;
  int d = 0;
  for (int i = 0; i < rank; ++i) {
    if (shape[i] == 1) continue;
    while (d < given.rank && given.shape[d] == 1) ++d;
    if (d == given.rank || given.shape[d] != shape[i]) return given;
    out.strides[i] = given.strides[d++];
  }
  return out;
}

// As the operator wants it.
Tensor to_argument(const Operand& operand, const Arguments& arguments, const Problem& problem) {
  const Tensor tensor = to_tensor(operand);
  const Form form = operand.row->form;
  if (form == Form::kData || form == Form::kVector || form == Form::kOther) return tensor;
  const Dims& data = arguments.data()->shape;
  const auto rank = static_cast<int>(data.size());
  const int leading = rank - problem.row_axes;
  if (form == Form::kLikeData) return as_shape(tensor, rank, data.begin());
  if (form == Form::kPerChannel) return as_shape(tensor, 1, data.begin() + 1);
  if (form == Form::kPerGroup) {
    const std::int64_t groups[] = {data[0], problem.groups};
    return as_shape(tensor, 2, groups);
  }
  if (leading < 0) return tensor;
  if (form == Form::kRow) return as_shape(tensor, problem.row_axes, data.begin() + leading);
  return as_shape(tensor, leading, data.begin());
}

// A row that has no part in the computation, but must have its shape.
int check_unused_row(const Arguments& arguments, const Operand& operand, const Problem& problem) {
  const int row_axes = problem.row_axes;
  const Tensor tensor = to_argument(operand, arguments, problem);
  const Dims& data = arguments.data()->shape;
  const std::int64_t* row = data.end() - row_axes;
  if (tensor.rank == row_axes && std::equal(row, data.end(), tensor.shape)) return 0;
  return refuse(arguments.spec().shape_code,
                "%s has shape %s, but must have shape %s, that of a row", operand.name(),
                shape_of(tensor).text, text_of(row_axes, row).text);
}

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
    if (!has_part(operand)) continue;
    problem[operand.arg] = to_argument(operand, arguments, problem);
    if (operand.row->also != Arg::kNone) problem[operand.row->also] = problem[operand.arg];
  }
  const Status status = make_plan(problem, &executor.plan);
  if (status == Status::kBadShape) return arguments.spec().shape_code;
  NORMGRAD_ACLNN_TRY(to_aclnn(status));
  for (const Operand& operand : arguments) {
    if (!operand || operand.arg != Arg::kNone) continue;
    const Form form = operand.row->form;
    if (form == Form::kVector) NORMGRAD_ACLNN_TRY(check_channels_of(arguments, operand));
    if (form != Form::kRow) continue;
    NORMGRAD_ACLNN_TRY(check_unused_row(arguments, operand, problem));
  }
  TensorSlot* slot = executor.slot;
  for (const Operand& operand : arguments) {
    if (has_part(operand)) {
      slot->arg = operand.arg;
      slot->also = operand.row->also;
      // The offset of a tensor without elements is not checked and means nothing.
      slot->offset_bytes =
          operand->is_empty() ? 0 : operand->offset * size_of(problem[operand.arg].dtype);
      executor.set_address(*slot, operand->address);
    }
    ++slot;
  }
  return 0;
}

int check_rows(const Arguments& arguments) {
  NORMGRAD_ACLNN_TRY(check_not_null(arguments));
  NORMGRAD_ACLNN_TRY(check_alive(arguments));
  return check_document(arguments);
}

int plan_rows(aclOpExecutor& executor, const Arguments& arguments, const RowNumbers& numbers) {
  Problem problem;
  problem.op = arguments.spec().op;
  problem.row_axes = numbers.axes;
  problem.eps = numbers.eps;
  problem.alpha = numbers.alpha;
  return make_executor(executor, problem, arguments);
}

int check_normalized_shape(const Arguments& arguments, const aclIntArray& shape) {
  const Dims& data = arguments.data()->shape;
  if (shape.size < 1 || shape.size > kMaxRank) {
    return refuse(kAclnnInvalid, "normalizedShape has %llu extents, but must have 1 to %d",
                  static_cast<unsigned long long>(shape.size), kMaxRank);
  }
  const auto axes = static_cast<int>(shape.size);
  if (shape.size <= data.size() && std::equal(data.end() - axes, data.end(), shape.values.get())) {
    return 0;
  }
  return refuse(kAclnnInvalid, "normalizedShape is %s, but must be the last extents of %s, %s",
                text_of(axes, shape.values.get()).text, arguments.data().name(),
                text_of(static_cast<int>(data.size()), data.begin()).text);
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
