// What a process has of the system, counted in /proc.
#ifndef TESTS_CONCURRENCY_PROCESS_STATE_H
#define TESTS_CONCURRENCY_PROCESS_STATE_H

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace concurrency_test {

struct ProcessState {
  std::size_t threads = entries("/proc/self/task");
  std::size_t descriptors = entries("/proc/self/fd");
  std::size_t mappings = lines("/proc/self/maps");

 private:
  static std::size_t entries(const char* folder) {
    const std::filesystem::directory_iterator all(folder);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  static std::size_t lines(const char* file) {
    std::ifstream in(file);
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(in), {}, '\n'));
  }
};

// The kernel lists a thread for a moment after it was joined, and its stack is unmapped after that.
inline ProcessState settled_process_state() {
  ProcessState state;
  for (int quiet = 0; quiet < 10;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const ProcessState now;
    const bool same = now.threads == state.threads && now.mappings == state.mappings;
    quiet = same ? quiet + 1 : 0;
    state = now;
  }
  return state;
}

}  // namespace concurrency_test

#endif
