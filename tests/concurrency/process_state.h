// What a process has of the system, counted in /proc.
#ifndef TESTS_CONCURRENCY_PROCESS_STATE_H
#define TESTS_CONCURRENCY_PROCESS_STATE_H

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>

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

}  // namespace concurrency_test

#endif
