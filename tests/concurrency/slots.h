// Places where threads leave handles for each other. Nobody owns what lies there: any thread may use
// it, and any may destroy it meanwhile, or again.
#ifndef TESTS_CONCURRENCY_SLOTS_H
#define TESTS_CONCURRENCY_SLOTS_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <set>
#include <string>

namespace concurrency_test {

template <class Handle>
class Slots {
 public:
  // What was there before, perhaps null; the caller is the one who should destroy it.
  Handle put(std::size_t i, Handle handle) { return slots_[i % kCount].exchange(handle); }
  Handle look(std::size_t i) const { return slots_[i % kCount].load(); }
  template <class Destroy>
  void clear(Destroy&& destroy) {
    for (std::size_t i = 0; i < kCount; ++i) {
      if (const Handle left = put(i, nullptr)) destroy(left);
    }
  }

 private:
  static constexpr std::size_t kCount = 8;
  std::array<std::atomic<Handle>, kCount> slots_{};
};

// The codes that a thread was answered with.
class Codes {
 public:
  int add(int code) { return seen_.insert(code), code; }
  // Those that are not among `allowed`, as text.
  std::string others(std::initializer_list<int> allowed) const {
    std::string out;
    const std::set<int> known(allowed);
    for (const int code : seen_) {
      if (known.count(code) == 0) out += std::to_string(code) + " ";
    }
    return out;
  }

 private:
  std::set<int> seen_;
};

class Dice {
 public:
  explicit Dice(int seed) : random_(static_cast<std::uint32_t>(seed)) {}
  std::size_t operator()(std::size_t sides) { return random_() % sides; }

 private:
  std::mt19937 random_;
};

}  // namespace concurrency_test

#endif
