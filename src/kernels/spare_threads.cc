#include "kernels/spare_threads.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <new>

namespace normgrad::kernels {
namespace {

struct Held {
  pthread_t thread;
  std::mutex* until_free;
  long id;
};

void* hold(void* argument) {
  Held& held = *static_cast<Held*>(argument);
  held.id = ::syscall(SYS_gettid);
  const std::lock_guard wait(*held.until_free);
  return nullptr;
}

// A thread that was joined still counts against the limits until the kernel has forgotten its number: for a moment, or, where
// others want the processor that it ends on, for milliseconds.
void wait_until_forgotten(long id) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point latest =
      Clock::now() + std::chrono::seconds(1);  // should the number have found a new bearer
  while (::syscall(SYS_tgkill, ::getpid(), id, 0) == 0 && Clock::now() < latest) ::sched_yield();
}

}  // namespace

int spare_threads(int wanted) {
  const std::unique_ptr<Held[]> held(new (std::nothrow) Held[static_cast<std::size_t>(wanted)]);
  if (held == nullptr) return 0;
  std::mutex mutex;
  int count = 0;
  {
    const std::lock_guard until_all_are_there(mutex);
    for (; count < wanted; ++count) {
      held[count].until_free = &mutex;
      if (::pthread_create(&held[count].thread, nullptr, hold, &held[count]) != 0) break;
    }
  }
  for (int i = 0; i < count; ++i) ::pthread_join(held[i].thread, nullptr);
  for (int i = 0; i < count; ++i) wait_until_forgotten(held[i].id);
  return count;
}

}  // namespace normgrad::kernels
