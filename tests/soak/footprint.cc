#include "soak/footprint.h"

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <thread>

namespace soak {
namespace {

int count_entries(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return static_cast<int>(std::distance(begin(entries), end(entries)));
}

long resident_kib() {
  long all = 0, resident = 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "re"),
                                                             &std::fclose);
  if (file == nullptr || std::fscanf(file.get(), "%ld %ld", &all, &resident) != 2) return -1;
  return resident * (::sysconf(_SC_PAGESIZE) / 1024);
}

}  // namespace

Footprint footprint() {
  return {resident_kib(), count_entries("/proc/self/task"), count_entries("/proc/self/fd")};
}

Footprint settled_footprint() {
  // OpenMP's threads of a thread that has ended end after it.
  for (int threads = 0, quiet = 0; quiet < 10;) {
    const int now = count_entries("/proc/self/task");
    quiet = now == threads ? quiet + 1 : 0;
    threads = now;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::malloc_trim(0);
  return footprint();
}

}  // namespace soak
