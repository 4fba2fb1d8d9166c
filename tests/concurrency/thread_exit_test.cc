// Threads that end and leave everything behind: contexts, streams with work, events, sentences of
// failures. Nothing is lost, the work goes on, no thread and no descriptor stays.
#include <acl/acl.h>
#include <gtest/gtest.h>
#include <infinirt.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "aclnn/device.h"
#include "concurrency/process_state.h"
#include "normgrad/last_error.h"

namespace concurrency_test {
namespace {

struct Left {
  aclrtContext context = nullptr;
  aclrtStream stream = nullptr;
  aclrtEvent event = nullptr;
  void* memory = nullptr;
  int host = 0;
};

constexpr std::size_t kBytes = 1000;

void leave_everything(Left& left) {
  EXPECT_EQ(aclrtCreateContext(&left.context, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtCreateStream(&left.stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtCreateEvent(&left.event), ACL_SUCCESS);
  EXPECT_EQ(aclrtMalloc(&left.memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemsetAsync(left.memory, kBytes, 7, kBytes, left.stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtLaunchHostFunc(
                left.stream, [](void* host) { ++*static_cast<int*>(host); }, &left.host),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(left.event, left.stream), ACL_SUCCESS);
  // Sentences: one for aclGetRecentErrMsg, one for normgradGetLastError, and a device of the
  // thread's own that we do not drive.
  EXPECT_NE(aclrtFree(&left), ACL_SUCCESS);
  EXPECT_NE(infinirtFree(&left), INFINI_STATUS_SUCCESS);
  EXPECT_NE(infinirtSetDevice(INFINI_DEVICE_NVIDIA, 0), INFINI_STATUS_SUCCESS);
}

void take_over(Left& left) {
  EXPECT_EQ(aclrtSetCurrentContext(left.context), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(left.event), ACL_SUCCESS);
  EXPECT_EQ(aclrtLaunchHostFunc(
                left.stream, [](void* host) { ++*static_cast<int*>(host); }, &left.host),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(left.stream), ACL_SUCCESS);
  EXPECT_EQ(left.host, 2);
  EXPECT_EQ(static_cast<unsigned char*>(left.memory)[kBytes - 1], 7);
  EXPECT_EQ(aclrtFree(left.memory), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(left.context), ACL_SUCCESS);
}

TEST(ThreadExit, LeavesWhatOthersGoOnWith) {
  aclGetRecentErrMsg();
  const std::string last_error = normgradGetLastError();
  const auto round = [] {
    Left left;
    std::thread([&] { leave_everything(left); }).join();
    take_over(left);
  };
  for (int i = 0; i < 20; ++i) round();
  const ProcessState before = settled_process_state();
  for (int i = 0; i < 200; ++i) round();
  const ProcessState after = settled_process_state();
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_EQ(after.descriptors, before.descriptors);
  // Another thread's failures are not this one's.
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
  EXPECT_EQ(normgradGetLastError(), last_error);
}

// The thread in whose calls the stream's worker was started is gone.
TEST(ThreadExit, StreamsOfTheDefaultContextGoOn) {
  const aclnn_test::Device device;
  aclrtStream stream = nullptr;
  int host = 0;
  const auto launch = [&] {
    return aclrtLaunchHostFunc(
        stream, [](void* count) { ++*static_cast<int*>(count); }, &host);
  };
  std::thread([&] {
    const aclnn_test::Device of_thread;
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    EXPECT_EQ(launch(), ACL_SUCCESS);
  }).join();
  EXPECT_EQ(launch(), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(host, 2);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

bool context_can_still_be_set(aclrtContext first, aclrtContext second) {
  aclrtContext current = nullptr;
  bool right = aclrtGetCurrentContext(&current) == ACL_SUCCESS && current == first;
  for (int i = 0; i < 20; ++i) {
    right &= aclrtSetCurrentContext(second) == ACL_SUCCESS;
    right &= aclrtSetCurrentContext(first) == ACL_SUCCESS;
    // Takes what was freed by mistake.
    const std::vector<std::string> memory(100, std::string(16 + 8 * static_cast<size_t>(i), 'A'));
  }
  aclrtStream stream = nullptr;
  right &= aclrtCreateStream(&stream) == ACL_SUCCESS && aclrtDestroyStream(stream) == ACL_SUCCESS;
  return right && aclrtDestroyContext(first) == ACL_SUCCESS &&
         aclrtGetCurrentContext(&current) == ACL_ERROR_RT_CONTEXT_NULL &&
         aclrtDestroyContext(second) == ACL_SUCCESS;
}

// What a static destructor calls comes after the end of the main thread's own objects.
TEST(ThreadExitDeathTest, OfTheMainThreadLeavesItsContext) {
  static aclrtContext first, second;
  const auto exit_in_a_context = [] {
    std::atexit([] { ::_exit(context_can_still_be_set(first, second) ? 0 : 1); });
    const bool right = aclrtCreateContext(&second, 0) == ACL_SUCCESS &&
                       aclrtCreateContext(&first, 0) == ACL_SUCCESS;
    if (right) std::exit(0);
    ::_exit(2);
  };
  EXPECT_EXIT(exit_in_a_context(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace concurrency_test
