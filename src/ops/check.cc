#include "ops/check.h"

#include <algorithm>

#include "runtime/failure.h"
#include "runtime/layout.h"
#include "runtime/sizes.h"

namespace normgrad {
namespace {

// ---- presence ----

Status enter(const Operator& op, const Problem& problem, PlanBody& body) {
  bool takes[kArgs] = {};
  for (const Rule& rule : op.rules) {
    takes[index_of(rule.arg)] = true;
    Argument& argument = body[rule.arg];
    argument.tensor = problem[rule.arg];
    if (*argument.tensor.name == '\0') argument.tensor.name = name_of(rule.arg);
    argument.is_output = rule.direction == Direction::kOut ||
                         (rule.direction == Direction::kOutInTraining && problem.training);
  }
  for (int i = 0; i < kArgs; ++i) {
    if (takes[i] || !problem.tensor[i].present()) continue;
    return fail(Status::kBadParam, "%s is given, but %s takes none", name_of(Arg(i)), op.name);
  }
  return Status::kOk;
}

Status check_presence(const Operator& op, const PlanBody& body) {
  for (const Rule& rule : op.rules) {
    if (rule.presence != Presence::kRequired || body.tensor(rule.arg).present()) continue;
    return fail(Status::kNullPointer, "%s is missing", body.tensor(rule.arg).name);
  }
  return Status::kOk;
}

// ---- data types ----

bool is_element(DataType dtype) {
  return dtype == DataType::kF16 || dtype == DataType::kBF16 || dtype == DataType::kF32;
}

Status refuse_type(const Tensor& tensor, const char* allowed) {
  return fail(Status::kBadDtype, "%s is %s, but must be %s", tensor.name, name_of(tensor.dtype),
              allowed);
}

Status check_type(const Tensor& tensor, Types types, const Tensor& data) {
  const DataType dtype = tensor.dtype;
  const bool is_number = is_element(dtype) || dtype == DataType::kF64;
  switch (types) {
    case Types::kElements:
      if (dtype == data.dtype) return Status::kOk;
      return fail(Status::kBadDtype, "%s is %s, but must be %s like %s", tensor.name,
                  name_of(dtype), name_of(data.dtype), data.name);
    case Types::kParameter:
    case Types::kStatistic:
      if (dtype == data.dtype || dtype == DataType::kF32) return Status::kOk;
      if (types == Types::kStatistic && dtype == DataType::kF64) return Status::kOk;
      return fail(Status::kBadDtype, "%s is %s, but must be f32 or, like %s, %s", tensor.name,
                  name_of(dtype), data.name, name_of(data.dtype));
    case Types::kNumber:
      return is_number ? Status::kOk : refuse_type(tensor, "f16, bf16, f32 or f64");
    case Types::kCount:
      break;
  }
  if (is_number || dtype == DataType::kI32) return Status::kOk;
  return refuse_type(tensor, "f16, bf16, f32, f64 or i32");
}

Status check_types(const Operator& op, const PlanBody& body) {
  // Inputs of no type that we have, before any is held to another.
  for (const Rule& rule : op.rules) {
    const auto& [tensor, range, is_output] = body[rule.arg];
    if (rule.types != Types::kElements || is_output || !tensor.present()) continue;
    if (!is_element(tensor.dtype)) return refuse_type(tensor, "f16, bf16 or f32");
  }
  for (const Rule& rule : op.rules) {
    const Tensor& tensor = body.tensor(rule.arg);
    if (tensor.present()) NORMGRAD_TRY(check_type(tensor, rule.types, body.tensor(op.data)));
  }
  return Status::kOk;
}

// ---- shapes ----

Status check_data_shape(const Operator& op, const Tensor& data, int channel_axis) {
  switch (op.walk) {
    case Walk::kRows:
      if (data.rank >= 1) return Status::kOk;
      return fail(Status::kBadShape, "%s is a scalar, but must have rows", data.name);
    case Walk::kChannels:
      if (data.rank < 2) {
        return fail(Status::kBadShape, "%s has shape %s, but must have rank 2 to 8", data.name,
                    shape_of(data).text);
      }
      if (channel_axis >= 0 && channel_axis < data.rank) return Status::kOk;
      return fail(Status::kBadParam, "the channel axis is %d, but %s has rank %d", channel_axis,
                  data.name, data.rank);
    case Walk::kDevices:
      break;
  }
  if (data.rank == 2) return Status::kOk;
  return fail(Status::kBadShape, "%s has shape %s, but must have 2 dimensions: device, channel",
              data.name, shape_of(data).text);
}

bool is_vector(const Tensor& tensor, std::int64_t length) {
  return tensor.rank == 1 && tensor.shape[0] == length;
}
Status check_vector(const Tensor& tensor, std::int64_t length, const char* meaning) {
  if (is_vector(tensor, length)) return Status::kOk;
  return fail(Status::kBadShape, "%s has shape %s, but must have shape (%lld), %s", tensor.name,
              shape_of(tensor).text, static_cast<long long>(length), meaning);
}

Status check_row_statistic(const Tensor& tensor, const Tensor& data) {
  const int leading = data.rank - 1;
  const bool trailing_one = tensor.rank == data.rank && tensor.shape[leading] == 1;
  const bool rank_fits = tensor.rank == leading || trailing_one;
  if (rank_fits && std::equal(tensor.shape, tensor.shape + leading, data.shape)) return Status::kOk;
  return fail(Status::kBadShape,
              "%s has shape %s, but must have shape %s, that of %s without the last dimension",
              tensor.name, shape_of(tensor).text, text_of(leading, data.shape).text, data.name);
}

Status check_shape(const Tensor& tensor, Shape shape, const Tensor& data, int channel_axis) {
  switch (shape) {
    case Shape::kWhole:
    case Shape::kDevices:
      if (same_shape(tensor, data)) return Status::kOk;
      return fail(Status::kBadShape, "%s has shape %s, but must have the shape of %s, %s",
                  tensor.name, shape_of(tensor).text, data.name, shape_of(data).text);
    case Shape::kColumns:
      return check_vector(tensor, data.shape[data.rank - 1], "the length of a row");
    case Shape::kRows:
      return check_row_statistic(tensor, data);
    case Shape::kChannels:
      return check_channels(tensor, data, channel_axis);
    case Shape::kPerDevice:
      return check_vector(tensor, data.shape[0], "the number of devices");
    case Shape::kAny:
      break;
  }
  return Status::kOk;
}

Status check_sizes(const Operator& op, PlanBody& body) {
  for (const Rule& rule : op.rules) {
    Argument& argument = body[rule.arg];
    std::int64_t elements = 0;
    if (!argument.tensor.present() || measure(argument.tensor, &elements, &argument.range))
      continue;
    return fail(Status::kBadShape, "%s with shape %s and strides %s is larger than memory can be",
                argument.tensor.name, shape_of(argument.tensor).text,
                strides_of(argument.tensor).text);
  }
  if (op.walk != Walk::kRows) return Status::kOk;
  const Tensor& data = body.tensor(op.data);
  const std::int64_t columns = data.shape[data.rank - 1];
  // With 64 blocks of column sums the workspace is about 2 KiB per column.
  if ((Checked(columns) * 2048).ok()) return Status::kOk;
  return fail(Status::kBadShape, "%s has %lld columns: more than memory can hold", data.name,
              static_cast<long long>(columns));
}

Status check_shapes(const Operator& op, PlanBody& body) {
  const Tensor& data = body.tensor(op.data);
  const int channel_axis = op.walk == Walk::kDevices ? 1 : body.channel_axis;
  NORMGRAD_TRY(check_data_shape(op, data, channel_axis));
  for (const bool outputs : {false, true}) {  // an input is the likelier mistake of two
    for (const Rule& rule : op.rules) {
      const auto& [tensor, range, is_output] = body[rule.arg];
      if (is_output != outputs || !tensor.present()) continue;
      NORMGRAD_TRY(check_shape(tensor, rule.shape, data, channel_axis));
    }
  }
  return check_sizes(op, body);
}

// ---- strides ----

Status check_last_stride(const Tensor& tensor) {
  const int last = tensor.rank - 1;
  // A stride that is not used may be any number.
  const bool unused = is_empty(tensor) || tensor.shape[last] == 1;
  if (unused || tensor.strides[last] == 1) return Status::kOk;
  return fail(Status::kBadStrides, "%s has strides %s, but its last stride must be 1", tensor.name,
              strides_of(tensor).text);
}

Status check_strides(const Operator& op, const PlanBody& body) {
  for (const Rule& rule : op.rules) {
    const Tensor& tensor = body.tensor(rule.arg);
    if (op.walk != Walk::kRows || rule.shape != Shape::kWhole || !tensor.present()) continue;
    NORMGRAD_TRY(check_last_stride(tensor));
  }
  for (const Rule& rule : op.rules) {
    const Tensor& tensor = body.tensor(rule.arg);
    if (!tensor.present() || !body[rule.arg].is_output || !overlaps_itself(tensor)) continue;
    return fail(Status::kBadStrides,
                "%s with shape %s and strides %s overlaps itself, which an output must not",
                tensor.name, shape_of(tensor).text, strides_of(tensor).text);
  }
  return Status::kOk;
}

}  // namespace

Status check_channels(const Tensor& tensor, const Tensor& data, int channel_axis) {
  const std::int64_t channels = data.shape[channel_axis];
  if (is_vector(tensor, channels)) return Status::kOk;
  return fail(Status::kBadShape,
              "%s has shape %s, but must have shape (%lld): the channels of %s, its axis %d",
              tensor.name, shape_of(tensor).text, static_cast<long long>(channels), data.name,
              channel_axis);
}

Status check(const Operator& op, const Problem& problem, PlanBody& body) {
  NORMGRAD_TRY(enter(op, problem, body));
  NORMGRAD_TRY(check_presence(op, body));
  if (op.check != nullptr) NORMGRAD_TRY(op.check(problem));
  NORMGRAD_TRY(check_types(op, body));
  NORMGRAD_TRY(check_shapes(op, body));
  return check_strides(op, body);
}

}  // namespace normgrad
