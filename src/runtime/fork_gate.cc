#include "runtime/fork_gate.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <mutex>

#include "runtime/device_memory.h"
#include "runtime/environment.h"
#include "runtime/retirement.h"
#include "runtime/thread_stripe.h"

namespace normgrad {
namespace {

struct alignas(64) Counter {
  std::atomic<int> inside{0};
};
constinit Counter counters[kStripes];
constinit std::atomic<bool> forking{false};
constinit std::mutex forks;  // two threads may fork at once
constinit thread_local int depth = 0;
constinit std::atomic<unsigned> generation{0};
constinit std::atomic<std::uint64_t> survivor{0};

// Handlers of fork that were registered before ours come between prepare() and go_on(), and may
// call us: this thread counts as being inside.
void prepare() {
  // Their first readers must not be on the way.
  environment();
  physical_memory_bytes();
  forks.lock();
  forking.store(true);
  for (Counter& counter : counters) {
    while (counter.inside.load() != 0) ::sched_yield();
  }
  ++depth;
}

void go_on() {
  --depth;
  forking.store(false);
  forks.unlock();
}

// A thread that was just finding the gate closed has counted itself, and is not here to take that
// back.
void go_on_in_child() {
  for (Counter& counter : counters) counter.inside.store(0);
  survivor.store(thread_number());
  generation.fetch_add(1);
  forget_lost_visitors();
  go_on();
}

[[maybe_unused]] const int watching = ::pthread_atfork(prepare, go_on, go_on_in_child);

}  // namespace

// A thread that holds one lock already gets the next: fork waits for both.
void enter_locked_section() {
  if (depth++ > 0) return;
  std::atomic<int>& inside = counters[thread_stripe()].inside;
  for (;;) {
    inside.fetch_add(1);
    if (!forking.load()) return;
    inside.fetch_sub(1);
    while (forking.load()) ::sched_yield();
  }
}

void leave_locked_section() {
  if (--depth == 0) counters[thread_stripe()].inside.fetch_sub(1);
}

unsigned fork_generation() { return generation.load(std::memory_order_relaxed); }
std::uint64_t forked_thread() { return survivor.load(); }

}  // namespace normgrad
