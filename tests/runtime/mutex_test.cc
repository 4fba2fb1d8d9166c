#include "runtime/mutex.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <vector>

namespace normgrad {
namespace {

using std::chrono::milliseconds;

TEST(Condition, WakesEverybody) {
  Mutex mutex;
  Condition changed;
  int go = 0, gone = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::unique_lock lock(mutex);
      for (int round = 1; round <= 1000; ++round) {
        while (go < round) changed.wait(lock, std::nullopt);
        if (++gone % 4 == 0) changed.notify_all();
      }
    });
  }
  for (int round = 1; round <= 1000; ++round) {
    std::unique_lock lock(mutex);
    go = round;
    changed.notify_all();
    while (gone < 4 * round) changed.wait(lock, std::nullopt);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(gone, 4000);
}

TEST(Condition, WaitsUntilTheDeadlineAndLeavesErrnoAlone) {
  Mutex mutex;
  Condition changed;
  std::unique_lock lock(mutex);
  const Clock::time_point deadline = Clock::now() + milliseconds(30);
  errno = 77;
  while (Clock::now() < deadline) changed.wait(lock, deadline);
  EXPECT_LT(Clock::now(), deadline + milliseconds(10000));
  changed.wait(lock, Clock::time_point());  // long past
  changed.wait(lock, Clock::time_point(milliseconds(-5)));
  EXPECT_EQ(errno, 77);
}

// Threads that lock all the time, one inside the other, and one that waits; fork never meets a held
// lock.
TEST(Mutex, IsFreeInTheChildOfAFork) {
  Mutex outer, inner;
  Condition changed;
  std::atomic<bool> done = false;
  bool stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!done) {
        const std::lock_guard first(outer);
        const std::lock_guard second(inner);
      }
    });
  }
  threads.emplace_back([&] {
    std::unique_lock lock(inner);
    while (!stop) changed.wait(lock, std::nullopt);
  });
  for (int i = 0; i < 200; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(30);
      std::unique_lock first(outer);
      std::unique_lock second(inner);
      changed.notify_all();
      changed.wait(second, Clock::now() + milliseconds(1));
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "fork " << i;
  }
  done = true;
  {
    const std::lock_guard lock(inner);
    stop = true;
    changed.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

// 0 if the child says so; one that hangs is ended by its alarm.
template <class Body>
int exit_code_of_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    ::_exit(body());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Called by fork where the library's own handlers have closed the gate: before them (101 is the
// first that a program may have) registered, so inside them.
void (*in_fork)() = nullptr;
void call_in_fork() {
  if (in_fork != nullptr) in_fork();
}
[[gnu::constructor(101)]] void register_fork_handlers() {
  ::pthread_atfork(call_in_fork, call_in_fork, call_in_fork);
}

// ThreadSanitizer delivers signals later.
#if defined(__x86_64__) && !defined(UNDER_THREAD_SANITIZER)
// A thread that takes a lock and can be stopped at any instruction on the way: it traps after each.
class Stepping {
 public:
  explicit Stepping(Mutex& mutex) : thread_([&] { run(mutex); }) {
    struct sigaction action = {};
    action.sa_sigaction = [](int, siginfo_t*, void* context) {
      if (--steps > 0) return;
      stopped = true;
      while (stop) ::sched_yield();
      static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
    };
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGTRAP, &action, nullptr);
  }
  ~Stepping() {
    round_ = -1;
    thread_.join();
    ::signal(SIGTRAP, SIG_DFL);
  }
  void stop_after(int count) {
    steps = count;
    stopped = false;
    stop = true;
    ++round_;
    while (!stopped) ::sched_yield();
  }
  void go_on() {
    stop = false;
    while (done_ != round_) ::sched_yield();
  }

 private:
  void run(Mutex& mutex) {
    for (int round = 0; round >= 0; round = round_) {
      if (round == done_) {
        ::sched_yield();
        continue;
      }
      asm volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" ::: "memory", "cc");
      mutex.lock();
      mutex.unlock();
      done_ = round;
    }
  }

  static inline std::atomic<int> steps;
  static inline std::atomic<bool> stop, stopped;
  std::atomic<int> round_ = 0, done_ = 0;
  std::thread thread_;
};

// A thread may be anywhere on its way into a lock, or back because it finds the gate closed, while
// another forks: it is not there in the child, which forks again.
TEST(Mutex, IsFreeInTheChildOfAChild) {
  Mutex mutex;
  static Stepping* thread;
  static int steps;
  Stepping stepping(mutex);
  thread = &stepping;
  for (steps = 1; steps <= 100 && !HasFailure(); ++steps) {
    in_fork = [] {
      in_fork = nullptr;
      thread->stop_after(steps);
    };
    EXPECT_EQ(exit_code_of_child([&] {
                return exit_code_of_child([&] {
                  const std::lock_guard lock(mutex);
                  return 0;
                });
              }),
              0)
        << "after " << steps << " steps";
    stepping.go_on();
  }
}
#endif

TEST(Mutex, CanBeHadByOthersForkHandlers) {
  static Mutex mutex;
  static int times;
  times = 0;
  in_fork = [] {
    const std::lock_guard lock(mutex);
    ++times;
  };
  ::alarm(30);  // it is this process that would hang
  EXPECT_EQ(exit_code_of_child([] { return times == 2 ? 0 : 1; }), 0);
  ::alarm(0);
  in_fork = nullptr;
  EXPECT_EQ(times, 2);
  { const std::lock_guard lock(mutex); }
  EXPECT_EQ(exit_code_of_child([] { return 0; }), 0) << "as often left as entered";
}

}  // namespace
}  // namespace normgrad
