#include "core/mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
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
  SharedMutex shared;
  Condition changed;
  std::atomic<bool> done = false;
  bool stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!done) {
        const std::lock_guard first(outer);
        const std::lock_guard second(inner);
        const std::shared_lock third(shared);
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
      const std::lock_guard third(shared);
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

}  // namespace
}  // namespace normgrad
