// The four functions that every operator has, written once. An operator's file names its tensors
// and says which argument of the formula each of them is.
#ifndef NORMGRAD_API_INFINIOP_OPERATOR_H
#define NORMGRAD_API_INFINIOP_OPERATOR_H

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "api/guard.h"
#include "api/infini_status.h"
#include "api/infiniop/handle.h"
#include "api/live_handle.h"
#include "infiniop/operator_descriptor.h"
#include "normgrad/plan.h"

// The two numbers come first, in this order: InfiniCore's clients know that much of the layout.
struct InfiniopDescriptor {
  infiniDevice_t device_type;
  int device_id;
};

namespace normgrad::api {

// A descriptor is a plan and the device it is for.
template <HandleKind kind>
struct OperatorDescriptor : InfiniopDescriptor {
  static constexpr HandleKind kKind = kind;
  Plan plan;
  Retirement retirement;
};

// Data tensors have all dimensions; the others are vectors or one number per row.
enum class Role { kData, kOther, kOptional };

struct Operand {
  const char* name;
  infiniopTensorDescriptor_t desc;
  Tensor* tensor;
  Role role;
};
using Operands = std::span<const Operand>;

// What the interface document asks of an operator's data tensors beyond what its mathematics needs.
struct DataRule {
  int min_rank;
  int max_rank;
  bool contiguous;
};

// Pointers, device, data types, ranks, in this order; then the operands' tensors are set.
Status translate(infiniopHandle_t handle, const void* desc_ptr, Operands operands, DataRule rule);
// What of the rule is left when shapes and strides have passed the operator's own checks.
Status check_contiguous(Operands operands, DataRule rule);

// The interface documents have no NULL_POINTER for operators.
inline infiniStatus_t to_operator_status(Status status) {
  return to_infini(status == Status::kNullPointer ? Status::kBadParam : status);
}

template <class Descriptor, class Problem>
infiniStatus_t create_operator(const char* name, infiniopHandle_t handle,
                               InfiniopDescriptor** desc_ptr, const Problem& problem, DataRule rule,
                               std::initializer_list<Operand> operands) {
  return to_operator_status(guarded(name, [&] {
    const Visit visit;
    Status status = translate(handle, desc_ptr, operands, rule);
    if (status != Status::kOk) return status;
    auto descriptor = std::make_unique<Descriptor>();
    descriptor->device_type = handle->device;
    descriptor->device_id = handle->device_id;
    status = make_plan(problem, &descriptor->plan);
    if (status == Status::kOk) status = check_contiguous(operands, rule);
    if (status == Status::kOk) publish(std::move(descriptor), desc_ptr);
    return status;
  }));
}

template <class Descriptor>
infiniStatus_t get_workspace_size(const char* name, InfiniopDescriptor* desc, std::size_t* size) {
  return to_operator_status(guarded(name, [&] {
    const Visit visit;
    const auto* descriptor = live<Descriptor>(desc);
    if (descriptor == nullptr) return not_alive("desc", desc);
    if (size == nullptr) return null_pointer("size");
    *size = descriptor->plan.workspace_bytes;
    return Status::kOk;
  }));
}

template <class Descriptor, class Data>
infiniStatus_t run_operator(const char* name, InfiniopDescriptor* desc, void* workspace,
                            std::size_t workspace_size, const Data& data) {
  return to_operator_status(guarded(name, [&] {
    Plan plan;
    {
      const Visit visit;
      const auto* descriptor = live<Descriptor>(desc);
      if (descriptor == nullptr) return not_alive("desc", desc);
      plan = descriptor->plan;  // some kilobytes; no visit may last as long as a run
    }
    return run(plan, data, workspace, workspace_size);
  }));
}

template <class Descriptor>
infiniStatus_t destroy_operator(const char* name, InfiniopDescriptor* desc) {
  return to_operator_status(guarded(name, [&] { return destroy<Descriptor>("desc", desc); }));
}

}  // namespace normgrad::api

#endif
