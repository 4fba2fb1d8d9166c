// What devices are like, and how they see each other. All of them are this machine.
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "api/acl/runtime.h"
#include "runtime/device_memory.h"

namespace normgrad::api {
namespace {

std::int64_t processors() { return std::max<std::int64_t>(std::thread::hardware_concurrency(), 1); }

// Bytes; 0 if the machine does not tell.
std::int64_t cache_bytes() {
  const long level3 = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return std::max<std::int64_t>(level3 > 0 ? level3 : ::sysconf(_SC_LEVEL2_CACHE_SIZE), 0);
}

std::optional<std::int64_t> attribute(aclrtDevAttr attr) {
  switch (attr) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM:
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM:
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
      return processors();
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
      return static_cast<std::int64_t>(physical_memory_bytes());
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
      return cache_bytes();
  }
  return std::nullopt;
}

std::optional<std::int64_t> capability(aclDeviceInfo info) {
  switch (info) {
    case ACL_DEVICE_INFO_AI_CORE_NUM:
    case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
      return processors();
    case ACL_DEVICE_INFO_L2_SIZE:
      return cache_bytes();
    case ACL_DEVICE_INFO_UNDEFINED:
      break;
  }
  return std::nullopt;
}

// Checks what both questions have in common; `argument` is the one that names what is asked.
int answer(std::uint32_t device, const char* argument, int asked, std::optional<std::int64_t> found,
           std::int64_t* value) {
  if (value == nullptr) return refuse_null("value");
  const int code = check_device("deviceId", device);
  if (code != ACL_SUCCESS) return code;
  if (!found.has_value()) {
    return refuse(ACL_ERROR_RT_PARAM_INVALID, "%s is %d, of which this library knows nothing",
                  argument, asked);
  }
  *value = *found;
  return ACL_SUCCESS;
}

int check_peer(int peer) {
  const int code = check_device("peerDeviceId", peer);
  if (code != ACL_SUCCESS) return code;
  return on_context([&](Context& context) -> int {
    if (peer != context.device) return ACL_SUCCESS;
    return refuse(ACL_ERROR_RT_PARAM_INVALID,
                  "peerDeviceId is %d, the current device itself, which is not its own peer", peer);
  });
}

}  // namespace
}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t* value) {
  return entry(__func__, [&] {
    return answer(deviceId, "attr", static_cast<int>(attr), attribute(attr), value);
  });
}

aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t* value) {
  return entry(__func__, [&] {
    return answer(deviceId, "deviceInfo", static_cast<int>(deviceInfo), capability(deviceInfo),
                  value);
  });
}

aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus* deviceStatus) {
  return entry(__func__, [&] {
    if (deviceStatus == nullptr) return refuse_null("deviceStatus");
    const int code = check_device("deviceId", deviceId);
    if (code == ACL_SUCCESS) *deviceStatus = ACL_RT_DEVICE_STATUS_NORMAL;
    return code;
  });
}

aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
  return entry(__func__, [&] {
    if (canAccessPeer == nullptr) return refuse_null("canAccessPeer");
    int code = check_device("deviceId", deviceId);
    if (code == ACL_SUCCESS) code = check_device("peerDeviceId", peerDeviceId);
    if (code == ACL_SUCCESS) *canAccessPeer = deviceId != peerDeviceId ? 1 : 0;
    return code;
  });
}

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
  return entry(__func__, [&]() -> int {
    if (flags != 0) {
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "flags is %u, but must be 0", flags);
    }
    return check_peer(peerDeviceId);
  });
}

aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId) {
  return entry(__func__, [&] { return check_peer(peerDeviceId); });
}
