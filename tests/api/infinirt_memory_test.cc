#include <cstdint>
#include <cstring>
#include <numeric>

#include "api/operators.h"

namespace api_test {
namespace {

using Bytes = std::vector<unsigned char>;

TEST(InfinirtMemory, IsAlignedAndUsable) {
  void* all[3] = {};
  ASSERT_EQ(infinirtMalloc(&all[0], 1000), INFINI_STATUS_SUCCESS);
  ASSERT_EQ(infinirtMallocHost(&all[1], 1000), INFINI_STATUS_SUCCESS);
  ASSERT_EQ(infinirtMallocAsync(&all[2], 1000, nullptr), INFINI_STATUS_SUCCESS);
  for (void* memory : all) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0u);
    std::memset(memory, 0xAB, 1000);
  }
  EXPECT_EQ(infinirtFree(all[0]), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infinirtFreeHost(all[1]), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infinirtFreeAsync(all[2], nullptr), INFINI_STATUS_SUCCESS);
}

TEST(InfinirtMemory, ZeroBytesAreNull) {
  void* memory = sentinel<void>();
  EXPECT_EQ(infinirtMalloc(&memory, 0), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(infinirtFree(memory), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infinirtFreeHost(nullptr), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infinirtFreeAsync(nullptr, nullptr), INFINI_STATUS_SUCCESS);
}

TEST(InfinirtMemory, TooMuchIsAnInternalError) {
  for (const std::size_t size :
       {SIZE_MAX, SIZE_MAX - 63, std::size_t{1} << 62, std::size_t{1} << 46}) {
    void* memory = sentinel<void>();
    EXPECT_TRUE(fails_with(INFINI_STATUS_INTERNAL_ERROR, infinirtMalloc(&memory, size),
                           "infinirtMalloc", "size"));
    EXPECT_TRUE(fails_with(INFINI_STATUS_INTERNAL_ERROR, infinirtMallocHost(&memory, size),
                           "infinirtMallocHost", "size"));
    EXPECT_TRUE(fails_with(INFINI_STATUS_INTERNAL_ERROR,
                           infinirtMallocAsync(&memory, size, nullptr), "infinirtMallocAsync",
                           "size"));
    EXPECT_EQ(memory, sentinel<void>());
  }
}

TEST(InfinirtMemory, NullOutParameterIsNullPointer) {
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER, infinirtMalloc(nullptr, 1), "infinirtMalloc",
                         "p_ptr"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER, infinirtMallocHost(nullptr, 1),
                         "infinirtMallocHost", "p_ptr"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER, infinirtMallocAsync(nullptr, 1, nullptr),
                         "infinirtMallocAsync", "p_ptr"));
}

TEST(InfinirtMemory, FreeRefusesWhatItDidNotGive) {
  void* memory = nullptr;
  int local = 0;
  ASSERT_EQ(infinirtMalloc(&memory, 1000), INFINI_STATUS_SUCCESS);
  auto* inside = static_cast<char*>(memory) + 64;
  for (void* bad : {static_cast<void*>(inside), static_cast<void*>(&local), sentinel<void>()}) {
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtFree(bad), "infinirtFree", "ptr"));
    EXPECT_TRUE(
        fails_with(INFINI_STATUS_BAD_PARAM, infinirtFreeHost(bad), "infinirtFreeHost", "ptr"));
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtFreeAsync(bad, nullptr),
                           "infinirtFreeAsync", "ptr"));
  }
  EXPECT_EQ(infinirtFree(memory), INFINI_STATUS_SUCCESS);
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtFree(memory), "infinirtFree", "before"));
}

TEST(InfinirtMemory, CopiesOfEveryKindCopy) {
  Bytes source(100);
  std::iota(source.begin(), source.end(), static_cast<unsigned char>(1));
  void* device = nullptr;
  ASSERT_EQ(infinirtMalloc(&device, 100), INFINI_STATUS_SUCCESS);
  for (const auto kind :
       {INFINIRT_MEMCPY_H2H, INFINIRT_MEMCPY_H2D, INFINIRT_MEMCPY_D2H, INFINIRT_MEMCPY_D2D}) {
    Bytes target(100);
    EXPECT_EQ(infinirtMemset(device, 0, 100), INFINI_STATUS_SUCCESS);
    EXPECT_EQ(infinirtMemcpy(device, source.data(), 100, kind), INFINI_STATUS_SUCCESS);
    EXPECT_EQ(infinirtMemcpyAsync(target.data(), device, 100, kind, nullptr),
              INFINI_STATUS_SUCCESS);
    EXPECT_EQ(target, source);
  }
  EXPECT_EQ(infinirtFree(device), INFINI_STATUS_SUCCESS);
}

TEST(InfinirtMemory, CopiesMayOverlap) {
  Bytes memory(200);
  std::iota(memory.begin(), memory.end(), static_cast<unsigned char>(0));
  Bytes expected = memory;
  std::memmove(expected.data() + 30, expected.data(), 150);
  EXPECT_EQ(infinirtMemcpy(memory.data() + 30, memory.data(), 150, INFINIRT_MEMCPY_H2H),
            INFINI_STATUS_SUCCESS);
  EXPECT_EQ(memory, expected);
}

TEST(InfinirtMemory, NoBytesNeedNoPointer) {
  EXPECT_EQ(infinirtMemcpy(nullptr, nullptr, 0, INFINIRT_MEMCPY_H2D), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infinirtMemset(nullptr, 1, 0), INFINI_STATUS_SUCCESS);
}

TEST(InfinirtMemory, CopyRefusesNullAndUnknownKinds) {
  char byte = 7;
  const auto kind = INFINIRT_MEMCPY_H2D;
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER, infinirtMemcpy(nullptr, &byte, 1, kind),
                         "infinirtMemcpy", "dst"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER, infinirtMemcpy(&byte, nullptr, 1, kind),
                         "infinirtMemcpy", "src"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER, infinirtMemset(nullptr, 0, 1),
                         "infinirtMemset", "ptr"));
  for (const int bad : {4, -1, 1000}) {
    const auto unknown = static_cast<infinirtMemcpyKind_t>(bad);
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtMemcpy(&byte, &byte, 1, unknown),
                           "infinirtMemcpy", "kind"));
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM,
                           infinirtMemcpyAsync(&byte, &byte, 1, unknown, nullptr),
                           "infinirtMemcpyAsync", "kind"));
  }
  EXPECT_EQ(byte, 7);
}

TEST(InfinirtMemory, CopiesMustNotLeaveTheirAllocation) {
  void* device = nullptr;
  ASSERT_EQ(infinirtMalloc(&device, 100), INFINI_STATUS_SUCCESS);
  Bytes host(200, 9);
  const auto copy = [](void* to, const void* from, std::size_t size) {
    return infinirtMemcpy(to, from, size, INFINIRT_MEMCPY_H2D);
  };
  EXPECT_TRUE(
      fails_with(INFINI_STATUS_BAD_PARAM, copy(device, host.data(), 101), "infinirtMemcpy", "dst"));
  EXPECT_TRUE(
      fails_with(INFINI_STATUS_BAD_PARAM, copy(host.data(), device, 101), "infinirtMemcpy", "src"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, copy(host.data(), device, SIZE_MAX),
                         "infinirtMemcpy", "dst"));
  EXPECT_TRUE(
      fails_with(INFINI_STATUS_BAD_PARAM, infinirtMemset(device, 0, 101), "infinirtMemset", "ptr"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtMemsetAsync(device, 0, SIZE_MAX, nullptr),
                         "infinirtMemsetAsync", "ptr"));
  EXPECT_EQ(host, Bytes(200, 9));
  EXPECT_EQ(infinirtFree(device), INFINI_STATUS_SUCCESS);
  EXPECT_TRUE(
      fails_with(INFINI_STATUS_BAD_PARAM, copy(device, host.data(), 1), "infinirtMemcpy", "dst"));
  EXPECT_TRUE(
      fails_with(INFINI_STATUS_BAD_PARAM, copy(host.data(), device, 1), "infinirtMemcpy", "src"));
  EXPECT_TRUE(
      fails_with(INFINI_STATUS_BAD_PARAM, infinirtMemset(device, 0, 1), "infinirtMemset", "ptr"));
}

TEST(InfinirtMemory, SetWritesTheLowByte) {
  Bytes memory(10, 0);
  EXPECT_EQ(infinirtMemset(memory.data(), 0x1AB, 4), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infinirtMemsetAsync(memory.data() + 4, -1, 4, nullptr), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(memory, (Bytes{0xAB, 0xAB, 0xAB, 0xAB, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0}));
}

TEST(InfinirtMemory, ForeignStreamsAreRefused) {
  char byte = 7;
  void* stream = &byte;
  void* memory = sentinel<void>();
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtMallocAsync(&memory, 1, stream),
                         "infinirtMallocAsync", "stream"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtFreeAsync(nullptr, stream),
                         "infinirtFreeAsync", "stream"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM,
                         infinirtMemcpyAsync(&byte, &byte, 1, INFINIRT_MEMCPY_H2H, stream),
                         "infinirtMemcpyAsync", "stream"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtMemsetAsync(&byte, 0, 1, stream),
                         "infinirtMemsetAsync", "stream"));
  EXPECT_EQ(memory, sentinel<void>());
  EXPECT_EQ(byte, 7);
}

}  // namespace
}  // namespace api_test
