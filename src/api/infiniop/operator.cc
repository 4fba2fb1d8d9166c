#include "api/infiniop/operator.h"

#include <algorithm>

#include "api/infiniop/tensor_descriptor.h"
#include "runtime/layout.h"

namespace normgrad::api {
namespace {

Status check_pointers(infiniopHandle_t handle, const void* desc_ptr, Operands operands) {
  if (live<InfiniopHandle>(handle) == nullptr) return not_alive("handle", handle);
  if (desc_ptr == nullptr) return null_pointer("desc_ptr");
  for (const Operand& operand : operands) {
    const bool left_out = operand.desc == nullptr && operand.role == Role::kOptional;
    if (!left_out && live<InfiniopTensorDescriptor>(operand.desc) == nullptr) {
      return not_alive(operand.name, operand.desc);
    }
  }
  return Status::kOk;
}

Status check_device(const InfiniopHandle& handle) {
  if (handle.device == INFINI_DEVICE_CPU) return Status::kOk;
  return fail(Status::kDeviceUnsupported,
              "handle is for device %d, but this library drives INFINI_DEVICE_CPU (0) alone",
              static_cast<int>(handle.device));
}

// One of three, and the same for all.
Status check_dtypes(Operands operands) {
  const infiniDtype_t dtype = operands.front().desc->dtype;
  if (dtype != INFINI_DTYPE_F16 && dtype != INFINI_DTYPE_F32 && dtype != INFINI_DTYPE_BF16) {
    return fail(Status::kBadDtype, "%s has dtype %s (%d), but must be F16, F32 or BF16",
                operands.front().name, name_of(dtype), static_cast<int>(dtype));
  }
  for (const Operand& operand : operands) {
    if (operand.desc == nullptr || operand.desc->dtype == dtype) continue;
    return fail(Status::kBadDtype, "%s has dtype %s (%d), but must be %s like %s", operand.name,
                name_of(operand.desc->dtype), static_cast<int>(operand.desc->dtype), name_of(dtype),
                operands.front().name);
  }
  return Status::kOk;
}

Status check_rank(const Tensor& tensor, DataRule rule) {
  if (tensor.rank >= rule.min_rank && tensor.rank <= rule.max_rank) return Status::kOk;
  if (rule.min_rank == rule.max_rank) {
    return fail(Status::kBadShape, "%s has shape %s, but must have %d dimensions", tensor.name,
                shape_of(tensor).text, rule.min_rank);
  }
  return fail(Status::kBadShape, "%s has shape %s, but must have from %d to %d dimensions",
              tensor.name, shape_of(tensor).text, rule.min_rank, rule.max_rank);
}

Status set_tensors(Operands operands, DataRule rule) {
  for (const Operand& operand : operands) {
    if (operand.desc == nullptr) continue;
    Status status = to_tensor(*operand.desc, operand.name, operand.tensor);
    if (status == Status::kOk && operand.role == Role::kData) {
      status = check_rank(*operand.tensor, rule);
    }
    if (status != Status::kOk) return status;
  }
  return Status::kOk;
}

// Row-major without gaps; where there is one index only, its stride means nothing.
bool is_contiguous(const Tensor& tensor) {
  const auto* end = tensor.shape + tensor.rank;
  if (std::find(tensor.shape, end, 0) != end) return true;
  std::int64_t expected = 1;
  for (int d = tensor.rank - 1; d >= 0; --d) {
    if (tensor.shape[d] != 1 && tensor.strides[d] != expected) return false;
    expected *= tensor.shape[d];  // fits: the plan has measured the tensor
  }
  return true;
}

}  // namespace

Status translate(infiniopHandle_t handle, const void* desc_ptr, Operands operands, DataRule rule) {
  Status status = check_pointers(handle, desc_ptr, operands);
  if (status == Status::kOk) status = check_device(*handle);
  if (status == Status::kOk) status = check_dtypes(operands);
  if (status == Status::kOk) status = set_tensors(operands, rule);
  return status;
}

Status check_contiguous(Operands operands, DataRule rule) {
  if (!rule.contiguous) return Status::kOk;
  for (const Operand& operand : operands) {
    if (operand.role != Role::kData || is_contiguous(*operand.tensor)) continue;
    return fail(Status::kBadStrides, "%s with shape %s has strides %s, but must be contiguous",
                operand.name, shape_of(*operand.tensor).text, strides_of(*operand.tensor).text);
  }
  return Status::kOk;
}

}  // namespace normgrad::api
