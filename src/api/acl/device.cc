// Which devices there are (NORMGRAD_DEVICES), and setting and resetting them.
#include "api/acl/runtime.h"
#include "runtime/environment.h"

namespace normgrad::api {
namespace {

int reset(int device, bool force) {
  int code = check_device("deviceId", device);
  if (code == ACL_SUCCESS) code = check_may_wait();
  if (code != ACL_SUCCESS) return code;
  WorkFailure failure;
  if (reset_device(device, force, &failure)) return answer_failure(failure);
  return refuse(ACL_ERROR_RT_CONTEXT_RELEASE_ERROR,
                "deviceId %d is not set (aclrtSetDevice), or was reset as often as it was set",
                device);
}

// Of all contexts of the device, the default streams with them.
std::vector<Mark> ends_of_streams(int device) {
  std::vector<Mark> ends;
  for (const std::shared_ptr<Context>& context : all_contexts()) {
    if (context->device != device) continue;
    const std::lock_guard lock(context->mutex);
    if (context->default_stream != nullptr) ends.push_back(context->default_stream->end());
    for (const auto& [handle, stream] : context->streams) ends.push_back(stream->end());
  }
  return ends;
}

int synchronize(int device, std::int32_t timeout) {
  const Deadline deadline = deadline_in(timeout);
  WorkFailure first;
  for (const Mark& end : ends_of_streams(device)) {
    if (!end.finish(deadline)) {
      return refuse(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
                    "work of device %d was not done within timeout, %d ms", device, timeout);
    }
    const WorkFailure failure = end.take_failure();
    if (first.code == ACL_SUCCESS) first = failure;
  }
  return answer_failure(first);
}

int synchronize_current(std::int32_t timeout) {
  const int code = check_timeout(timeout);
  if (code != ACL_SUCCESS) return code;
  return on_context([&](Context& context) {
    const int waits = check_may_wait();
    return waits == ACL_SUCCESS ? synchronize(context.device, timeout) : waits;
  });
}

}  // namespace
}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace

aclError aclrtSetDevice(int32_t deviceId) {
  return entry(__func__, [&] {
    const int code = check_device("deviceId", deviceId);
    if (code == ACL_SUCCESS) set_current_context(set_device(deviceId));
    return code;
  });
}

aclError aclrtResetDevice(int32_t deviceId) {
  return entry(__func__, [&] { return reset(deviceId, false); });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
  return entry(__func__, [&] { return reset(deviceId, true); });
}

aclError aclrtGetDevice(int32_t* deviceId) {
  return entry(__func__, [&] {
    if (deviceId == nullptr) return refuse_null("deviceId");
    return on_context([&](Context& context) {
      *deviceId = context.device;
      return ACL_SUCCESS;
    });
  });
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  return entry(__func__, [&] {
    if (count == nullptr) return refuse_null("count");
    *count = static_cast<uint32_t>(normgrad::environment().devices);
    return ACL_SUCCESS;
  });
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  return entry(__func__, [&] {
    if (runMode == nullptr) return refuse_null("runMode");
    *runMode = ACL_HOST;
    return ACL_SUCCESS;
  });
}

aclError aclrtSynchronizeDevice(void) {
  return entry(__func__, [] { return synchronize_current(-1); });
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  return entry(__func__, [&] { return synchronize_current(timeout); });
}

aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active) {
  return entry(__func__, [&] {
    if (active == nullptr) return refuse_null("active");
    const int code = check_device("deviceId", deviceId);
    if (code != ACL_SUCCESS) return code;
    if (flags != nullptr) *flags = 0;
    *active = is_device_set(deviceId) ? 1 : 0;
    return ACL_SUCCESS;
  });
}
