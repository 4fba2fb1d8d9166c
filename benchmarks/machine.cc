#include "machine.h"

#include <unistd.h>

#include <fstream>

namespace bench {
namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::vector<Cache> caches() {
  std::vector<Cache> all;
  for (int index = 0;; ++index) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream level(folder + "level"), type(folder + "type"), size(folder + "size");
    Cache cache;
    if (!(level >> cache.level && type >> cache.type && size >> cache.bytes)) return all;
    cache.bytes <<= 10;  // "32768K"
    all.push_back(cache);
  }
}

}  // namespace

std::int64_t Machine::last_level_cache_bytes() const {
  return caches.empty() ? std::int64_t{32} << 20 : caches.back().bytes;
}

const Machine& machine() {
  static const Machine here{cpu_model(), static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)),
                            caches()};
  return here;
}

}  // namespace bench
