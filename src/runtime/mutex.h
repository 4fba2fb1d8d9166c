// Locks and a condition that go through fork: in the child every lock is free, and a condition has
// no memory of threads that waited.
#ifndef NORMGRAD_RUNTIME_MUTEX_H
#define NORMGRAD_RUNTIME_MUTEX_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "runtime/fork_gate.h"

namespace normgrad {

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;  // none: for ever

class Mutex {
 public:
  constexpr Mutex() = default;

  void lock() {
    enter_locked_section();
    raw_.lock();
  }
  void unlock() {
    raw_.unlock();
    leave_locked_section();
  }

 private:
  std::mutex raw_;
};

// Two numbers, unlike the C library's, which counts on threads that a child does not have.
class NORMGRAD_API Condition {
 public:
  void notify_all();  // the lock is held
  // Until notified, or the deadline has passed, or for no reason. errno stays as it is.
  void wait(std::unique_lock<Mutex>& lock, Deadline deadline);

 private:
  std::atomic<std::uint32_t> changes_{0};
  std::atomic<std::uint32_t> waiting_{0};  // in a child, perhaps too many: calls that wake nobody
};

}  // namespace normgrad

#endif
