#include "runtime/handle_registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace normgrad {
namespace {

constexpr HandleKind kKind = HandleKind::kInfiniopTensor;

// An address that nothing lies at; the registry must not look.
const void* address(std::uint64_t number) { return reinterpret_cast<const void*>(number); }

class Registered {
 public:
  explicit Registered(const void* handle) : handle_(handle) { register_handle(handle, kKind); }
  ~Registered() { unregister_handle(handle_, kKind); }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

 private:
  const void* handle_;
};

TEST(HandleRegistry, KnowsWhatIsRegisteredAndNothingElse) {
  const Registered one(address(0x1000));
  EXPECT_TRUE(is_live(address(0x1000), kKind));
  EXPECT_FALSE(is_live(address(0x1001), kKind));
  EXPECT_FALSE(is_live(address(0x2000), kKind));
  EXPECT_FALSE(is_live(address(0x1000), HandleKind::kInfiniopHandle));
  EXPECT_FALSE(is_live(nullptr, kKind));
  EXPECT_FALSE(is_live(nullptr, HandleKind::kInfiniopHandle));
  EXPECT_FALSE(is_live(address(~std::uint64_t{0}), kKind));
  EXPECT_FALSE(is_live(address(std::uint64_t{1} << 56 | 0x1000), kKind));
}

TEST(HandleRegistry, UnregisterAnswersTrueOnce) {
  register_handle(address(0x3000), kKind);
  EXPECT_FALSE(unregister_handle(address(0x3000), HandleKind::kInfiniopHandle));
  EXPECT_TRUE(is_live(address(0x3000), kKind));
  EXPECT_TRUE(unregister_handle(address(0x3000), kKind));
  EXPECT_FALSE(unregister_handle(address(0x3000), kKind));
  EXPECT_FALSE(is_live(address(0x3000), kKind));
  EXPECT_FALSE(unregister_handle(nullptr, kKind));
}

TEST(HandleRegistry, AnAddressMayComeBackAsAnotherKind) {
  register_handle(address(0x4000), kKind);
  EXPECT_TRUE(unregister_handle(address(0x4000), kKind));
  register_handle(address(0x4000), HandleKind::kInfinirtEvent);
  EXPECT_FALSE(is_live(address(0x4000), kKind));
  EXPECT_TRUE(is_live(address(0x4000), HandleKind::kInfinirtEvent));
  EXPECT_TRUE(unregister_handle(address(0x4000), HandleKind::kInfinirtEvent));
}

TEST(HandleRegistry, AHandleChangesItsKindOrStays) {
  constexpr HandleKind kOther = HandleKind::kInfinirtEvent;
  EXPECT_FALSE(change_handle(address(0x5000), kKind, kOther));
  EXPECT_FALSE(change_handle(nullptr, kKind, kOther));
  register_handle(address(0x5000), kKind);
  EXPECT_TRUE(change_handle(address(0x5000), kKind, kOther));
  EXPECT_FALSE(is_live(address(0x5000), kKind));
  EXPECT_FALSE(change_handle(address(0x5000), kKind, kOther));
  EXPECT_TRUE(unregister_handle(address(0x5000), kOther));
}

TEST(HandleRegistry, RefusesWhatCanBeNoHandle) {
  EXPECT_THROW(register_handle(nullptr, kKind), std::bad_alloc);
  EXPECT_THROW(register_handle(address(std::uint64_t{1} << 60), kKind), std::bad_alloc);
}

TEST(HandleRegistry, KeepsAllOfManyHandles) {
  constexpr std::uint64_t kHandles = 20000;
  for (std::uint64_t i = 1; i <= kHandles; ++i) register_handle(address(i * 48), kKind);
  std::uint64_t found = 0;
  for (std::uint64_t i = 1; i <= kHandles; ++i) found += is_live(address(i * 48), kKind);
  EXPECT_EQ(found, kHandles);
  std::uint64_t removed = 0;
  for (std::uint64_t i = 1; i <= kHandles; ++i)
    removed += unregister_handle(address(i * 48), kKind);
  EXPECT_EQ(removed, kHandles);
  for (std::uint64_t i = 1; i <= kHandles; ++i) found -= !is_live(address(i * 48), kKind);
  EXPECT_EQ(found, 0u);
}

// Addresses never repeat and lie at random, the worst for a table that keeps traces of erased ones.
TEST(HandleRegistry, AMillionCyclesDoNotGrowTheTable) {
  constexpr std::size_t kAlive = 1000;
  std::mt19937_64 random(7);
  std::deque<const void*> alive;
  std::size_t settled = 0;
  std::size_t wrong = 0;
  for (int cycle = 0; cycle < 1000000; ++cycle) {
    alive.push_back(address((random() >> 16 << 4) + 16));
    register_handle(alive.back(), kKind);
    if (alive.size() > kAlive) {
      wrong += !unregister_handle(alive.front(), kKind);
      alive.pop_front();
    }
    if (cycle == 100000) settled = handle_table_slots();
  }
  EXPECT_EQ(handle_table_slots(), settled);
  for (const void* handle : alive) wrong += !unregister_handle(handle, kKind);
  EXPECT_EQ(wrong, 0u);
}

TEST(HandleRegistry, ReadersSeeALiveHandleWhateverOthersDo) {
  constexpr int kWriters = 3;
  const auto kept = std::make_unique<int>(42);
  const Registered keep(kept.get());
  std::atomic<bool> stop = false;
  std::atomic<int> misses = 0;
  std::thread reader([&] {
    while (!stop) misses += !is_live(kept.get(), kKind);
  });
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([w, &misses] {
      for (std::uint64_t i = 1; i <= 20000; ++i) {
        const void* mine = address((i % 4096 * kWriters + static_cast<std::uint64_t>(w) + 1) << 32);
        register_handle(mine, kKind);
        misses += !is_live(mine, kKind);
        misses += !unregister_handle(mine, kKind);
        misses += is_live(mine, kKind);
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  stop = true;
  reader.join();
  EXPECT_EQ(misses, 0);
}

TEST(HandleRegistry, OneOfTwoDestroyersWins) {
  for (int round = 0; round < 200; ++round) {
    register_handle(address(0x6000), kKind);
    std::atomic<int> won = 0;
    std::thread other([&] { won += unregister_handle(address(0x6000), kKind); });
    won += unregister_handle(address(0x6000), kKind);
    other.join();
    ASSERT_EQ(won, 1);
  }
}

// What is written before registering is there for a thread that learns of the handle by finding it
// alive.
TEST(HandleRegistry, RegisteringPublishesTheContents) {
  for (int round = 0; round < 200; ++round) {
    const auto value = std::make_unique<int>(0);
    std::thread reader([&] {
      while (!is_live(value.get(), kKind)) std::this_thread::yield();
      EXPECT_EQ(*value, 7);
    });
    *value = 7;
    register_handle(value.get(), kKind);
    reader.join();
    unregister_handle(value.get(), kKind);
  }
}

}  // namespace
}  // namespace normgrad
