#include "runtime/mutex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <ratio>
#include <type_traits>

namespace normgrad {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

// steady_clock is the clock of FUTEX_WAIT_BITSET, whose time is a point, not a span.
timespec to_timespec(Clock::time_point time) {
  const auto since = std::max(time.time_since_epoch(), Clock::duration::zero());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  return {static_cast<std::time_t>(seconds.count()), static_cast<long>((since - seconds).count())};
}
static_assert(std::is_same_v<Clock::period, std::nano>);

void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value, Deadline deadline) {
  const int error = errno;
  timespec until{};
  if (deadline.has_value()) until = to_timespec(*deadline);
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value,
            deadline.has_value() ? &until : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
  errno = error;
}

void wake_all(std::atomic<std::uint32_t>& word) {
  const int error = errno;
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  errno = error;
}

}  // namespace

// Either we see who waits, or who waits sees the change and does not sleep.
void Condition::notify_all() {
  changes_.fetch_add(1);
  if (waiting_.load() != 0) wake_all(changes_);
}

void Condition::wait(std::unique_lock<Mutex>& lock, Deadline deadline) {
  waiting_.fetch_add(1);
  const std::uint32_t seen = changes_.load();
  lock.unlock();
  sleep_while(changes_, seen, deadline);
  waiting_.fetch_sub(1);
  lock.lock();
}

}  // namespace normgrad
