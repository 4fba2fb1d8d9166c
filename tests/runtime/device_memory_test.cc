#include "runtime/device_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace normgrad {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::byte* allocate(std::size_t bytes) { return static_cast<std::byte*>(device_allocate(bytes)); }

Place place(const std::byte* address, std::int64_t bytes) { return place_of(address, 0, bytes); }

TEST(DeviceMemory, IsAlignedWritableAndCounted) {
  const DeviceMemoryUse before = device_memory_use();
  std::vector<std::byte*> all;
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65}, 3 * kMiB}) {
    all.push_back(allocate(bytes));
    ASSERT_NE(all.back(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.back()) % 64, 0u);
    std::memset(all.back(), 0xAB, bytes);
  }
  EXPECT_EQ(device_memory_use().allocations, before.allocations + 5);
  EXPECT_EQ(device_memory_use().bytes, before.bytes + 1 + 63 + 64 + 65 + 3 * kMiB);
  for (std::byte* memory : all) EXPECT_EQ(device_free(memory), FreeResult::kFreed);
  EXPECT_EQ(device_memory_use().allocations, before.allocations);
  EXPECT_EQ(device_memory_use().bytes, before.bytes);
}

TEST(DeviceMemory, NothingAndTooMuchGiveNull) {
  for (const std::size_t bytes :
       {std::size_t{0}, SIZE_MAX, SIZE_MAX - 63, SIZE_MAX / 2, std::size_t{1} << 62,
        std::size_t{1} << 47, physical_memory_bytes() + 1}) {
    EXPECT_EQ(device_allocate(bytes), nullptr) << bytes;
  }
}

TEST(DeviceMemory, AllAllocationsTogetherFitIntoTheMachine) {
  const std::size_t most = physical_memory_bytes() / 4 * 3;
  void* first = device_allocate(most);
  ASSERT_NE(first, nullptr);  // address space, not memory, until it is touched
  EXPECT_EQ(device_allocate(most), nullptr);
  EXPECT_EQ(device_free(first), FreeResult::kFreed);
}

TEST(DeviceMemory, TellsDoubleFreeFromForeignFree) {
  std::byte* memory = allocate(1000);
  EXPECT_EQ(device_free(memory + 64), FreeResult::kNotOurs);
  EXPECT_EQ(device_free(memory), FreeResult::kFreed);
  EXPECT_EQ(device_free(memory), FreeResult::kFreedBefore);
  EXPECT_EQ(device_free(memory + 64), FreeResult::kFreedBefore);
  const auto foreign = std::make_unique<int>(0);
  EXPECT_EQ(device_free(foreign.get()), FreeResult::kNotOurs);
  EXPECT_EQ(device_free(nullptr), FreeResult::kNotOurs);
  EXPECT_EQ(device_free(reinterpret_cast<void*>(~std::uintptr_t{0})), FreeResult::kNotOurs);
}

TEST(DeviceMemory, KnowsWhereBytesLie) {
  std::byte* memory = allocate(100);
  std::byte* neighbour = allocate(100);
  EXPECT_EQ(place(memory, 100), Place::kInside);
  EXPECT_EQ(place(memory + 99, 1), Place::kInside);
  EXPECT_EQ(place_of(memory + 50, -50, 50), Place::kInside);
  EXPECT_EQ(place(memory, 101), Place::kOutside) << "rounding up belongs to nobody";
  EXPECT_EQ(place_of(memory + 50, -51, 50), Place::kOutside);
  EXPECT_EQ(place_of(memory, INT64_MIN, INT64_MAX), Place::kOutside);
  EXPECT_EQ(place(memory + 100, 1), Place::kFreed);
  EXPECT_EQ(place(memory, 0), Place::kHost) << "no bytes";
  EXPECT_EQ(place_of(memory, 5, 5), Place::kHost);
  EXPECT_EQ(device_free(memory), FreeResult::kFreed);
  EXPECT_EQ(place(memory, 1), Place::kFreed);
  EXPECT_EQ(place(neighbour, 100), Place::kInside);
  EXPECT_EQ(device_free(neighbour), FreeResult::kFreed);
}

TEST(DeviceMemory, OtherMemoryIsTakenOnTrust) {
  int local = 0;
  const auto heap = std::make_unique<int>(0);
  EXPECT_EQ(place_of(&local, 0, 4), Place::kHost);
  EXPECT_EQ(place_of(heap.get(), 0, 4), Place::kHost);
  EXPECT_EQ(place_of(nullptr, 0, 1), Place::kHost);
  EXPECT_EQ(place_of(reinterpret_cast<void*>(~std::uintptr_t{0}), 0, 1), Place::kHost);
}

TEST(DeviceMemory, HostMemoryMustNotRunIntoOurs) {
  std::byte* memory = allocate(64);
  const auto* low = reinterpret_cast<const std::byte*>(std::uintptr_t{4096});
  const auto distance = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(memory) - 4096);
  EXPECT_EQ(place(low, distance + 1), Place::kOutside);
  EXPECT_EQ(device_free(memory), FreeResult::kFreed);
}

TEST(DeviceMemory, FreedMemoryIsUsedAgain) {
  std::byte* first = allocate(kMiB);
  std::byte* fence = allocate(64);
  EXPECT_EQ(device_free(first), FreeResult::kFreed);
  std::byte* second = allocate(kMiB);
  EXPECT_EQ(second, first) << "the best fit is the gap it left";
  EXPECT_EQ(device_free(second), FreeResult::kFreed);
  EXPECT_EQ(device_free(fence), FreeResult::kFreed);
}

TEST(DeviceMemory, FreedNeighboursBecomeOnePiece) {
  for (const auto& order : {std::vector<int>{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}}) {
    std::byte* pieces[] = {allocate(kMiB), allocate(kMiB), allocate(kMiB)};
    std::byte* fence = allocate(64);
    const bool adjacent = pieces[1] == pieces[0] + kMiB && pieces[2] == pieces[1] + kMiB;
    for (const int i : order) EXPECT_EQ(device_free(pieces[i]), FreeResult::kFreed);
    std::byte* whole = allocate(3 * kMiB);
    EXPECT_TRUE(!adjacent || whole == pieces[0]);
    EXPECT_EQ(device_free(whole), FreeResult::kFreed);
    EXPECT_EQ(device_free(fence), FreeResult::kFreed);
  }
}

TEST(DeviceMemory, MoreThanOneRangeHolds) {
  std::byte* large = allocate(100 * kMiB);
  std::byte* larger = allocate(300 * kMiB);
  ASSERT_NE(larger, nullptr);
  EXPECT_EQ(place(large, 100 * std::int64_t{kMiB}), Place::kInside);
  EXPECT_EQ(place(larger, 300 * std::int64_t{kMiB}), Place::kInside);
  larger[300 * kMiB - 1] = std::byte{1};
  EXPECT_EQ(device_free(large), FreeResult::kFreed);
  EXPECT_EQ(device_free(larger), FreeResult::kFreed);
}

TEST(DeviceMemory, LargePiecesGoBackToTheKernel) {
  constexpr std::size_t kBytes = 32 * kMiB;
  std::byte* memory = allocate(kBytes);
  std::memset(memory, 1, kBytes);
  EXPECT_EQ(device_free(memory), FreeResult::kFreed);
  const auto page = reinterpret_cast<std::uintptr_t>(memory + kBytes / 2) / 4096 * 4096;
  unsigned char resident = 1;
  ASSERT_EQ(::mincore(reinterpret_cast<void*>(page), 1, &resident), 0) << "still our address";
  EXPECT_EQ(resident & 1, 0);
}

TEST(DeviceMemory, LiveAllocationsNeverShareBytes) {
  const DeviceMemoryUse before = device_memory_use();
  struct Block {
    std::byte* memory;
    std::size_t bytes;
    std::byte mark;
  };
  std::vector<Block> blocks;
  std::mt19937 random(3);
  const auto release = [&](std::size_t i) {
    const Block block = blocks[i];
    for (std::size_t b = 0; b < block.bytes; b += 61) ASSERT_EQ(block.memory[b], block.mark);
    ASSERT_EQ(device_free(block.memory), FreeResult::kFreed);
    blocks[i] = blocks.back();
    blocks.pop_back();
  };
  for (int step = 0; step < 20000; ++step) {
    if (!blocks.empty() && random() % 5 < 2) {
      release(random() % blocks.size());
    } else if (blocks.size() < 500) {
      const std::size_t bytes = 1 + random() % (random() % 50 == 0 ? 200000 : 2000);
      const auto mark = static_cast<std::byte>(step);
      blocks.push_back({allocate(bytes), bytes, mark});
      ASSERT_NE(blocks.back().memory, nullptr);
      std::memset(blocks.back().memory, static_cast<int>(mark), bytes);
    }
  }
  while (!blocks.empty()) release(0);
  EXPECT_EQ(device_memory_use().allocations, before.allocations);
  EXPECT_EQ(device_memory_use().bytes, before.bytes);
}

TEST(DeviceMemory, ThreadsMayAllocateAndAskAtOnce) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      std::mt19937 random(t);
      int host = 0;
      for (int i = 0; i < 3000; ++i) {
        const std::size_t bytes = 1 + random() % 4000;
        std::byte* memory = allocate(bytes);
        std::memset(memory, static_cast<int>(t), bytes);
        wrong += place(memory, static_cast<std::int64_t>(bytes)) != Place::kInside;
        wrong += place_of(&host, 0, 4) != Place::kHost;
        wrong += memory[bytes - 1] != static_cast<std::byte>(t);
        wrong += device_free(memory) != FreeResult::kFreed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(DeviceMemory, OneOfTwoFreesWins) {
  for (int round = 0; round < 200; ++round) {
    void* memory = device_allocate(64);
    std::atomic<int> freed = 0;
    std::thread other([&] { freed += device_free(memory) == FreeResult::kFreed; });
    freed += device_free(memory) == FreeResult::kFreed;
    other.join();
    ASSERT_EQ(freed, 1);
  }
}

}  // namespace
}  // namespace normgrad
