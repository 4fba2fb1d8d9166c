// Rounds of random operations on all APIs, good and bad. Each leaves nothing behind: no handle, no device that is set.
#ifndef TESTS_SOAK_ROUNDS_H
#define TESTS_SOAK_ROUNDS_H

#include <atomic>
#include <cstdint>
#include <random>

namespace soak {

class Rounds {
 public:
  explicit Rounds(std::uint64_t seed) : random_(seed) {}

  void one();                            // in this thread, or in one that comes and goes
  void one_of_each();                    // in this thread
  long calls() const { return calls_; }  // at least so many: a described operator counts as one

 private:
  static constexpr int kKinds = 6;
  void run(int kind);
  void acl_program();
  void infini_program();
  void describe();
  void every_call();
  void threads_at_once();
  void large_operator();

  std::mt19937_64 random_;
  std::atomic<long> calls_{0};
};

}  // namespace soak

#endif
