// What can be asked of any operator's descriptor.
#include "infiniop/operator_descriptor.h"

#include <algorithm>
#include <array>

#include "api/infiniop/operator.h"

namespace normgrad::api {
namespace {

bool is_operator(const InfiniopDescriptor* desc) {
  constexpr std::array kOperators{HandleKind::kInfiniopBatchNormBackward,
                                  HandleKind::kInfiniopLayerNormBackward,
                                  HandleKind::kInfiniopRmsNormBackward};
  return std::any_of(kOperators.begin(), kOperators.end(),
                     [desc](HandleKind kind) { return is_live(desc, kind); });
}

template <class Value>
infiniStatus_t get(const char* name, const InfiniopDescriptor* desc,
                   Value InfiniopDescriptor::*member, const char* argument, Value* value) {
  return to_operator_status(guarded(name, [&] {
    const Visit visit;
    if (!is_operator(desc)) return not_alive("desc_ptr", desc);
    if (value == nullptr) return null_pointer(argument);
    *value = desc->*member;
    return Status::kOk;
  }));
}

}  // namespace
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
