#include "runtime/work_queue.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

// LeakSanitizer asks this at the end of a process. In a child of fork the stacks that hold the other threads' memory are
// gone, so nothing there is a leak.
static bool is_child_of_fork = false;
extern "C" int __lsan_is_turned_off() { return is_child_of_fork; }

namespace normgrad {
namespace {

struct Call : Work {
  explicit Call(std::function<int()> f) : function(std::move(f)) {}
  int run() override { return function(); }
  const std::function<int()> function;
};

std::unique_ptr<Work> call(std::function<int()> function) {
  return std::make_unique<Call>(std::move(function));
}

TEST(WorkQueue, RunsInOrderInBothModes) {
  for (const StreamMode mode : {StreamMode::kAsync, StreamMode::kDeferred}) {
    WorkQueue queue(mode);
    std::vector<int> order;
    std::uint64_t last = 0;
    for (int i = 0; i < 100; ++i) {
      last = queue.submit(call([&order, i] { return order.push_back(i), 0; }));
    }
    EXPECT_TRUE(queue.finish(last, std::nullopt));
    ASSERT_EQ(order.size(), 100u);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    queue.close();
  }
}

TEST(WorkQueue, KeepsTheFirstFailureUntilItIsTaken) {
  WorkQueue queue(StreamMode::kDeferred);
  queue.submit(call([] { return 0; }));
  queue.submit(call([] { return 7; }));
  const std::uint64_t last = queue.submit(call([] { return 8; }));
  EXPECT_TRUE(queue.finish(last, std::nullopt));
  EXPECT_EQ(queue.take_failure(1).code, 0) << "it came later";
  EXPECT_EQ(queue.take_failure(last).code, 7);
  EXPECT_EQ(queue.take_failure(last).code, 0);
}

// One thread is inside the first piece of work and wants the second as well; meanwhile another one
// drops the second.
TEST(WorkQueue, WhoWaitsForDroppedWorkGoesOn) {
  for (const StreamMode mode : {StreamMode::kAsync, StreamMode::kDeferred}) {
    WorkQueue queue(mode);
    std::atomic<bool> begun = false, go_on = false, second_ran = false;
    queue.submit(call([&] {
      begun = true;
      while (!go_on) std::this_thread::yield();
      return 0;
    }));
    const std::uint64_t second = queue.submit(call([&] { return second_ran = true, 0; }));
    std::thread waits([&] { EXPECT_TRUE(queue.finish(second, std::nullopt)); });
    while (!begun) std::this_thread::yield();
    std::thread drops([&] { queue.drop(); });
    while (queue.submit(call([] { return 0; })) != 0) {  // until it refuses, which drop() makes it
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    go_on = true;
    waits.join();
    drops.join();
    EXPECT_FALSE(second_ran);
    queue.close();
  }
}

struct WaitFor : Work {
  WaitFor(std::shared_ptr<WorkQueue> queue, std::uint64_t position, Deadline deadline)
      : awaited{std::move(queue), position, deadline} {}
  Awaited* awaits() override { return &awaited; }
  int run() override { return awaited.in_time ? 0 : 9; }
  Awaited awaited;
};

// Each waits for the one before it: no deeper on the stack than one.
TEST(WorkQueue, FinishesAChainOfAHundredThousandQueues) {
  constexpr std::size_t kQueues = 100000;
  for (const Deadline deadline : {Deadline(), Deadline(Clock::now() + std::chrono::hours(1))}) {
    std::vector<std::shared_ptr<WorkQueue>> queues;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < kQueues; ++i) {
      queues.push_back(std::make_shared<WorkQueue>(StreamMode::kDeferred));
      if (i > 0) queues[i]->submit(std::make_unique<WaitFor>(queues[i - 1], 1 + (i > 1), deadline));
      queues[i]->submit(call([&order, i] { return order.push_back(i), 0; }));
    }
    EXPECT_TRUE(queues.back()->finish(2, deadline));
    ASSERT_EQ(order.size(), kQueues);
    for (std::size_t i = 0; i < kQueues; ++i) ASSERT_EQ(order[i], i);
    for (const auto& queue : queues) EXPECT_EQ(queue->take_failure(2).code, 0);
  }
}

TEST(WorkQueue, GoesOnAfterAWaitThatCameTooLate) {
  const auto first = std::make_shared<WorkQueue>(StreamMode::kDeferred);
  WorkQueue second(StreamMode::kDeferred);
  int ran = 0;
  for (int i = 0; i < 3; ++i) first->submit(call([&] { return ++ran, 0; }));
  second.submit(std::make_unique<WaitFor>(first, 3, Clock::time_point()));
  second.submit(call([&] { return ran *= 10, 0; }));
  EXPECT_TRUE(second.finish(2, std::nullopt));
  EXPECT_EQ(ran, 10) << "a wait whose time has passed does one piece of work";
  EXPECT_EQ(second.take_failure(2).code, 9);
  EXPECT_TRUE(first->finish(3, std::nullopt));
  EXPECT_EQ(ran, 12);
}

// 0 if the child says so; one that hangs is ended by its alarm.
template <class Body>
int exit_code_of_child(Body&& child_is_well) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    ::_exit(child_is_well() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The child has the queue, but not its thread.
TEST(WorkQueue, ChildOfForkWaitsForNobody) {
  WorkQueue queue(StreamMode::kAsync);
  const std::uint64_t position = queue.submit(call([] { return 0; }));
  EXPECT_TRUE(queue.finish(position, std::nullopt));
  EXPECT_EQ(exit_code_of_child([&] { return queue.close(), true; }), 0);
  queue.close();
}

// Another thread is in the middle of something when this one forks: in the child that is over, and
// new work is done.
TEST(WorkQueue, ChildOfForkGoesOnWithoutTheThreadThatWorked) {
  for (const StreamMode mode : {StreamMode::kInline, StreamMode::kAsync, StreamMode::kDeferred}) {
    WorkQueue queue(mode);
    std::atomic<bool> begun = false, go_on = false;
    const auto work = [&] {
      begun = true;
      while (!go_on) std::this_thread::yield();
      return 0;
    };
    std::thread busy([&] {
      if (mode == StreamMode::kInline) {
        queue.enter(std::nullopt);
        work();
        queue.leave();
      } else {
        queue.finish(queue.submit(call(work)), std::nullopt);
      }
    });
    while (!begun) std::this_thread::yield();
    EXPECT_EQ(exit_code_of_child([&] {
                if (mode == StreamMode::kInline) {
                  queue.enter(std::nullopt);
                  queue.leave();
                } else {
                  std::atomic<bool> ran = false;
                  const auto last = queue.submit(call([&] { return ran = true, 0; }));
                  if (!queue.finish(last, std::nullopt) || !ran) return false;
                }
                return queue.close(), true;
              }),
              0)
        << static_cast<int>(mode);
    go_on = true;
    busy.join();
    queue.close();
  }
}

// A queue with one piece of work that runs until go_on, and one behind it.
struct HalfDone {
  explicit HalfDone(StreamMode mode) : queue(mode) {
    queue.submit(call([this] {
      begun = true;
      while (!go_on) std::this_thread::yield();
      return 0;
    }));
    last = queue.submit(call([] { return 0; }));
    if (mode == StreamMode::kDeferred) {
      waits = std::thread([this] { queue.finish(last, std::nullopt); });
    }
    while (!begun) std::this_thread::yield();
  }
  ~HalfDone() {
    go_on = true;
    ends.join();
    if (waits.joinable()) waits.join();
    queue.close();
  }
  // Returns when another thread is in the middle of it.
  void end(void (WorkQueue::*how)()) {
    ends = std::thread([this, how] { (queue.*how)(); });
    while (queue.submit(call([] { return 0; })) != 0) std::this_thread::yield();
  }
  WorkQueue queue;
  std::atomic<bool> begun = false, go_on = false;
  std::uint64_t last = 0;
  std::thread waits, ends;
};

// What another thread was about to finish or to drop is the parent's, or is still there to be done.
TEST(WorkQueue, ChildOfForkGoesOnWithoutTheThreadThatEndedTheQueue) {
  for (const StreamMode mode : {StreamMode::kAsync, StreamMode::kDeferred}) {
    for (const auto how : {&WorkQueue::close, &WorkQueue::drop}) {
      HalfDone half(mode);
      half.end(how);
      EXPECT_EQ(exit_code_of_child([&] {
                  half.go_on = true;
                  half.queue.close();
                  return half.queue.finish(half.queue.submitted(), std::nullopt);
                }),
                0)
          << static_cast<int>(mode) << (how == &WorkQueue::drop ? " drop" : " close");
    }
  }
}

// The thread that is inside the work forks: in the child it is still inside, until it comes back.
TEST(WorkQueue, ChildOfForkComesBackFromTheWorkThatForked) {
#ifdef UNDER_THREAD_SANITIZER
  GTEST_SKIP() << "ThreadSanitizer does not survive the end of the thread that forked";
#endif
  for (const StreamMode mode : {StreamMode::kAsync, StreamMode::kDeferred}) {
    for (const auto how : {&WorkQueue::close, &WorkQueue::drop}) {
      WorkQueue queue(mode);
      std::atomic<bool> begun = false, ending = false;
      pid_t child = -1;
      queue.submit(call([&] {
        begun = true;
        while (!ending) std::this_thread::yield();
        child = ::fork();
        if (child != 0) return 0;
        is_child_of_fork = true;
        ::alarm(30);
        if (queue.reached(1)) ::_exit(1);
        return 0;
      }));
      const std::uint64_t second = queue.submit(call([&] {
        if (child == 0) ::_exit(0);
        return 0;
      }));
      // In the child the thread that runs the work may be the only one, so it looks itself.
      std::thread waits([&] {
        if (mode != StreamMode::kDeferred) return;
        queue.finish(second, std::nullopt);
        if (child == 0) ::_exit(0);
      });
      while (!begun) std::this_thread::yield();
      std::thread ends([&] { (queue.*how)(); });
      while (queue.submit(call([] { return 0; })) != 0) std::this_thread::yield();
      ending = true;
      waits.join();
      ends.join();
      queue.close();
      ASSERT_GT(child, 0);
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
          << static_cast<int>(mode) << (how == &WorkQueue::drop ? " drop" : " close");
    }
  }
}

}  // namespace
}  // namespace normgrad
