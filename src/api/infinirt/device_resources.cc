// How much memory the device, this machine, has.
#include "api/infinirt/entry.h"
#include "runtime/device_memory.h"
#include "runtime/machine_memory.h"

namespace normgrad::api {
namespace {

infinirtDeviceResourceSnapshot_t snapshot_now() {
  const MachineMemory memory = machine_memory();
  infinirtDeviceResourceSnapshot_t now{};
  now.device_type = INFINI_DEVICE_CPU;
  now.valid_fields = INFINIRT_RESOURCE_FIELD_MEMORY_CAPACITY;
  now.free_bytes = memory.free;
  now.total_bytes = memory.total;
  now.used_bytes = memory.total - memory.free;
  now.reserved_bytes = device_memory_use().bytes;
  return now;
}

}  // namespace
}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::machine_memory;
using normgrad::MachineMemory;
using normgrad::Status;

infiniStatus_t infinirtGetMemInfo(infiniDevice_t device, int device_id, size_t* free_bytes,
                                  size_t* total_bytes) {
  return entry(__func__, [&] {
    if (free_bytes == nullptr) return null_pointer("free_bytes");
    if (total_bytes == nullptr) return null_pointer("total_bytes");
    const Status status = check_device(device, device_id);
    if (status != Status::kOk) return status;
    const MachineMemory memory = machine_memory();
    *free_bytes = memory.free;
    *total_bytes = memory.total;
    return Status::kOk;
  });
}

infiniStatus_t infinirtGetDeviceResourceSnapshot(infiniDevice_t device, int device_id,
                                                 infinirtDeviceResourceSnapshot_t* snapshot) {
  return entry(__func__, [&] {
    if (snapshot == nullptr) return null_pointer("snapshot");
    const Status status = check_device(device, device_id);
    if (status == Status::kOk) *snapshot = snapshot_now();
    return status;
  });
}
