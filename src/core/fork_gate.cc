#include "core/fork_gate.h"

#include <sched.h>

#include <atomic>
#include <mutex>

#include "core/environment.h"
#include "core/retirement.h"
#include "core/thread_stripe.h"

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
constinit std::atomic<pthread_t> survivor{};

void prepare() {
  environment();  // its first reader must not be on the way
  forks.lock();
  forking.store(true);
  for (Counter& counter : counters) {
    while (counter.inside.load() != 0) ::sched_yield();
  }
}

void go_on() {
  forking.store(false);
  forks.unlock();
}

void go_on_in_child() {
  survivor.store(::pthread_self());
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
pthread_t forked_thread() { return survivor.load(); }

}  // namespace normgrad
