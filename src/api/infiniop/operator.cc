#include "api/infiniop/operator.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "api/guard.h"
#include "api/infini_status.h"
#include "api/infiniop/handle.h"
#include "api/infiniop/tensor_descriptor.h"
#include "api/live_handle.h"
#include "normgrad/plan.h"
#include "runtime/layout.h"

// The two numbers come first, in this order: InfiniCore's clients know that much of the layout.
struct InfiniopDescriptor {
  infiniDevice_t device_type;
  int device_id;
  normgrad::Plan plan;
  normgrad::Retirement retirement;
};

namespace normgrad::api {
namespace {

using Descriptors = std::span<const infiniopTensorDescriptor_t>;

// The interface documents have no NULL_POINTER for operators.
template <class Body>
infiniStatus_t operator_entry(const char* name, Body&& body) noexcept {
  const Status status = guarded(name, body);
  return to_infini(status == Status::kNullPointer ? Status::kBadParam : status);
}

// ---- creation: pointers, device, data types, ranks, then what the mathematics needs, then the document's layout ----

Status check_pointers(const Spec& spec, infiniopHandle_t handle, const void* desc_ptr,
                      Descriptors descs) {
  if (live<InfiniopHandle>(handle) == nullptr) return not_alive("handle", handle);
  if (desc_ptr == nullptr) return null_pointer("desc_ptr");
  for (std::size_t i = 0; i < descs.size(); ++i) {
    const bool left_out = descs[i] == nullptr && spec.rows[i].role == Role::kOptional;
    if (left_out || live<InfiniopTensorDescriptor>(descs[i]) != nullptr) continue;
    return not_alive(spec.rows[i].name, descs[i]);
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
Status check_types(const Spec& spec, Descriptors descs) {
  const infiniDtype_t dtype = descs.front()->dtype;
  if (dtype != INFINI_DTYPE_F16 && dtype != INFINI_DTYPE_F32 && dtype != INFINI_DTYPE_BF16) {
    return fail(Status::kBadDtype, "%s has dtype %s (%d), but must be F16, F32 or BF16",
                spec.rows.front().name, name_of(dtype), static_cast<int>(dtype));
  }
  for (std::size_t i = 0; i < descs.size(); ++i) {
    if (descs[i] == nullptr || descs[i]->dtype == dtype) continue;
    return fail(Status::kBadDtype, "%s has dtype %s (%d), but must be %s like %s",
                spec.rows[i].name, name_of(descs[i]->dtype), static_cast<int>(descs[i]->dtype),
                name_of(dtype), spec.rows.front().name);
  }
  return Status::kOk;
}

Status check_rank(const Tensor& tensor, const DataRule& rule) {
  if (tensor.rank >= rule.min_rank && tensor.rank <= rule.max_rank) return Status::kOk;
  if (rule.min_rank == rule.max_rank) {
    return fail(Status::kBadShape, "%s has shape %s, but must have %d dimensions", tensor.name,
                shape_of(tensor).text, rule.min_rank);
  }
  return fail(Status::kBadShape, "%s has shape %s, but must have from %d to %d dimensions",
              tensor.name, shape_of(tensor).text, rule.min_rank, rule.max_rank);
}

Status set_tensors(const Spec& spec, Descriptors descs, Problem& problem) {
  for (std::size_t i = 0; i < descs.size(); ++i) {
    if (descs[i] == nullptr) continue;
    const Row& row = spec.rows[i];
    Tensor& tensor = problem[row.arg];
    Status status = to_tensor(*descs[i], row.name, &tensor);
    if (status == Status::kOk && row.role == Role::kData) status = check_rank(tensor, spec.data);
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

Status check_contiguous(const Spec& spec, const Problem& problem) {
  for (const Row& row : spec.rows) {
    const Tensor& tensor = problem[row.arg];
    if (!spec.data.contiguous || row.role != Role::kData || is_contiguous(tensor)) continue;
    return fail(Status::kBadStrides, "%s with shape %s has strides %s, but must be contiguous",
                row.name, shape_of(tensor).text, strides_of(tensor).text);
  }
  return Status::kOk;
}

Status plan(const Spec& spec, Descriptors descs, Plan* made) {
  Problem problem;
  problem.op = spec.op;
  Status status = check_types(spec, descs);
  if (status == Status::kOk) status = set_tensors(spec, descs, problem);
  if (status == Status::kOk) status = make_plan(problem, made);
  if (status == Status::kOk) status = check_contiguous(spec, problem);
  return status;
}

Status create(const Spec& spec, infiniopHandle_t handle, InfiniopDescriptor** desc_ptr,
              Descriptors descs) {
  const Visit visit;
  Status status = check_pointers(spec, handle, desc_ptr, descs);
  if (status == Status::kOk) status = check_device(*handle);
  if (status != Status::kOk) return status;
  auto descriptor = std::make_unique<InfiniopDescriptor>();
  descriptor->device_type = handle->device;
  descriptor->device_id = handle->device_id;
  status = plan(spec, descs, &descriptor->plan);
  if (status != Status::kOk) return status;
  register_handle(descriptor.get(), spec.kind);
  *desc_ptr = descriptor.release();
  return Status::kOk;
}

// ---- what can be asked of any operator's descriptor ----

template <class Value>
infiniStatus_t get(const char* name, const InfiniopDescriptor* desc,
                   Value InfiniopDescriptor::*member, const char* argument, Value* value) {
  return operator_entry(name, [&] {
    constexpr HandleKind kOperators[] = {HandleKind::kInfiniopBatchNormBackward,
                                         HandleKind::kInfiniopLayerNormBackward,
                                         HandleKind::kInfiniopRmsNormBackward};
    const Visit visit;
    const bool alive = std::any_of(std::begin(kOperators), std::end(kOperators),
                                   [&](HandleKind kind) { return is_live(desc, kind); });
    if (!alive) return not_alive("desc_ptr", desc);
    if (value == nullptr) return null_pointer(argument);
    *value = desc->*member;
    return Status::kOk;
  });
}

}  // namespace

infiniStatus_t create_operator(const char* name, const Spec& spec, infiniopHandle_t handle,
                               InfiniopDescriptor** desc_ptr, Descriptors descs) {
  return operator_entry(name, [&] { return create(spec, handle, desc_ptr, descs); });
}

infiniStatus_t get_workspace_size(const char* name, const Spec& spec, InfiniopDescriptor* desc,
                                  std::size_t* size) {
  return operator_entry(name, [&] {
    const Visit visit;
    if (!is_live(desc, spec.kind)) return not_alive("desc", desc);
    if (size == nullptr) return null_pointer("size");
    *size = desc->plan.workspace_bytes();
    return Status::kOk;
  });
}

infiniStatus_t run_operator(const char* name, const Spec& spec, InfiniopDescriptor* desc,
                            void* workspace, std::size_t workspace_size,
                            std::span<const void* const> addresses) {
  return operator_entry(name, [&] {
    Plan plan;
    {
      const Visit visit;  // which must not last as long as a run
      if (!is_live(desc, spec.kind)) return not_alive("desc", desc);
      plan = desc->plan;
    }
    Addresses by_name;
    for (std::size_t i = 0; i < addresses.size(); ++i) by_name[spec.rows[i].arg] = addresses[i];
    return run(plan, by_name, workspace, workspace_size);
  });
}

infiniStatus_t destroy_operator(const char* name, const Spec& spec, InfiniopDescriptor* desc) {
  return operator_entry(name, [&] {
    if (desc == nullptr) return Status::kOk;  // as in C's free()
    if (!unregister_handle(desc, spec.kind)) return not_alive("desc", desc);
    retire_object(desc);
    return Status::kOk;
  });
}

}  // namespace normgrad::api

infiniStatus_t infiniopGetDescriptorDeviceType(const InfiniopDescriptor* desc_ptr,
                                               infiniDevice_t* device_type) {
  return normgrad::api::get(__func__, desc_ptr, &InfiniopDescriptor::device_type, "device_type",
                            device_type);
}

infiniStatus_t infiniopGetDescriptorDeviceId(const InfiniopDescriptor* desc_ptr, int* device_id) {
  return normgrad::api::get(__func__, desc_ptr, &InfiniopDescriptor::device_id, "device_id",
                            device_id);
}
