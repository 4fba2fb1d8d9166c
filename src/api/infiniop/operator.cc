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
  static constexpr normgrad::HandleKind kKind = normgrad::HandleKind::kInfiniopOperator;
  infiniDevice_t device_type;
  int device_id;
  const normgrad::api::Spec* spec;
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

bool is_half(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16;
}

// One of three, and the same for all, or for all data.
Status check_types(const Spec& spec, Descriptors descs) {
  const infiniDtype_t dtype = descs.front()->dtype;
  if (!is_half(dtype) && dtype != INFINI_DTYPE_F32) {
    return fail(Status::kBadDtype, "%s has dtype %s (%d), but must be F16, F32 or BF16",
                spec.rows.front().name, name_of(dtype), static_cast<int>(dtype));
  }
  for (std::size_t i = 0; i < descs.size(); ++i) {
    if (descs[i] == nullptr || descs[i]->dtype == dtype) continue;
    const infiniDtype_t other = descs[i]->dtype;
    const bool may_differ = spec.types == DataTypes::kAnyWeightsOfHalves && is_half(dtype) &&
                            spec.rows[i].role != Role::kData;
    if (!may_differ) {
      return fail(Status::kBadDtype, "%s has dtype %s (%d), but must be %s like %s",
                  spec.rows[i].name, name_of(other), static_cast<int>(other), name_of(dtype),
                  spec.rows.front().name);
    }
    if (is_half(other) || other == INFINI_DTYPE_F32) continue;
    return fail(Status::kBadDtype, "%s has dtype %s (%d), but must be F16, F32 or BF16",
                spec.rows[i].name, name_of(other), static_cast<int>(other));
  }
  return Status::kOk;
}

Status check_attributes(const Spec& spec, const Attributes& attributes) {
  const double eps = static_cast<double>(attributes.eps);
  if (spec.has_small_eps && !(eps > 0 && eps <= 1)) {
    return fail(Status::kBadParam, "epsilon is %g, but must be above 0 and at most 1", eps);
  }
  if (eps >= 0) return Status::kOk;
  return fail(Status::kBadParam, "eps is %g, but must not be negative", eps);
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

bool has_unit_last_stride(const Tensor& tensor, Layout layout) {
  if (tensor.rank == 0) return true;
  const int last = tensor.rank - 1;
  const auto* end = tensor.shape + tensor.rank;
  const bool unused = std::find(tensor.shape, end, 0) != end || tensor.shape[last] == 1;
  return tensor.strides[last] == 1 || (unused && layout == Layout::kUnitLastStride);
}

Status check_layout(const Spec& spec, const Problem& problem) {
  const Layout layout = spec.data.layout;
  for (const Row& row : spec.rows) {
    const Tensor& tensor = problem[row.arg];
    if (layout == Layout::kAny || row.role != Role::kData) continue;
    const bool contiguous = layout == Layout::kContiguous;
    if (contiguous ? is_contiguous(tensor) : has_unit_last_stride(tensor, layout)) continue;
    return fail(Status::kBadStrides, "%s with shape %s has strides %s, but %s", row.name,
                shape_of(tensor).text, strides_of(tensor).text,
                contiguous ? "must be contiguous" : "its last stride must be 1");
  }
  return Status::kOk;
}

Status plan(const Spec& spec, Descriptors descs, const Attributes& attributes, Plan* made) {
  Problem problem;
  problem.op = spec.op;
  problem.eps = static_cast<double>(attributes.eps);
  problem.momentum = static_cast<double>(attributes.momentum);
  Status status = check_types(spec, descs);
  if (status == Status::kOk) status = set_tensors(spec, descs, problem);
  if (status == Status::kOk) status = make_plan(problem, made);
  if (status == Status::kOk) status = check_layout(spec, problem);
  return status;
}

Status create(const Spec& spec, infiniopHandle_t handle, InfiniopDescriptor** desc_ptr,
              Descriptors descs, const Attributes& attributes) {
  const Visit visit;
  Status status = check_pointers(spec, handle, desc_ptr, descs);
  if (status == Status::kOk) status = check_device(*handle);
  if (status == Status::kOk) status = check_attributes(spec, attributes);
  if (status != Status::kOk) return status;
  auto descriptor = std::make_unique<InfiniopDescriptor>();
  descriptor->device_type = handle->device;
  descriptor->device_id = handle->device_id;
  descriptor->spec = &spec;
  status = plan(spec, descs, attributes, &descriptor->plan);
  if (status == Status::kOk) publish(std::move(descriptor), desc_ptr);
  return status;
}

// In a Visit.
bool is_of(const Spec& spec, const InfiniopDescriptor* desc) {
  return live<const InfiniopDescriptor>(desc) != nullptr && desc->spec == &spec;
}

// ---- what can be asked of any operator's descriptor ----

template <class Value>
infiniStatus_t get(const char* name, const InfiniopDescriptor* desc,
                   Value InfiniopDescriptor::*member, const char* argument, Value* value) {
  return operator_entry(name, [&] {
    const Visit visit;
    if (live<const InfiniopDescriptor>(desc) == nullptr) return not_alive("desc_ptr", desc);
    if (value == nullptr) return null_pointer(argument);
    *value = desc->*member;
    return Status::kOk;
  });
}

}  // namespace

infiniStatus_t create_operator(const char* name, const Spec& spec, infiniopHandle_t handle,
                               InfiniopDescriptor** desc_ptr, Descriptors descs,
                               const Attributes& attributes) {
  return operator_entry(name, [&] { return create(spec, handle, desc_ptr, descs, attributes); });
}

infiniStatus_t get_workspace_size(const char* name, const Spec& spec, InfiniopDescriptor* desc,
                                  std::size_t* size) {
  return operator_entry(name, [&] {
    const Visit visit;
    if (!is_of(spec, desc)) return not_alive("desc", desc);
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
      if (!is_of(spec, desc)) return not_alive("desc", desc);
      plan = desc->plan;
    }
    Addresses by_name;
    for (std::size_t i = 0; i < addresses.size(); ++i) by_name[spec.rows[i].arg] = addresses[i];
    return run(plan, by_name, workspace, workspace_size);
  });
}

infiniStatus_t destroy_operator(const char* name, const Spec& spec, InfiniopDescriptor* desc) {
  return operator_entry(name, [&] {
    const Visit visit;
    if (desc != nullptr && !is_of(spec, desc)) return not_alive("desc", desc);
    return destroy<InfiniopDescriptor>("desc", desc);
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
