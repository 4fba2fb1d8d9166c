#include "api/infiniop/handle.h"

#include "api/guard.h"
#include "api/infini_status.h"
#include "api/live_handle.h"
#include "infinirt.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Status;

namespace {

Status create(infiniopHandle_t* handle_ptr) {
  if (handle_ptr == nullptr) return null_pointer("handle_ptr");
  infiniDevice_t device = INFINI_DEVICE_CPU;
  if (infinirtGetDevice(&device, nullptr) != INFINI_STATUS_SUCCESS) return Status::kInternal;
  if (device != INFINI_DEVICE_CPU) {
    return normgrad::fail(
        Status::kDeviceUnsupported,
        "this thread's current device is %d (infinirtSetDevice), but this library "
        "drives INFINI_DEVICE_CPU (0) alone",
        static_cast<int>(device));
  }
  publish(std::make_unique<InfiniopHandle>(), handle_ptr);
  return Status::kOk;
}

}  // namespace

infiniStatus_t infiniopCreateHandle(infiniopHandle_t* handle_ptr) {
  return to_infini(guarded(__func__, [&] { return create(handle_ptr); }));
}

infiniStatus_t infiniopDestroyHandle(infiniopHandle_t handle) {
  return to_infini(guarded(__func__, [&] { return destroy<InfiniopHandle>("handle", handle); }));
}
