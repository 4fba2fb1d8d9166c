// What a caller may do with an executor besides running it.
#include "api/aclnn/executor.h"

#include "aclnn/aclnn_base.h"
#include "api/aclnn/arrays.h"
#include "api/aclnn/checks.h"
#include "api/aclnn/handles.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::change_handle;
using normgrad::is_live;
using normgrad::unregister_handle;

namespace {

int refuse_inner_null(const char* argument) {
  return refuse(kAclnnInnerNullPointer, "%s is null", argument);
}

int check_executor(const aclOpExecutor* executor) {
  if (executor == nullptr) return refuse_inner_null("executor");
  const bool alive =
      is_live(executor, aclOpExecutor::kKind) || is_live(executor, aclOpExecutor::kRepeatableKind);
  return alive ? 0 : refuse_dead_executor(executor);
}

enum class Among { kInputs, kOutputs, kAll };

// The slot of tensor `index` among these; null if there is none.
const TensorSlot* find_slot(const aclOpExecutor& executor, Among among, std::size_t index) {
  const int begin = among == Among::kOutputs ? executor.inputs : 0;
  const int end = among == Among::kInputs ? executor.inputs : executor.slots;
  const bool exists = index < static_cast<std::size_t>(end - begin);
  return exists ? executor.slot + begin + index : nullptr;
}

int set_tensor_address(const char* name, Among among, aclOpExecutor* executor, std::size_t index,
                       aclTensor* tensor, void* address) {
  return aclnn_entry(name, [&] {
    NORMGRAD_ACLNN_TRY(check_executor(executor));
    if (tensor == nullptr) return refuse_inner_null("tensor");
    NORMGRAD_ACLNN_TRY(check_handle("tensor", tensor));
    const TensorSlot* slot = find_slot(*executor, among, index);
    if (slot == nullptr) {
      return refuse(kAclnnInvalid, "index is %zu, but %s has %d inputs and %d outputs", index,
                    executor->op, executor->inputs, executor->slots - executor->inputs);
    }
    if (!slot->given) {
      return refuse(kAclnnInvalid, "index is %zu, which is %s of %s, but that was null in phase 1",
                    index, slot->name, executor->op);
    }
    tensor->address = address;
    executor->set_address(*slot, address);
    return 0;
  });
}

// No operator of ours takes a list.
int set_list_address(const char* name, const aclOpExecutor* executor, std::size_t ir_index,
                     std::size_t relative_index, const aclTensorList* tensors) {
  return aclnn_entry(name, [&] {
    NORMGRAD_ACLNN_TRY(check_executor(executor));
    if (tensors == nullptr) return refuse_inner_null("tensors");
    NORMGRAD_ACLNN_TRY(check_handle("tensors", tensors));
    if (relative_index >= tensors->size) {
      return refuse(kAclnnInvalid, "relativeIndex is %zu, but tensors has %llu elements",
                    relative_index, static_cast<unsigned long long>(tensors->size));
    }
    return refuse(kAclnnInvalid, "irIndex is %zu, but %s has no argument that is a list of tensors",
                  ir_index, executor->op);
  });
}

}  // namespace

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  return aclnn_entry(__func__, [&] {
    if (executor == nullptr) return refuse_inner_null("executor");
    // If it was not what it is changed from, another thread may have changed it.
    const bool is_repeatable =
        change_handle(executor, aclOpExecutor::kKind, aclOpExecutor::kRepeatableKind) ||
        is_live(executor, aclOpExecutor::kRepeatableKind);
    return is_repeatable ? 0 : refuse_dead_executor(executor);
  });
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  return aclnn_entry(__func__, [&] {
    if (executor == nullptr) return refuse_inner_null("executor");
    if (!unregister_handle(executor, aclOpExecutor::kKind) &&
        !unregister_handle(executor, aclOpExecutor::kRepeatableKind)) {
      return refuse_dead_executor(executor);
    }
    normgrad::retire_object(executor);
    return 0;
  });
}

aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                  void* addr) {
  return set_tensor_address(__func__, Among::kInputs, executor, index, tensor, addr);
}
aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                   void* addr) {
  return set_tensor_address(__func__, Among::kOutputs, executor, index, tensor, addr);
}
aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                             void* addr) {
  return set_tensor_address(__func__, Among::kAll, executor, index, tensor, addr);
}
aclnnStatus AclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                  void* addr) {
  return set_tensor_address(__func__, Among::kInputs, executor, index, tensor, addr);
}
aclnnStatus AclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                   void* addr) {
  return set_tensor_address(__func__, Among::kOutputs, executor, index, tensor, addr);
}
aclnnStatus AclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                             void* addr) {
  return set_tensor_address(__func__, Among::kAll, executor, index, tensor, addr);
}

aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                         const size_t relativeIndex, aclTensorList* tensors,
                                         void*) {
  return set_list_address(__func__, executor, irIndex, relativeIndex, tensors);
}
aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                          const size_t relativeIndex, aclTensorList* tensors,
                                          void*) {
  return set_list_address(__func__, executor, irIndex, relativeIndex, tensors);
}
aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                    const size_t relativeIndex, aclTensorList* tensors, void*) {
  return set_list_address(__func__, executor, irIndex, relativeIndex, tensors);
}
aclnnStatus AclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                         const size_t relativeIndex, aclTensorList* tensors,
                                         void*) {
  return set_list_address(__func__, executor, irIndex, relativeIndex, tensors);
}
aclnnStatus AclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                          const size_t relativeIndex, aclTensorList* tensors,
                                          void*) {
  return set_list_address(__func__, executor, irIndex, relativeIndex, tensors);
}
aclnnStatus AclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                    const size_t relativeIndex, aclTensorList* tensors, void*) {
  return set_list_address(__func__, executor, irIndex, relativeIndex, tensors);
}

// Nothing is prepared, so there is nothing to release.
aclnnStatus aclnnInit(const char*) { return 0; }
aclnnStatus aclnnFinalize() { return 0; }
