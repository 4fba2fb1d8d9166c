// Memory: device memory and page-locked host memory come from the same books (runtime/device_memory.h),
// which remember whose it is.
#include "api/acl/bytes.h"
#include "api/acl/runtime.h"
#include "runtime/device_memory.h"

namespace normgrad::api {
namespace {

constexpr std::size_t kUnit = 32;  // sizes are rounded up to a multiple of it

int allocate(const char* argument, void** address, std::size_t size, int owner) {
  const bool countable = size <= SIZE_MAX - kUnit;
  void* memory = countable ? device_allocate((size + kUnit - 1) / kUnit * kUnit, owner) : nullptr;
  if (memory == nullptr) {
    return refuse(ACL_ERROR_RT_MEMORY_ALLOCATION,
                  "no memory of size %zu for %s: the machine has %zu bytes in all", size, argument,
                  physical_memory_bytes());
  }
  *address = memory;
  return ACL_SUCCESS;
}

int allocate_on_device(void** address, std::size_t size) {
  if (address == nullptr) return refuse_null("devPtr");
  if (size == 0) return refuse(ACL_ERROR_INVALID_PARAM, "size is 0, but must be positive");
  return on_context(
      [&](Context& context) { return allocate("devPtr", address, size, context.device); });
}

// malloc_name: the function that gives what this one frees.
int release(const char* argument, void* address, bool on_host, const char* malloc_name) {
  if (address == nullptr) return refuse_null(argument);
  const std::optional<int> owner = owner_of(address);
  if (owner.has_value() && (*owner == kHostOwner) != on_host) {
    return refuse(ACL_ERROR_RT_PARAM_INVALID, "%s (%p) is %s memory, but must come from %s",
                  argument, address, on_host ? "device" : "host", malloc_name);
  }
  switch (device_free(address)) {
    case FreeResult::kFreed:
      return ACL_SUCCESS;
    case FreeResult::kFreedBefore:
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "%s (%p) was freed before", argument, address);
    case FreeResult::kNotOurs:
      break;
  }
  return refuse(ACL_ERROR_RT_PARAM_INVALID, "%s (%p) is not an address that %s gave", argument,
                address, malloc_name);
}

}  // namespace

int check_bytes(const char* argument, const void* address, std::size_t size) {
  const bool countable = size <= static_cast<std::size_t>(INT64_MAX);
  switch (countable ? place_of(address, 0, static_cast<std::int64_t>(size)) : Place::kOutside) {
    case Place::kHost:
    case Place::kInside:
      return ACL_SUCCESS;
    case Place::kOutside:
      return refuse(ACL_ERROR_RT_PARAM_INVALID,
                    "%zu bytes from %s (%p) on are not in one allocation", size, argument, address);
    case Place::kFreed:
      break;
  }
  return refuse(ACL_ERROR_RT_PARAM_INVALID, "%s (%p) lies in device memory that is not allocated",
                argument, address);
}

}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy) {
  return entry(__func__, [&] { return allocate_on_device(devPtr, size); });
}

aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy) {
  return entry(__func__, [&] { return allocate_on_device(devPtr, size); });
}

aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy) {
  return entry(__func__, [&] { return allocate_on_device(devPtr, size); });
}

aclError aclrtMallocWithCfg(void** devPtr, size_t size, aclrtMemMallocPolicy,
                            aclrtMallocConfig* cfg) {
  return entry(__func__, [&]() -> int {
    if (cfg != nullptr && cfg->numAttrs != 0 && cfg->attrs == nullptr) {
      return refuse(ACL_ERROR_INVALID_PARAM, "cfg has numAttrs %zu, but its attrs is null",
                    cfg->numAttrs);
    }
    return allocate_on_device(devPtr, size);
  });
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return entry(__func__, [&]() -> int {
    if (hostPtr == nullptr) return refuse_null("hostPtr");
    if (size == 0) return refuse(ACL_ERROR_INVALID_PARAM, "size is 0, but must be positive");
    return on_context(
        [&](Context&) { return allocate("hostPtr", hostPtr, size, normgrad::kHostOwner); });
  });
}

aclError aclrtFree(void* devPtr) {
  return entry(__func__, [&] { return release("devPtr", devPtr, false, "aclrtMalloc"); });
}

aclError aclrtFreeHost(void* hostPtr) {
  return entry(__func__, [&] { return release("hostPtr", hostPtr, true, "aclrtMallocHost"); });
}
