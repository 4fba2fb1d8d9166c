// Every request to the system fails once, and from then on: for whole lives of both families, the call that needed it
// answers with a documented code and a sentence, nothing is half made or lost, and everything works afterwards.
#include <acl/acl.h>
#include <aclnn/acl_meta.h>
#include <aclnnop/aclnn_batch_norm.h>
#include <aclnnop/aclnn_batch_norm_stats.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <type_traits>

#include "exhaustion/full_device.h"
#include "exhaustion/resources.h"
#include "infiniop.h"
#include "infinirt.h"
#include "normgrad/last_error.h"

namespace exhaustion {
namespace {

float data[6][60];
alignas(64) std::uint8_t workspace[1 << 16];

// One life of a family. Every call that makes something goes through ok(): it may fail while something is made to fail,
// with a code for it. What releases never fails.
class Life {
 public:
  virtual ~Life() = default;
  virtual void run() = 0;
  long failures = 0;  // calls that did

 protected:
  bool ok(const char* call, int code, std::initializer_list<int> allowed, const char* sentence) {
    if (code == 0) return true;
    ++failures;
    EXPECT_TRUE(std::find(allowed.begin(), allowed.end(), code) != allowed.end())
        << call << " returned " << code;
    EXPECT_TRUE(sentence != nullptr && *sentence != '\0') << call << " has no sentence";
    return false;
  }
};

class InfiniLife : public Life {
 public:
  void run() override {
    infiniopHandle_t handle = nullptr;
    infiniopTensorDescriptor_t big = nullptr, vector = nullptr;
    constexpr std::size_t kShape[] = {3, 4, 5};
    void* memory = nullptr;
    infinirtEvent_t event = nullptr;
    check("infinirtMalloc", infinirtMalloc(&memory, 240));
    check("infinirtEventCreate", infinirtEventCreate(&event));
    check("infiniopCreateHandle", infiniopCreateHandle(&handle));
    check("infiniopCreateTensorDescriptor",
          infiniopCreateTensorDescriptor(&big, 3, kShape, nullptr, INFINI_DTYPE_F32));
    check("infiniopCreateTensorDescriptor",
          infiniopCreateTensorDescriptor(&vector, 1, kShape + 2, nullptr, INFINI_DTYPE_F32));
    if (handle != nullptr && big != nullptr && vector != nullptr) rms_norm(handle, big, vector);
    EXPECT_EQ(infiniopDestroyTensorDescriptor(big), INFINI_STATUS_SUCCESS);
    EXPECT_EQ(infiniopDestroyTensorDescriptor(vector), INFINI_STATUS_SUCCESS);
    EXPECT_EQ(infiniopDestroyHandle(handle), INFINI_STATUS_SUCCESS);
    if (event != nullptr) {
      EXPECT_EQ(infinirtEventDestroy(event), INFINI_STATUS_SUCCESS);
    }
    EXPECT_EQ(infinirtFree(memory), INFINI_STATUS_SUCCESS);
  }

 private:
  bool check(const char* call, infiniStatus_t status) {
    return ok(call, status, {INFINI_STATUS_INTERNAL_ERROR}, normgradGetLastError());
  }
  void rms_norm(infiniopHandle_t handle, infiniopTensorDescriptor_t big,
                infiniopTensorDescriptor_t vector) {
    infiniopRMSNormBackwardDescriptor_t made = nullptr;
    const bool created = check(
        "infiniopCreateRMSNormBackwardDescriptor",
        infiniopCreateRMSNormBackwardDescriptor(handle, &made, big, vector, big, big, vector));
    EXPECT_EQ(made != nullptr, created);
    if (!created) return;
    check("infiniopRMSNormBackward",
          infiniopRMSNormBackward(made, workspace, sizeof(workspace), data[0], data[3], data[1],
                                  data[2], data[4], nullptr));
    EXPECT_EQ(infiniopDestroyRMSNormBackwardDescriptor(made), INFINI_STATUS_SUCCESS);
  }
};

// A file for aclInit.
const char* config() {
  static const std::string path = [] {
    std::string made = testing::TempDir() + "normgrad_exhaustion_" + std::to_string(::getpid());
    std::ofstream(made) << R"({"dump": {"dump_list": [{"model_name": "none"}]}})";
    std::atexit([] { ::unlink(config()); });
    return made;
  }();
  return path.c_str();
}

class AclLife : public Life {
 public:
  void run() override {
    const bool begun = check("aclInit", aclInit(config()));
    const bool set = check("aclrtSetDevice", aclrtSetDevice(0));
    streams_and_events();
    operators();
    if (set) {
      EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    }
    if (begun) {
      EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
    }
  }

 private:
  bool check(const char* call, int code) {
    return ok(call, code,
              {ACL_ERROR_RT_MEMORY_ALLOCATION, ACL_ERROR_BAD_ALLOC, 361001,
               ACL_ERROR_INVALID_FILE /* which fopen has no memory for */,
               ACL_ERROR_RT_CONTEXT_NULL /* since the device could not be set */},
              code == 0 ? "" : aclGetRecentErrMsg());
  }

  void streams_and_events() {
    aclrtStream stream = nullptr;
    aclrtEvent event = nullptr;
    void* memory = nullptr;
    check("aclrtCreateStream", aclrtCreateStream(&stream));
    check("aclrtCreateEvent", aclrtCreateEvent(&event));
    check("aclrtMalloc", aclrtMalloc(&memory, 240, ACL_MEM_MALLOC_HUGE_FIRST));
    if (stream != nullptr && event != nullptr && memory != nullptr) {
      check("aclrtMemsetAsync", aclrtMemsetAsync(memory, 240, 0, 240, stream));
      check("aclrtRecordEvent", aclrtRecordEvent(event, stream));
      check("aclrtStreamWaitEvent", aclrtStreamWaitEvent(stream, event));
      check("aclrtSynchronizeStream", aclrtSynchronizeStream(stream));
    }
    if (memory != nullptr) {
      EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
    }
    if (event != nullptr) {
      EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
    }
    if (stream != nullptr) check("aclrtDestroyStream", aclrtDestroyStream(stream));
  }

  aclTensor* tensor(std::initializer_list<std::int64_t> shape, void* address) {
    aclTensor* const made = aclCreateTensor(shape.begin(), shape.size(), ACL_FLOAT, nullptr, 0,
                                            ACL_FORMAT_ND, shape.begin(), shape.size(), address);
    if (made != nullptr) return made;
    ++failures;
    EXPECT_NE(aclGetRecentErrMsg(), nullptr);
    return nullptr;
  }

  void operators() {
    aclTensor* x = tensor({2, 3, 4}, data[0]);
    aclTensor* y = tensor({2, 3, 4}, data[1]);
    aclTensor* mean = tensor({3}, data[2]);
    aclTensor* rstd = tensor({3}, data[3]);
    const bool values[] = {true, true, true};
    aclBoolArray* mask = aclCreateBoolArray(values, 3);
    if (mask == nullptr) ++failures;
    if (x != nullptr && y != nullptr && mean != nullptr && rstd != nullptr) {
      batch_norm(x, y, mean, rstd);
      stats_again_and_again(x, mean, rstd);
    }
    for (const aclTensor* t : {x, y, mean, rstd}) EXPECT_EQ(aclDestroyTensor(t), 0);
    EXPECT_EQ(aclDestroyBoolArray(mask), 0);
  }

  void batch_norm(aclTensor* x, aclTensor* y, aclTensor* mean, aclTensor* rstd) {
    std::uint64_t size = 77;
    aclOpExecutor* executor = nullptr;
    const bool planned =
        check("aclnnBatchNormGetWorkspaceSize",
              aclnnBatchNormGetWorkspaceSize(x, nullptr, nullptr, nullptr, nullptr, true, 0.1, 1e-5,
                                             y, mean, rstd, &size, &executor));
    EXPECT_EQ(executor != nullptr, planned);
    EXPECT_EQ(size == 77, !planned);
    if (planned) check("aclnnBatchNorm", aclnnBatchNorm(workspace, size, executor, nullptr));
  }

  void stats_again_and_again(aclTensor* x, aclTensor* mean, aclTensor* rstd) {
    std::uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    if (!check("aclnnBatchNormStatsGetWorkspaceSize",
               aclnnBatchNormStatsGetWorkspaceSize(x, 1e-5, mean, rstd, &size, &executor))) {
      return;
    }
    if (!check("aclSetAclOpExecutorRepeatable", aclSetAclOpExecutorRepeatable(executor))) return;
    for (int i = 0; i < 2; ++i) {
      check("aclnnBatchNormStats", aclnnBatchNormStats(workspace, size, executor, nullptr));
    }
    check("aclrtSynchronizeStream", aclrtSynchronizeStream(nullptr));
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  }
};

// Every life takes from the heap and maps memory; those of ACL read a file, and start threads if streams have some.
template <class Family>
bool must_ask_for(Resource resource) {
  if (resource == Resource::kMalloc) return kReplacesMalloc && std::is_same_v<Family, AclLife>;
  if (resource != Resource::kThread) return true;
  const char* streams = std::getenv("NORMGRAD_STREAMS");
  return std::is_same_v<Family, AclLife> && streams != nullptr && std::string(streams) == "async";
}

template <class Family>
class Exhaustion : public testing::Test {};
using Families = testing::Types<InfiniLife, AclLife>;
TYPED_TEST_SUITE(Exhaustion, Families);

TYPED_TEST(Exhaustion, IsAnsweredAndLeavesNothingBehind) {
  for (int i = 0; i < 3; ++i) TypeParam().run();  // tables have grown to their size
  for (const Resource resource : kResources) {
    for (const Mode mode : kModes) {
      for (long index = 0;; ++index) {
        SCOPED_TRACE(std::string(name(resource)) + ", request " + std::to_string(index) +
                     (mode == Mode::kOnce ? ", once" : ", from then on"));
        const long before = heap_pieces();
        const bool maps = resource == Resource::kMapping;
        std::optional<FullDevice> full;
        if (maps) full.emplace();
        TypeParam life;
        fail(resource, index, mode);
        life.run();
        const long failed = stop_failing();
        full.reset();
        // A new range of device memory is kept for ever, and so are its books.
        if (!maps) {
          ASSERT_EQ(heap_pieces(), before) << "something was lost";
        }
        TypeParam afterwards;
        afterwards.run();
        ASSERT_EQ(afterwards.failures, 0);
        if (testing::Test::HasFailure()) return;
        if (failed == 0) {
          if (must_ask_for<TypeParam>(resource)) {
            ASSERT_GT(index, 0) << "nothing was made to fail";
          }
          std::printf("%s%s: %ld requests\n", name(resource),
                      mode == Mode::kOnce ? ", once" : ", from then on", index);
          break;
        }
      }
    }
  }
}

}  // namespace
}  // namespace exhaustion
