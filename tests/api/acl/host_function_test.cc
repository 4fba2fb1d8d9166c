// Host functions and callbacks.
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "api/acl/world.h"

namespace acl_test {
namespace {

void count_up(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

std::uint64_t this_thread() { return static_cast<std::uint64_t>(pthread_self()); }

TEST_F(AclTest, HostFunctionMaySubmitToItsOwnStream) {
  static aclrtStream stream;
  stream = new_stream();
  std::atomic<int> count = 0;
  const auto again = [](void* counter) {
    EXPECT_EQ(aclrtLaunchHostFunc(stream, count_up, counter), ACL_SUCCESS);
  };
  EXPECT_EQ(aclrtLaunchHostFunc(stream, again, &count), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(count, 1);
}

TEST_F(AclTest, HostFunctionThatThrowsIsAFailureAndNoEnd) {
  const aclrtStream stream = new_stream();
  std::atomic<int> count = 0;
  const int launched = aclrtLaunchHostFunc(
      stream, [](void*) { throw 1; }, nullptr);
  EXPECT_EQ(aclrtLaunchHostFunc(stream, count_up, &count), ACL_SUCCESS);
  const int synchronized = aclrtSynchronizeStream(stream);
  EXPECT_EQ(mode() == Mode::kInline ? launched : synchronized, 507000);
  EXPECT_EQ(mode() == Mode::kInline ? synchronized : launched, ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(count, 1);
  aclGetRecentErrMsg();
}

TEST_F(AclTest, HostFunctionMustNotWait) {
  static aclrtStream stream;
  static aclrtEvent event;
  static aclrtContext context;
  static void* memory;
  stream = new_stream();
  event = new_event();
  memory = new_memory(64);
  EXPECT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  const auto wait = [](void*) {
    aclGetRecentErrMsg();
    EXPECT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
    const auto forbidden = [](int code, const char* function) {
      EXPECT_TRUE(refused(207000, code, function, "must not wait"));
    };
    forbidden(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
    forbidden(aclrtSynchronizeDevice(), "aclrtSynchronizeDevice");
    forbidden(aclrtSynchronizeEvent(event), "aclrtSynchronizeEvent");
    forbidden(aclrtDestroyStream(stream), "aclrtDestroyStream");
    forbidden(aclrtResetDevice(0), "aclrtResetDevice");
    forbidden(aclrtProcessReport(-1), "aclrtProcessReport");
    forbidden(aclFinalize(), "aclFinalize");
    forbidden(aclFinalizeReference(nullptr), "aclFinalizeReference");
    auto status = ACL_STREAM_STATUS_RESERVED;
    EXPECT_EQ(aclrtStreamQuery(stream, &status), ACL_SUCCESS);
    char byte = 0;
    const int copied = aclrtMemcpyAsync(&byte, 1, memory, 1, ACL_MEMCPY_DEVICE_TO_HOST, stream);
    if (mode() == Mode::kInline) {
      EXPECT_EQ(copied, ACL_SUCCESS);
    } else {
      forbidden(copied, "aclrtMemcpyAsync");
    }
  };
  EXPECT_EQ(aclrtLaunchHostFunc(stream, wait, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
}

TEST_F(AclTest, CallbackRunsInTheSubscribedThread) {
  const aclrtStream stream = new_stream();
  static std::atomic<std::uint64_t> where;
  where = 0;
  std::promise<std::uint64_t> subscriber;
  std::promise<void> subscribed;
  std::thread reporter([&] {
    subscriber.set_value(this_thread());
    subscribed.get_future().wait();
    EXPECT_EQ(aclrtProcessReport(60000), ACL_SUCCESS);
    EXPECT_TRUE(refused(100036, aclrtProcessReport(1), "aclrtProcessReport", "timeout"));
  });
  const std::uint64_t thread = subscriber.get_future().get();
  EXPECT_EQ(aclrtSubscribeReport(thread, stream), ACL_SUCCESS);
  EXPECT_TRUE(
      refused(100033, aclrtSubscribeReport(thread, stream), "aclrtSubscribeReport", "already"));
  const auto note = [](void*) { where = this_thread(); };
  EXPECT_EQ(aclrtLaunchCallback(note, nullptr, ACL_CALLBACK_NO_BLOCK, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  subscribed.set_value();
  reporter.join();
  EXPECT_EQ(where, thread);
  EXPECT_TRUE(refused(100035, aclrtUnSubscribeReport(thread + 1, stream), "aclrtUnSubscribeReport",
                      "threadId"));
  EXPECT_EQ(aclrtUnSubscribeReport(thread, stream), ACL_SUCCESS);
  EXPECT_TRUE(
      refused(100034, aclrtUnSubscribeReport(thread, stream), "aclrtUnSubscribeReport", "stream"));
}

TEST_F(AclTest, BlockingCallbackComesBeforeLaterWorkAndIsReported) {
  const aclrtStream stream = new_stream();
  EXPECT_EQ(aclrtSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  static std::atomic<int> value;
  static int seen;
  value = 0;
  seen = -1;
  const auto set = [](void*) { value = 1; };
  const auto get = [](void*) { seen = value; };
  EXPECT_EQ(aclrtLaunchCallback(set, nullptr, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtLaunchHostFunc(stream, get, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(aclrtProcessReport(0), ACL_SUCCESS);
  EXPECT_TRUE(refused(100036, aclrtProcessReport(0), "aclrtProcessReport", "timeout"));
}

TEST_F(AclTest, ReportWithoutTimeoutWaitsForItsCallback) {
  const aclrtStream stream = new_stream();
  EXPECT_EQ(aclrtSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  static std::atomic<bool> came;
  came = false;
  std::thread launcher([&] {
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the other one waits by then
    const auto note = [](void*) { came = true; };
    EXPECT_EQ(aclrtLaunchCallback(note, nullptr, ACL_CALLBACK_NO_BLOCK, stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  });
  EXPECT_EQ(aclrtProcessReport(-1), ACL_SUCCESS);
  EXPECT_TRUE(came);
  launcher.join();
}

TEST_F(AclTest, SubscriptionEndsWithItsStream) {
  const aclrtStream stream = new_stream();
  EXPECT_EQ(aclrtSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_TRUE(refused(100035, aclrtProcessReport(-1), "aclrtProcessReport", "subscribed"));
}

}  // namespace
}  // namespace acl_test
