// Which devices there are (one CPU), and which one a thread works on.
#include "api/infinirt/entry.h"

namespace normgrad::api {
namespace {

struct Device {
  infiniDevice_t type = INFINI_DEVICE_CPU;
  int id = 0;
};

thread_local Device current;

int count_of(int type) { return type == INFINI_DEVICE_CPU ? 1 : 0; }

bool is_device_type(infiniDevice_t device) {
  const int number = device;
  return number >= 0 && number < INFINI_DEVICE_TYPE_COUNT;
}

Status unsupported(infiniDevice_t device) {
  return fail(Status::kDeviceUnsupported,
              "device is %d, but this library drives INFINI_DEVICE_CPU (0) alone",
              static_cast<int>(device));
}

}  // namespace

Status check_device(infiniDevice_t device, int device_id) {
  if (device != INFINI_DEVICE_CPU) return unsupported(device);
  if (device_id == 0) return Status::kOk;
  return fail(Status::kDeviceNotFound, "device_id is %d, but the only CPU device is 0", device_id);
}

Status check_current_device() {
  if (current.type == INFINI_DEVICE_CPU) return Status::kOk;
  return fail(Status::kDeviceUnsupported,
              "this thread's current device is %d (infinirtSetDevice), but this library drives "
              "INFINI_DEVICE_CPU (0) alone",
              static_cast<int>(current.type));
}

}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Status;

infiniStatus_t infinirtInit(void) { return INFINI_STATUS_SUCCESS; }

infiniStatus_t infinirtGetAllDeviceCount(int* count_array) {
  return entry(__func__, [&] {
    if (count_array == nullptr) return null_pointer("count_array");
    for (int type = 0; type < INFINI_DEVICE_TYPE_COUNT; ++type) count_array[type] = count_of(type);
    return Status::kOk;
  });
}

infiniStatus_t infinirtGetDeviceCount(infiniDevice_t device, int* count) {
  return entry(__func__, [&] {
    if (count == nullptr) return null_pointer("count");
    if (!is_device_type(device)) return unsupported(device);
    *count = count_of(device);
    return Status::kOk;
  });
}

// An unsupported device becomes the current one all the same. Clients that ignore the code
// (InfiniCore's Python harness does) then fail at the next call, instead of computing on the wrong
// device.
infiniStatus_t infinirtSetDevice(infiniDevice_t device, int device_id) {
  return entry(__func__, [&] {
    current = {device, device_id};
    return device == INFINI_DEVICE_CPU ? Status::kOk : unsupported(device);
  });
}

infiniStatus_t infinirtGetDevice(infiniDevice_t* device_ptr, int* device_id_ptr) {
  return entry(__func__, [&] {
    if (device_ptr == nullptr && device_id_ptr == nullptr) {
      return null_pointer("device_ptr as well as device_id_ptr");
    }
    if (device_ptr != nullptr) *device_ptr = current.type;
    if (device_id_ptr != nullptr) *device_id_ptr = current.id;
    return Status::kOk;
  });
}

infiniStatus_t infinirtDeviceSynchronize(void) {
  return entry_on_current_device(__func__, [] { return Status::kOk; });
}
