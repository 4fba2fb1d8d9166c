// What memory there is, and what an address belongs to.
#include <unistd.h>

#include "api/acl/bytes.h"
#include "api/acl/runtime.h"
#include "runtime/device_memory.h"
#include "runtime/machine_memory.h"

namespace normgrad::api {
namespace {

struct Registered {
  Mutex mutex;
  std::map<const void*, std::uint64_t> sizes;  // by address
};

Registered& registered() {
  static constinit NeverDestroyed<Registered> instance;
  return instance.get();
}

bool is_registered(const void* address) {
  const std::lock_guard lock(registered().mutex);
  const auto next = registered().sizes.upper_bound(address);
  if (next == registered().sizes.begin()) return false;
  const auto& [begin, size] = *std::prev(next);
  return static_cast<std::uint64_t>(static_cast<const char*>(address) -
                                    static_cast<const char*>(begin)) < size;
}

aclrtMemLocation location_of(const void* address) {
  const std::optional<int> owner = owner_of(address);
  if (owner.has_value() && *owner != kHostOwner) {
    return {static_cast<std::uint32_t>(*owner), ACL_MEM_LOCATION_TYPE_DEVICE};
  }
  const bool known = owner.has_value() || is_registered(address);
  return {0, known ? ACL_MEM_LOCATION_TYPE_HOST : ACL_MEM_LOCATION_TYPE_UNREGISTERED};
}

int check_piece(void* address, std::size_t size) {
  if (address == nullptr) return refuse_null("devPtr");
  if (size == 0) return refuse(ACL_ERROR_INVALID_PARAM, "size is 0, but must be positive");
  return check_bytes("devPtr", address, size);
}

}  // namespace
}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  return entry(__func__, [&]() -> int {
    if (free == nullptr) return refuse_null("free");
    if (total == nullptr) return refuse_null("total");
    if (!is_between(attr, ACL_DDR_MEM, ACL_HBM_MEM_P2P_HUGE1G)) {
      return refuse(ACL_ERROR_INVALID_PARAM, "attr is %d, but must be an aclrtMemAttr, 0 to 11",
                    static_cast<int>(attr));
    }
    return on_context([&](Context&) {
      const normgrad::MachineMemory memory = normgrad::machine_memory();
      *free = memory.free;
      *total = memory.total;
      return ACL_SUCCESS;
    });
  });
}

aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
  return entry(__func__, [&] {
    if (ptr == nullptr) return refuse_null("ptr");
    if (attributes == nullptr) return refuse_null("attributes");
    const int code = check_bytes("ptr", ptr, 1);
    if (code != ACL_SUCCESS) return code;
    *attributes = {location_of(ptr), static_cast<uint32_t>(::sysconf(_SC_PAGESIZE)), {}};
    return ACL_SUCCESS;
  });
}

aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type, void** devPtr) {
  return entry(__func__, [&]() -> int {
    if (ptr == nullptr) return refuse_null("ptr");
    if (devPtr == nullptr) return refuse_null("devPtr");
    if (size == 0) return refuse(ACL_ERROR_INVALID_PARAM, "size is 0, but must be positive");
    if (type != ACL_HOST_REGISTER_MAPPED) {
      return refuse(ACL_ERROR_INVALID_PARAM, "type is %d, but must be ACL_HOST_REGISTER_MAPPED (0)",
                    static_cast<int>(type));
    }
    return on_context([&](Context&) -> int {
      const std::lock_guard lock(registered().mutex);
      if (!registered().sizes.emplace(ptr, size).second) {
        return refuse(ACL_ERROR_RT_PARAM_INVALID, "ptr (%p) is registered already", ptr);
      }
      *devPtr = ptr;
      return ACL_SUCCESS;
    });
  });
}

aclError aclrtHostUnregister(void* ptr) {
  return entry(__func__, [&]() -> int {
    if (ptr == nullptr) return refuse_null("ptr");
    const std::lock_guard lock(registered().mutex);
    if (registered().sizes.erase(ptr) != 0) return ACL_SUCCESS;
    return refuse(ACL_ERROR_RT_PARAM_INVALID, "ptr (%p) is not registered (aclrtHostRegister)",
                  ptr);
  });
}

aclError aclrtMemFlush(void* devPtr, size_t size) {
  return entry(__func__, [&] { return check_piece(devPtr, size); });
}

aclError aclrtMemInvalidate(void* devPtr, size_t size) {
  return entry(__func__, [&] { return check_piece(devPtr, size); });
}
