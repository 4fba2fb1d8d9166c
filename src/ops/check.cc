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
      return is_element(dtype) ? Status::kOk : refuse_type(tensor, "f16, bf16 or f32");
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
    const bool is_data = rule.types == Types::kElements || rule.types == Types::kParameter;
    if (!is_data || is_output || !tensor.present()) continue;
    if (!is_element(tensor.dtype)) return refuse_type(tensor, "f16, bf16 or f32");
  }
  for (const Rule& rule : op.rules) {
    const Tensor& tensor = body.tensor(rule.arg);
    if (tensor.present()) NORMGRAD_TRY(check_type(tensor, rule.types, body.tensor(op.data)));
  }
  return Status::kOk;
}

// ---- shapes ----

Status check_data_shape(const Operator& op, const Tensor& data, int channel_axis, int row_axes) {
  switch (op.walk) {
    case Walk::kRows:
      if (data.rank < 1) {
        return fail(Status::kBadShape, "%s is a scalar, but must have rows", data.name);
      }
      if (row_axes >= 1 && row_axes <= data.rank) return Status::kOk;
      return fail(Status::kBadParam, "rows have %d axes, but %s with shape %s has %d", row_axes,
                  data.name, shape_of(data).text, data.rank);
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

bool is_row(const Tensor& tensor, const Tensor& data, int row_axes) {
  return tensor.rank == row_axes &&
         std::equal(tensor.shape, tensor.shape + row_axes, data.shape + data.rank - row_axes);
}
Status check_row(const Tensor& tensor, const Tensor& data, int row_axes) {
  if (is_row(tensor, data, row_axes)) return Status::kOk;
  const std::int64_t* row = data.shape + data.rank - row_axes;
  if (row_axes == 1) {
    return fail(Status::kBadShape,
                "%s has shape %s, but must have shape (%lld), the length of a row of %s",
                tensor.name, shape_of(tensor).text, static_cast<long long>(*row), data.name);
  }
  return fail(Status::kBadShape, "%s has shape %s, but must have shape %s, that of a row of %s",
              tensor.name, shape_of(tensor).text, text_of(row_axes, row).text, data.name);
}

Status check_row_statistic(const Tensor& tensor, const Tensor& data, int row_axes) {
  const int leading = data.rank - row_axes;
  const bool ones = tensor.rank == data.rank &&
                    std::count(tensor.shape + leading, tensor.shape + data.rank, 1) == row_axes;
  const bool rank_fits = tensor.rank == leading || ones;
  if (rank_fits && std::equal(tensor.shape, tensor.shape + leading, data.shape)) return Status::kOk;
  const char* without = row_axes == 1 ? "the last dimension" : "the dimensions of a row";
  return fail(Status::kBadShape, "%s has shape %s, but must have shape %s, that of %s without %s",
              tensor.name, shape_of(tensor).text, text_of(leading, data.shape).text, data.name,
              without);
}

// Rows that have all leading dims but the last: it is missing, or 1.
bool is_segments(const Tensor& tensor, const Tensor& data, int row_axes) {
  const int leading = data.rank - row_axes;
  const bool one = tensor.rank == data.rank && leading > 0 && tensor.shape[leading - 1] == 1;
  return (one || (tensor.rank == data.rank - 1 && leading > 0)) &&
         std::equal(tensor.shape, tensor.shape + leading - 1, data.shape) &&
         std::equal(tensor.shape + tensor.rank - row_axes, tensor.shape + tensor.rank,
                    data.shape + leading);
}
Status check_segments(const Tensor& tensor, const Tensor& data, int row_axes) {
  if (is_segments(tensor, data, row_axes)) return Status::kOk;
  return fail(Status::kBadShape,
              "%s has shape %s, but must have the shape of %s, %s, with its axis %d missing or 1",
              tensor.name, shape_of(tensor).text, data.name, shape_of(data).text,
              data.rank - row_axes - 1);
}

Status check_spread(const Tensor& tensor, const Tensor& data, int row_axes) {
  if (is_row(tensor, data, row_axes) || same_shape(tensor, data) ||
      is_segments(tensor, data, row_axes)) {
    return Status::kOk;
  }
  const int leading = data.rank - row_axes;
  return fail(
      Status::kBadShape,
      "%s has shape %s, but must have the shape of a row of %s, %s, that of %s, or this with "
      "its axis %d missing or 1",
      tensor.name, shape_of(tensor).text, data.name, text_of(row_axes, data.shape + leading).text,
      data.name, leading - 1);
}

Status check_shape(const Tensor& tensor, Shape shape, const Tensor& data, const PlanBody& body,
                   int channel_axis) {
  const int row_axes = body.row_axes;
  switch (shape) {
    case Shape::kWhole:
    case Shape::kDevices:
      if (same_shape(tensor, data)) return Status::kOk;
      return fail(Status::kBadShape, "%s has shape %s, but must have the shape of %s, %s",
                  tensor.name, shape_of(tensor).text, data.name, shape_of(data).text);
    case Shape::kColumns:
      return check_row(tensor, data, row_axes);
    case Shape::kRows:
      return check_row_statistic(tensor, data, row_axes);
    case Shape::kSpread:
      return check_spread(tensor, data, row_axes);
    case Shape::kSegments:
      return check_segments(tensor, data, row_axes);
    case Shape::kChannels:
      return check_channels(tensor, data, channel_axis);
    case Shape::kGroups:
      if (tensor.rank == 2 && tensor.shape[0] == data.shape[0] && tensor.shape[1] == body.groups) {
        return Status::kOk;
      }
      return fail(
          Status::kBadShape,
          "%s has shape %s, but must have shape (%lld, %lld): the samples of %s, and groups",
          tensor.name, shape_of(tensor).text, static_cast<long long>(data.shape[0]),
          static_cast<long long>(body.groups), data.name);
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
  // With 64 blocks of column sums the workspace is about 2 KiB per column.
  Checked bytes = 2048;
  for (int d = data.rank - body.row_axes; d < data.rank; ++d) bytes = bytes * data.shape[d];
  if (bytes.ok()) return Status::kOk;
  return fail(Status::kBadShape, "%s with shape %s has more columns than memory can hold",
              data.name, shape_of(data).text);
}

Status check_shapes(const Operator& op, PlanBody& body) {
  const Tensor& data = body.tensor(op.data);
  const int channel_axis = op.walk == Walk::kDevices ? 1 : body.channel_axis;
  NORMGRAD_TRY(check_data_shape(op, data, channel_axis, body.row_axes));
  for (const bool outputs : {false, true}) {  // an input is the likelier mistake of two
    for (const Rule& rule : op.rules) {
      const auto& [tensor, range, is_output] = body[rule.arg];
      if (is_output != outputs || !tensor.present()) continue;
      NORMGRAD_TRY(check_shape(tensor, rule.shape, data, body, channel_axis));
    }
  }
  return check_sizes(op, body);
}

// ---- strides ----

Status check_strides(const Operator& op, const PlanBody& body) {
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
