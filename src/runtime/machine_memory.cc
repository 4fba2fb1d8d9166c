#include "runtime/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "runtime/device_memory.h"

namespace normgrad {
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

}  // namespace

MachineMemory machine_memory() {
  const std::size_t available = available_bytes();
  const std::size_t total = physical_memory_bytes();
  return {std::min(available != 0 ? available : unused_bytes(), total), total};
}

}  // namespace normgrad
