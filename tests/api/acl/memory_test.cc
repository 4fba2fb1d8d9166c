// Memory: allocated, freed, copied, filled, asked about.
#include <cstring>
#include <numeric>

#include "api/acl/world.h"

namespace acl_test {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes counting(std::size_t size) {
  Bytes bytes(size);
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(1));
  return bytes;
}

void* new_host_memory(std::size_t size) {
  void* memory = nullptr;
  EXPECT_EQ(aclrtMallocHost(&memory, size), ACL_SUCCESS);
  return memory;
}

TEST_F(AclTest, MemoryIsAlignedAndRoundedUp) {
  aclrtMallocConfig config = {nullptr, 0};
  void* all[5] = {};
  EXPECT_EQ(aclrtMalloc(&all[0], 1, as<aclrtMemMallocPolicy>(12345)), ACL_SUCCESS);
  EXPECT_EQ(aclrtMallocAlign32(&all[1], 1, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
  EXPECT_EQ(aclrtMallocCached(&all[2], 1, ACL_MEM_MALLOC_HUGE_ONLY), ACL_SUCCESS);
  EXPECT_EQ(aclrtMallocWithCfg(&all[3], 1, ACL_MEM_MALLOC_HUGE_FIRST, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtMallocWithCfg(&all[4], 1, ACL_MEM_MALLOC_HUGE_FIRST, &config), ACL_SUCCESS);
  for (void* memory : all) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0u);
    EXPECT_EQ(aclrtMemset(memory, 32, 1, 32), ACL_SUCCESS);
    EXPECT_TRUE(refused(107000, aclrtMemset(memory, 33, 1, 33), "aclrtMemset", "devPtr"));
  }
  run_in_new_thread([&] {  // which has no context
    for (void* memory : all) EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  });
}

TEST_F(AclTest, PointersTellWhoseTheyAre) {
  void* device = new_memory(100);
  void* host = new_host_memory(100);
  char local = 0;
  char registered[64];
  void* mapped = nullptr;
  EXPECT_EQ(aclrtHostRegister(registered, 64, ACL_HOST_REGISTER_MAPPED, &mapped), ACL_SUCCESS);
  EXPECT_EQ(mapped, registered);
  const auto type_of = [](const void* address) {
    aclrtPtrAttributes attributes = {};
    EXPECT_EQ(aclrtPointerGetAttributes(address, &attributes), ACL_SUCCESS);
    EXPECT_EQ(attributes.location.id, 0u);
    EXPECT_GT(attributes.pageSize, 0u);
    return attributes.location.type;
  };
  EXPECT_EQ(type_of(device), ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(type_of(static_cast<char*>(device) + 99), ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(type_of(host), ACL_MEM_LOCATION_TYPE_HOST);
  EXPECT_EQ(type_of(registered + 63), ACL_MEM_LOCATION_TYPE_HOST);
  EXPECT_EQ(type_of(&local), ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  EXPECT_TRUE(refused(107000, aclrtHostRegister(registered, 64, ACL_HOST_REGISTER_MAPPED, &mapped),
                      "aclrtHostRegister", "already"));
  EXPECT_EQ(aclrtHostUnregister(registered), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(device), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
}

TEST_F(AclTest, MemoryInfoIsOfTheMachine) {
  std::size_t free = 0;
  std::size_t total = 0;
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
  EXPECT_GT(free, 0u);
  EXPECT_LE(free, total);
}

TEST_F(AclTest, CopiesOfEveryKindCopy) {
  const Bytes source = counting(100);
  void* device = new_memory(100);
  for (int kind = 0; kind <= 5; ++kind) {
    Bytes target(100);
    EXPECT_EQ(aclrtMemset(device, 100, 0, 100), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(device, 100, source.data(), 100, as<aclrtMemcpyKind>(kind)), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(target.data(), 200, device, 100, as<aclrtMemcpyKind>(kind)), ACL_SUCCESS);
    EXPECT_EQ(target, source);
  }
  EXPECT_EQ(aclrtMemFlush(device, 100), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemInvalidate(device, 128), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(device), ACL_SUCCESS);
}

TEST_F(AclTest, NoBytesNeedNothing) {
  run_in_new_thread([] {
    EXPECT_EQ(aclrtMemcpy(nullptr, 0, nullptr, 0, as<aclrtMemcpyKind>(9)), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemset(nullptr, 0, 0, 0), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpyAsync(nullptr, 0, nullptr, 0, ACL_MEMCPY_DEFAULT, nullptr), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy2d(nullptr, 0, nullptr, 0, 0, 9, ACL_MEMCPY_DEFAULT), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy2d(nullptr, 0, nullptr, 0, 9, 0, ACL_MEMCPY_DEFAULT), ACL_SUCCESS);
    char byte = 1;  // onto itself
    EXPECT_EQ(aclrtMemcpy(&byte, 1, &byte, 1, ACL_MEMCPY_DEFAULT), ACL_SUCCESS);
  });
}

TEST_F(AclTest, CopiesMayOverlap) {
  Bytes memory = counting(200);
  Bytes expected = memory;
  std::memmove(expected.data() + 30, expected.data(), 150);
  EXPECT_EQ(aclrtMemcpy(memory.data() + 30, 170, memory.data(), 150, ACL_MEMCPY_HOST_TO_HOST),
            ACL_SUCCESS);
  EXPECT_EQ(memory, expected);
}

TEST_F(AclTest, RowsAreCopiedWithoutWhatLiesBetweenThem) {
  const Bytes source = counting(60);
  Bytes target(48, 0);
  EXPECT_EQ(aclrtMemcpy2d(target.data(), 16, source.data(), 20, 4, 3, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_SUCCESS);
  Bytes expected(48, 0);
  for (std::size_t row = 0; row < 3; ++row) {
    std::memcpy(expected.data() + row * 16, source.data() + row * 20, 4);
  }
  EXPECT_EQ(target, expected);
  EXPECT_EQ(aclrtMemset(target.data(), 48, 0, 48), ACL_SUCCESS);
  EXPECT_EQ(
      aclrtMemcpy2dAsync(target.data(), 16, source.data(), 20, 4, 3, ACL_MEMCPY_DEFAULT, nullptr),
      ACL_SUCCESS);
  EXPECT_EQ(target, expected);  // pageable memory: the call returns after the copy
}

TEST_F(AclTest, CopyBetweenManagedMemoryIsEnqueued) {
  const aclrtStream stream = new_stream();
  auto* device = static_cast<char*>(new_memory(64));
  auto* host = static_cast<char*>(new_host_memory(64));
  std::memset(host, 1, 64);
  std::memset(device, 2, 64);
  Hold hold(stream);
  EXPECT_EQ(aclrtMemsetAsync(device, 64, 3, 64, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(host, 64, device, 64, ACL_MEMCPY_DEVICE_TO_HOST, stream), ACL_SUCCESS);
  char seen = 0;  // a plain copy does not wait for streams
  EXPECT_EQ(aclrtMemcpy(&seen, 1, device, 1, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(seen, mode() == Mode::kInline ? 3 : 2);
  EXPECT_EQ(host[0], mode() == Mode::kInline ? 3 : 1);
  hold.let_go();
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(host[63], 3);
  EXPECT_EQ(aclrtFree(device), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
}

TEST_F(AclTest, CopyToPageableMemoryReturnsAfterWhatCameBefore) {
  const aclrtStream stream = new_stream();
  auto* device = static_cast<char*>(new_memory(64));
  std::memset(device, 2, 64);
  EXPECT_EQ(aclrtMemsetAsync(device, 64, 3, 64, stream), ACL_SUCCESS);
  char seen = 0;
  EXPECT_EQ(aclrtMemcpyAsync(&seen, 1, device, 1, ACL_MEMCPY_DEVICE_TO_HOST, stream), ACL_SUCCESS);
  EXPECT_EQ(seen, 3);
  EXPECT_EQ(aclrtFree(device), ACL_SUCCESS);
}

TEST_F(AclTest, QueuedWorkOnFreedMemoryFailsWithoutTouchingIt) {
  const aclrtStream stream = new_stream();
  auto* device = static_cast<char*>(new_memory(64));
  Hold hold(stream);
  EXPECT_EQ(aclrtMemsetAsync(device, 64, 3, 64, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(device), ACL_SUCCESS);
  hold.let_go();
  EXPECT_TRUE(refused(107000, aclrtSynchronizeStream(stream), "aclrtSynchronizeStream",
                      "aclrtMemsetAsync: devPtr"));
}

TEST(AclDataBuffer, HoldsAnAddressAndASize) {
  int number = 0;
  aclDataBuffer* buffer = aclCreateDataBuffer(&number, sizeof(number));
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), &number);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), sizeof(number));
  EXPECT_EQ(aclUpdateDataBuffer(buffer, nullptr, (std::size_t{1} << 32) + 5), ACL_SUCCESS);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), nullptr);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), (std::size_t{1} << 32) + 5);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  EXPECT_EQ(aclGetDataBufferSize(buffer), 5u);
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
  EXPECT_EQ(aclGetDataBufferSize(buffer), 0u);
#pragma GCC diagnostic pop
  EXPECT_EQ(aclGetDataBufferAddr(nullptr), nullptr);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), 0u);
  aclGetRecentErrMsg();
}

}  // namespace
}  // namespace acl_test
