// How much memory the device, this machine, has.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "api/infinirt/entry.h"
#include "core/device_memory.h"

namespace normgrad::api {
namespace {

// "MemAvailable" of /proc/meminfo: what can be had without swapping, caches included. 0 if not
// told.
std::size_t available_bytes() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/meminfo", "re"),
                                                             &std::fclose);
  char line[128];
  std::size_t kib = 0;
  while (file != nullptr && std::fgets(line, sizeof(line), file.get()) != nullptr) {
    if (std::sscanf(line, "MemAvailable: %zu kB", &kib) == 1) return kib * 1024;
  }
  return 0;
}

std::size_t unused_bytes() {
  const long pages = ::sysconf(_SC_AVPHYS_PAGES);
  return pages < 0
             ? 0
             : static_cast<std::size_t>(pages) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

struct MemoryInfo {
  std::size_t free;
  std::size_t total;
};

MemoryInfo memory_info() {
  const std::size_t available = available_bytes();
  const std::size_t total = physical_memory_bytes();
  return {std::min(available != 0 ? available : unused_bytes(), total), total};
}

infinirtDeviceResourceSnapshot_t snapshot_now() {
  const MemoryInfo memory = memory_info();
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
using normgrad::Status;

infiniStatus_t infinirtGetMemInfo(infiniDevice_t device, int device_id, size_t* free_bytes,
                                  size_t* total_bytes) {
  return entry(__func__, [&] {
    if (free_bytes == nullptr) return null_pointer("free_bytes");
    if (total_bytes == nullptr) return null_pointer("total_bytes");
    const Status status = check_device(device, device_id);
    if (status != Status::kOk) return status;
    const MemoryInfo memory = memory_info();
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
