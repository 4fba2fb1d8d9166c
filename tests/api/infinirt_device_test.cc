#include <cstring>
#include <thread>

#include "api/operators.h"
#include "normgrad/last_error.h"

namespace api_test {
namespace {

class OnDevice {  // and back to the CPU
 public:
  explicit OnDevice(infiniDevice_t device) { status = infinirtSetDevice(device, 0); }
  ~OnDevice() { EXPECT_EQ(infinirtSetDevice(INFINI_DEVICE_CPU, 0), INFINI_STATUS_SUCCESS); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  infiniStatus_t status;
};

TEST(InfinirtDevice, InitSucceedsEveryTime) {
  EXPECT_EQ(infinirtInit(), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infinirtInit(), INFINI_STATUS_SUCCESS);
}

TEST(InfinirtDevice, ThereIsOneCpuAndNothingElse) {
  int all[INFINI_DEVICE_TYPE_COUNT + 1];
  all[INFINI_DEVICE_TYPE_COUNT] = 77;
  ASSERT_EQ(infinirtGetAllDeviceCount(all), INFINI_STATUS_SUCCESS);
  for (int type = 0; type < INFINI_DEVICE_TYPE_COUNT; ++type) {
    int count = 77;
    EXPECT_EQ(infinirtGetDeviceCount(static_cast<infiniDevice_t>(type), &count),
              INFINI_STATUS_SUCCESS);
    EXPECT_EQ(count, type == INFINI_DEVICE_CPU ? 1 : 0);
    EXPECT_EQ(all[type], count);
  }
  EXPECT_EQ(all[INFINI_DEVICE_TYPE_COUNT], 77);
}

TEST(InfinirtDevice, CountsRefuseNullAndUnknownTypes) {
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER, infinirtGetAllDeviceCount(nullptr),
                         "infinirtGetAllDeviceCount", "count_array"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER,
                         infinirtGetDeviceCount(INFINI_DEVICE_CPU, nullptr),
                         "infinirtGetDeviceCount", "count"));
  for (const int type : {11, 12, 15, -1, 1000}) {
    int count = 77;
    EXPECT_TRUE(fails_with(INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED,
                           infinirtGetDeviceCount(static_cast<infiniDevice_t>(type), &count),
                           "infinirtGetDeviceCount", "device"));
    EXPECT_EQ(count, 77);
  }
}

TEST(InfinirtDevice, CurrentDeviceIsTheFirstCpuAtFirst) {
  std::thread([] {
    auto device = INFINI_DEVICE_ALI;
    int id = 77;
    EXPECT_EQ(infinirtGetDevice(&device, &id), INFINI_STATUS_SUCCESS);
    EXPECT_EQ(device, INFINI_DEVICE_CPU);
    EXPECT_EQ(id, 0);
  }).join();
}

TEST(InfinirtDevice, AnyCpuNumberIsStored) {
  for (const int id : {5, -3, 0}) {
    int stored = 77;
    EXPECT_EQ(infinirtSetDevice(INFINI_DEVICE_CPU, id), INFINI_STATUS_SUCCESS);
    EXPECT_EQ(infinirtGetDevice(nullptr, &stored), INFINI_STATUS_SUCCESS);
    EXPECT_EQ(stored, id);
  }
}

TEST(InfinirtDevice, EitherPointerOfGetDeviceMayBeNull) {
  auto device = INFINI_DEVICE_ALI;
  EXPECT_EQ(infinirtGetDevice(&device, nullptr), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(device, INFINI_DEVICE_CPU);
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER, infinirtGetDevice(nullptr, nullptr),
                         "infinirtGetDevice", "device_ptr"));
}

TEST(InfinirtDevice, AnUnsupportedDeviceIsRefusedAndBecomesCurrent) {
  for (const int type : {1, 3, 8, 10, 11, 99}) {
    const OnDevice other(static_cast<infiniDevice_t>(type));
    EXPECT_TRUE(fails_with(INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED, other.status,
                           "infinirtSetDevice", "device"));
    auto current = INFINI_DEVICE_CPU;
    EXPECT_EQ(infinirtGetDevice(&current, nullptr), INFINI_STATUS_SUCCESS);
    EXPECT_EQ(static_cast<int>(current), type);
    auto* handle = sentinel<InfiniopHandle>();
    EXPECT_TRUE(fails_with(INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED, infiniopCreateHandle(&handle),
                           "infiniopCreateHandle", "device"));
    EXPECT_EQ(handle, sentinel<InfiniopHandle>());
  }
}

TEST(InfinirtDevice, CurrentDeviceBelongsToTheThread) {
  const OnDevice other(INFINI_DEVICE_NVIDIA);
  std::thread([] { const Handle handle; }).join();
  infiniopHandle_t handle = nullptr;
  EXPECT_EQ(infiniopCreateHandle(&handle), INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED);
}

TEST(InfinirtDevice, WorkOnAnUnsupportedDeviceIsRefused) {
  void* memory = nullptr;
  infinirtEvent_t event = nullptr;
  ASSERT_EQ(infinirtMalloc(&memory, 64), INFINI_STATUS_SUCCESS);
  ASSERT_EQ(infinirtEventCreate(&event), INFINI_STATUS_SUCCESS);
  {
    const OnDevice other(INFINI_DEVICE_ASCEND);
    infinirtStream_t stream = nullptr;
    infinirtEventStatus_t status;
    float ms = 0;
    void* p = sentinel<void>();
    const infiniStatus_t refusals[] = {
        infinirtDeviceSynchronize(),
        infinirtStreamCreate(&stream),
        infinirtStreamDestroy(nullptr),
        infinirtStreamSynchronize(nullptr),
        infinirtStreamWaitEvent(nullptr, event),
        infinirtEventCreate(&p),
        infinirtEventCreateWithFlags(&p, 0),
        infinirtEventRecord(event, nullptr),
        infinirtEventQuery(event, &status),
        infinirtEventSynchronize(event),
        infinirtEventElapsedTime(&ms, event, event),
        infinirtEventDestroy(event),
        infinirtMalloc(&p, 64),
        infinirtMallocHost(&p, 64),
        infinirtMallocAsync(&p, 64, nullptr),
        infinirtFree(memory),
        infinirtFreeHost(memory),
        infinirtFreeAsync(memory, nullptr),
        infinirtMemcpy(memory, memory, 1, INFINIRT_MEMCPY_D2D),
        infinirtMemcpyAsync(memory, memory, 1, INFINIRT_MEMCPY_D2D, nullptr),
        infinirtMemset(memory, 0, 1),
        infinirtMemsetAsync(memory, 0, 1, nullptr),
    };
    for (const infiniStatus_t refusal : refusals)
      EXPECT_EQ(refusal, INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED);
    EXPECT_EQ(p, sentinel<void>());
  }
  EXPECT_EQ(infinirtEventDestroy(event), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infinirtFree(memory), INFINI_STATUS_SUCCESS);
}

TEST(InfinirtDevice, SynchronizeSucceeds) {
  EXPECT_EQ(infinirtDeviceSynchronize(), INFINI_STATUS_SUCCESS);
}

TEST(InfinirtDevice, MemoryIsReported) {
  std::size_t free = 0;
  std::size_t total = 0;
  ASSERT_EQ(infinirtGetMemInfo(INFINI_DEVICE_CPU, 0, &free, &total), INFINI_STATUS_SUCCESS);
  EXPECT_GT(free, 0u);
  EXPECT_LE(free, total);
  EXPECT_GT(total, std::size_t{1} << 20);
}

TEST(InfinirtDevice, SnapshotSaysWhatIsValid) {
  void* memory = nullptr;
  ASSERT_EQ(infinirtMalloc(&memory, 12345), INFINI_STATUS_SUCCESS);
  infinirtDeviceResourceSnapshot_t now;
  std::memset(&now, 0xFF, sizeof(now));
  ASSERT_EQ(infinirtGetDeviceResourceSnapshot(INFINI_DEVICE_CPU, 0, &now), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(now.device_type, INFINI_DEVICE_CPU);
  EXPECT_EQ(now.device_id, 0);
  EXPECT_EQ(now.valid_fields, static_cast<std::uint64_t>(INFINIRT_RESOURCE_FIELD_MEMORY_CAPACITY));
  EXPECT_EQ(now.estimated_fields, 0u);
  EXPECT_EQ(now.used_bytes, now.total_bytes - now.free_bytes);
  EXPECT_GE(now.reserved_bytes, 12345u);
  EXPECT_EQ(now.compute_utilization + now.memory_bandwidth_utilization + now.kernel_time_ratio +
                now.communication_time_ratio,
            0.0f);
  EXPECT_EQ(now.communication_bytes, 0u);
  EXPECT_EQ(infinirtFree(memory), INFINI_STATUS_SUCCESS);
}

TEST(InfinirtDevice, QueriesRefuseNullOtherTypesAndOtherNumbers) {
  std::size_t bytes = 77;
  infinirtDeviceResourceSnapshot_t now;
  now.free_bytes = 77;
  const auto info = [&](infiniDevice_t device, int id) {
    return infinirtGetMemInfo(device, id, &bytes, &bytes);
  };
  const auto snapshot = [&](infiniDevice_t device, int id) {
    return infinirtGetDeviceResourceSnapshot(device, id, &now);
  };
  const std::string info_name = "infinirtGetMemInfo";
  const std::string snapshot_name = "infinirtGetDeviceResourceSnapshot";
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER,
                         infinirtGetMemInfo(INFINI_DEVICE_CPU, 0, nullptr, &bytes), info_name,
                         "free_bytes"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER,
                         infinirtGetMemInfo(INFINI_DEVICE_CPU, 0, &bytes, nullptr), info_name,
                         "total_bytes"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER,
                         infinirtGetDeviceResourceSnapshot(INFINI_DEVICE_CPU, 0, nullptr),
                         snapshot_name, "snapshot"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED, info(INFINI_DEVICE_METAX, 0),
                         info_name, "device"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED, snapshot(INFINI_DEVICE_METAX, 0),
                         snapshot_name, "device"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_DEVICE_NOT_FOUND, info(INFINI_DEVICE_CPU, 1), info_name,
                         "device_id"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_DEVICE_NOT_FOUND, snapshot(INFINI_DEVICE_CPU, -1),
                         snapshot_name, "device_id"));
  EXPECT_EQ(bytes, 77u);
  EXPECT_EQ(now.free_bytes, 77u);
}

}  // namespace
}  // namespace api_test
