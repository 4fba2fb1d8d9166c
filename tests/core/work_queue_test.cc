#include "core/work_queue.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

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
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    go_on = true;
    waits.join();
    drops.join();
    EXPECT_FALSE(second_ran);
    queue.close();
  }
}

// The child has the queue, but not its thread.
TEST(WorkQueue, ChildOfForkWaitsForNobody) {
  WorkQueue queue(StreamMode::kAsync);
  const std::uint64_t position = queue.submit(call([] { return 0; }));
  EXPECT_TRUE(queue.finish(position, std::nullopt));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    queue.close();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  queue.close();
}

}  // namespace
}  // namespace normgrad
