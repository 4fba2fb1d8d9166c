#include "runtime/retirement.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/handle_registry.h"

namespace normgrad {
namespace {

constexpr HandleKind kKind = HandleKind::kInfiniopTensor;

std::atomic<int> alive = 0;

struct Object {
  Object() { ++alive; }
  ~Object() {
    value = 0;
    --alive;
  }
  volatile int value = 42;  // written at the end even though nobody should see it
  Retirement retirement;
};

TEST(Retirement, IsTheEndAtOnceIfNobodyVisits) {
  retire_object(new Object);
  EXPECT_EQ(alive, 0);
  const Visit own;
  retire_object(new Object);
  EXPECT_EQ(alive, 0) << "who retires it has no more use for it";
}

TEST(Retirement, WaitsForTheVisitorsOfItsTime) {
  std::barrier step(2);
  std::thread visitor([&] {
    std::optional<Visit> visit(std::in_place);
    step.arrive_and_wait();  // visiting
    step.arrive_and_wait();  // retired meanwhile
    visit.reset();
    step.arrive_and_wait();  // left
  });
  step.arrive_and_wait();
  for (int i = 0; i < 10; ++i) retire_object(new Object);
  EXPECT_EQ(alive, 10);
  step.arrive_and_wait();
  step.arrive_and_wait();
  EXPECT_EQ(alive, 0);
  visitor.join();
}

// A visitor that comes later does not keep it.
TEST(Retirement, DoesNotWaitForLaterVisitors) {
  std::barrier step(3);
  std::thread early([&] {
    std::optional<Visit> visit(std::in_place);
    step.arrive_and_wait();  // 1: visiting
    step.arrive_and_wait();  // 2: retired
    step.arrive_and_wait();  // 3: the other one visits
    visit.reset();
    step.arrive_and_wait();  // 4: left
    step.arrive_and_wait();
  });
  std::thread late([&] {
    step.arrive_and_wait();
    step.arrive_and_wait();
    const Visit visit;
    step.arrive_and_wait();
    step.arrive_and_wait();
    step.arrive_and_wait();  // 5: looked at
  });
  step.arrive_and_wait();
  retire_object(new Object);
  EXPECT_EQ(alive, 1);
  for (int i = 2; i <= 4; ++i) step.arrive_and_wait();
  EXPECT_EQ(alive, 0);
  step.arrive_and_wait();
  early.join();
  late.join();
}

// A visitor may assign to what another thread retires meanwhile.
TEST(Retirement, IsNoPartOfTheValueOfAnObject) {
  struct Value {
    int number = 0;
    Retirement retirement;
  };
  static std::atomic<Value*> ended;
  ended = nullptr;
  Value value;
  value.retirement.object = &value;
  value.retirement.end = [](void* object) { ended = static_cast<Value*>(object); };
  std::barrier step(2);
  std::thread visitor([&] {
    const Visit visit;
    step.arrive_and_wait();  // visiting
    step.arrive_and_wait();  // retired meanwhile
    Value changed;
    changed.number = 7;
    value = std::move(changed);
  });
  step.arrive_and_wait();
  retire(value.retirement);
  EXPECT_EQ(Value(value).retirement.object, nullptr) << "a copy is not retired";
  step.arrive_and_wait();
  visitor.join();
  EXPECT_EQ(ended, &value);
  EXPECT_EQ(value.number, 7);
}

// More threads than stripes look up, use and destroy what they find.
TEST(Retirement, NothingIsUsedAfterItsEnd) {
  constexpr int kThreads = 80, kRounds = 2000;
  std::atomic<Object*> slots[4] = {};
  std::atomic<int> wrong = 0, used = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < kRounds; ++round) {
        std::atomic<Object*>& slot = slots[(t + round) % 4];
        auto* fresh = new Object;
        register_handle(fresh, kKind);
        Object* old = slot.exchange(fresh);
        if (old != nullptr && unregister_handle(old, kKind)) retire_object(old);
        const Visit visit;
        Object* found = slots[(t + round + 1) % 4].load();
        if (!is_live(found, kKind)) continue;
        ++used;
        wrong += found->value != 42;
        if (round % 3 == 0 && unregister_handle(found, kKind)) retire_object(found);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::atomic<Object*>& slot : slots) {
    if (unregister_handle(slot, kKind)) retire_object(slot.load());
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(used, 0);
  EXPECT_EQ(alive, 0);
}

// Visitors that a child of fork does not have keep nothing there.
TEST(Retirement, ForgetsTheVisitorsThatForkLost) {
  std::barrier step(2);
  std::thread visitor([&] {
    const Visit visit;
    step.arrive_and_wait();
    step.arrive_and_wait();
  });
  step.arrive_and_wait();
  const pid_t child = ::fork();
  if (child == 0) {
    retire_object(new Object);
    ::_exit(alive == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  step.arrive_and_wait();
  visitor.join();
}

}  // namespace
}  // namespace normgrad
