#include <cstring>

#include "runtime/device_memory.h"
#include "kernels/float_environment.h"
#include "ops/plan_checks.h"

namespace normgrad {

void set_arguments(Plan& plan, std::initializer_list<const Tensor*> tensors, int outputs) noexcept {
  plan.arguments = 0;
  for (const Tensor* tensor : tensors) {
    Argument& argument = plan.argument[plan.arguments];
    argument.tensor = *tensor;
    argument.is_output = plan.arguments++ < outputs;
  }
}

Status check_data_dtype(const Tensor& tensor) {
  switch (tensor.dtype) {
    case DataType::kF16:
    case DataType::kBF16:
    case DataType::kF32:
      return Status::kOk;
    case DataType::kNone:
      return fail(Status::kNullPointer, "%s is missing", tensor.name);
    case DataType::kF64:
    case DataType::kI32:
    case DataType::kOther:
      break;
  }
  return fail(Status::kBadDtype, "%s is %s, but must be f16, bf16 or f32", tensor.name,
              name_of(tensor.dtype));
}

Status check_same_dtype(const Tensor& tensor, const Tensor& data) {
  if (!tensor.present() || tensor.dtype == data.dtype) return Status::kOk;
  return fail(Status::kBadDtype, "%s is %s, but must be %s like %s", tensor.name,
              name_of(tensor.dtype), name_of(data.dtype), data.name);
}

Status check_parameter_dtype(const Tensor& tensor, const Tensor& data, Allow allow) {
  const bool fits = !tensor.present() || tensor.dtype == data.dtype ||
                    tensor.dtype == DataType::kF32 ||
                    (allow == Allow::kStatistic && tensor.dtype == DataType::kF64);
  if (fits) return Status::kOk;
  return fail(Status::kBadDtype, "%s is %s, but must be f32 or, like %s, %s", tensor.name,
              name_of(tensor.dtype), data.name, name_of(data.dtype));
}

Status check_number_dtype(const Tensor& tensor) {
  switch (tensor.dtype) {
    case DataType::kNone:
    case DataType::kF16:
    case DataType::kBF16:
    case DataType::kF32:
    case DataType::kF64:
      return Status::kOk;
    case DataType::kI32:
    case DataType::kOther:
      break;
  }
  return fail(Status::kBadDtype, "%s is %s, but must be f16, bf16, f32 or f64", tensor.name,
              name_of(tensor.dtype));
}

Status check_present(const Tensor& tensor) {
  if (tensor.present()) return Status::kOk;
  return fail(Status::kNullPointer, "%s is missing", tensor.name);
}

Status check_same_shape(const Tensor& tensor, const Tensor& data) {
  if (!tensor.present() || same_shape(tensor, data)) return Status::kOk;
  return fail(Status::kBadShape, "%s has shape %s, but must have the shape of %s, %s", tensor.name,
              shape_of(tensor).text, data.name, shape_of(data).text);
}

Status check_vector(const Tensor& tensor, std::int64_t length, const char* meaning) {
  if (!tensor.present() || (tensor.rank == 1 && tensor.shape[0] == length)) return Status::kOk;
  return fail(Status::kBadShape, "%s has shape %s, but must have shape (%lld), %s", tensor.name,
              shape_of(tensor).text, static_cast<long long>(length), meaning);
}

Status check_sizes(Plan& plan) {
  for (int i = 0; i < plan.arguments; ++i) {
    Argument& argument = plan.argument[i];
    std::int64_t elements = 0;
    if (!argument.tensor.present() || measure(argument.tensor, &elements, &argument.range))
      continue;
    return fail(Status::kBadShape, "%s with shape %s and strides %s is larger than memory can be",
                argument.tensor.name, shape_of(argument.tensor).text,
                strides_of(argument.tensor).text);
  }
  return Status::kOk;
}

Status check_outputs(const Plan& plan) {
  for (int i = 0; i < plan.arguments && plan.argument[i].is_output; ++i) {
    const Tensor& tensor = plan.argument[i].tensor;
    if (!tensor.present() || !overlaps_itself(tensor)) continue;
    return fail(Status::kBadStrides,
                "%s with shape %s and strides %s overlaps itself, which an output must not",
                tensor.name, shape_of(tensor).text, strides_of(tensor).text);
  }
  return Status::kOk;
}

Status check_op(const Plan& plan, const char* op) {
  if (plan.op != nullptr && std::strcmp(plan.op, op) == 0) return Status::kOk;
  return fail(Status::kBadParam, "the plan was made for %s, not for %s",
              plan.op == nullptr ? "nothing" : plan.op, op);
}

namespace {

bool has_elements(const Argument& argument) {
  return argument.tensor.present() && argument.range.end > argument.range.begin;
}

Status check_place(const Argument& argument, const void* data) {
  const char* name = argument.tensor.name;
  switch (place_of(data, argument.range.begin, argument.range.end)) {
    case Place::kHost:
    case Place::kInside:
      return Status::kOk;
    case Place::kOutside:
      return fail(Status::kBadParam,
                  "%s with shape %s and strides %s leaves the device memory that it starts in",
                  name, shape_of(argument.tensor).text, strides_of(argument.tensor).text);
    case Place::kFreed:
      break;
  }
  return fail(Status::kBadParam, "%s lies in device memory that has been freed", name);
}

// Outputs may be exactly in place of an input; any other sharing would change results or destroy
// inputs.
Status check_overlaps(const Plan& plan, void* const* data, int output) {
  const Argument& out = plan.argument[output];
  for (int i = 0; i < plan.arguments; ++i) {
    const Argument& other = plan.argument[i];
    const bool pair_done = other.is_output && i <= output;
    if (pair_done || !has_elements(other) || !share_memory(out, data[output], other, data[i]))
      continue;
    if (other.is_output) {
      return fail(Status::kBadParam, "%s and %s overlap, but outputs must not", out.tensor.name,
                  other.tensor.name);
    }
    if (same_view(out.tensor, data[output], other.tensor, data[i])) continue;
    return fail(
        Status::kBadParam,
        "%s overlaps %s: an output must lie apart from the inputs or exactly in place of one",
        out.tensor.name, other.tensor.name);
  }
  return Status::kOk;
}

Status check_workspace(const Plan& plan, void* const* data, const void* workspace) {
  const ByteRange range{0, static_cast<std::int64_t>(plan.workspace_bytes)};
  const Argument bytes{{DataType::kF16, 1, {range.end / 2}, {1}, "workspace"}, range, true};
  NORMGRAD_TRY(check_place(bytes, workspace));
  for (int i = 0; i < plan.arguments; ++i) {
    const Argument& argument = plan.argument[i];
    if (has_elements(argument) && share_memory(bytes, workspace, argument, data[i])) {
      return fail(Status::kBadParam, "workspace overlaps %s", argument.tensor.name);
    }
  }
  return Status::kOk;
}

}  // namespace

Status check_run(const Plan& plan, void* const* data, void* workspace,
                 std::size_t workspace_bytes) {
  if (plan.op == nullptr) return fail(Status::kBadParam, "the plan was not made");
  if (workspace_bytes < plan.workspace_bytes) {
    return fail(Status::kSmallWorkspace, "workspace_size is %zu bytes, but %zu are needed",
                workspace_bytes, plan.workspace_bytes);
  }
  if (workspace == nullptr && plan.workspace_bytes > 0) {
    return fail(Status::kNullPointer, "workspace is null, but %zu bytes are needed",
                plan.workspace_bytes);
  }
  for (int i = 0; i < plan.arguments; ++i) {
    if (!has_elements(plan.argument[i])) continue;
    if (data[i] == nullptr) {
      return fail(Status::kNullPointer, "%s is null", plan.argument[i].tensor.name);
    }
    NORMGRAD_TRY(check_place(plan.argument[i], data[i]));
  }
  for (int i = 0; i < plan.arguments && plan.argument[i].is_output; ++i) {
    if (has_elements(plan.argument[i])) NORMGRAD_TRY(check_overlaps(plan, data, i));
  }
  return plan.workspace_bytes > 0 ? check_workspace(plan, data, workspace) : Status::kOk;
}

Status run(const Plan& plan, void* const* data, void* workspace, std::size_t workspace_bytes) {
  NORMGRAD_TRY(check_run(plan, data, workspace, workspace_bytes));
  if (plan.execute == nullptr) {
    return fail(Status::kBadParam, "%s is not run without an exchange", plan.op);
  }
  const kernels::FloatEnvironment environment;
  plan.execute(plan, data, static_cast<std::byte*>(workspace));
  return Status::kOk;
}

}  // namespace normgrad
