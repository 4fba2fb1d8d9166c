// Events: marks in a stream's order.
#include <atomic>
#include <chrono>
#include <thread>

#include "api/acl/world.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // aclrtQueryEvent, which is here still

namespace acl_test {
namespace {

void count_up(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

bool is_complete(aclrtEvent event) {
  auto status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  EXPECT_EQ(aclrtQueryEventStatus(event, &status), ACL_SUCCESS);
  return status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
}

TEST_F(AclTest, EventThatWasNeverRecordedIsCompleteAndNotWaitedFor) {
  const aclrtEvent event = new_event();
  EXPECT_TRUE(is_complete(event));
  auto status = ACL_EVENT_STATUS_RESERVED;
  auto wait_status = ACL_EVENT_WAIT_STATUS_RESERVED;
  EXPECT_EQ(aclrtQueryEvent(event, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_STATUS_COMPLETE);
  EXPECT_EQ(aclrtQueryEventWaitStatus(event, &wait_status), ACL_SUCCESS);
  EXPECT_EQ(wait_status, ACL_EVENT_WAIT_STATUS_COMPLETE);
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(nullptr, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
}

TEST_F(AclTest, EventIsCompleteWhenItsWorkIsDone) {
  const aclrtStream stream = new_stream();
  const aclrtEvent event = new_event();
  std::atomic<int> count = 0;
  Hold hold(stream);
  EXPECT_EQ(aclrtLaunchHostFunc(stream, count_up, &count), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  EXPECT_EQ(is_complete(event), mode() == Mode::kInline);
  hold.let_go();
  while (!is_complete(event)) std::this_thread::yield();
  EXPECT_EQ(count, 1);
}

TEST_F(AclTest, SynchronizingAnEventLeavesLaterWorkAlone) {
  const aclrtStream stream = new_stream();
  const aclrtEvent event = new_event();
  std::atomic<int> count = 0;
  EXPECT_EQ(aclrtLaunchHostFunc(stream, count_up, &count), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  Hold hold(stream);
  EXPECT_EQ(aclrtLaunchHostFunc(stream, count_up, &count), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event, 60000), ACL_SUCCESS);
  EXPECT_EQ(count, mode() == Mode::kInline ? 2 : 1);
  hold.let_go();
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);  // while there is a count
}

TEST_F(AclTest, StreamWaitsForWhatTheEventStandsFor) {
  const aclrtStream first = new_stream();
  const aclrtStream second = new_stream();
  const aclrtEvent event = new_event();
  static std::atomic<int> value;
  static int seen;
  value = 0;
  seen = -1;
  const auto set = [](void*) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    value = 1;
  };
  const auto get = [](void*) { seen = value; };
  EXPECT_EQ(aclrtLaunchHostFunc(first, set, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtLaunchHostFunc(second, get, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(second), ACL_SUCCESS);
  EXPECT_EQ(seen, 1);
}

TEST_F(AclTest, WaitStandsForTheRecordingOfItsTime) {
  const aclrtStream first = new_stream();
  const aclrtStream second = new_stream();
  const aclrtEvent event = new_event();
  EXPECT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
  Hold hold(first);
  std::atomic<int> count = 0;
  EXPECT_EQ(aclrtLaunchHostFunc(first, count_up, &count), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(second, 60000), ACL_SUCCESS);
  EXPECT_EQ(count, mode() == Mode::kInline ? 1 : 0);
  hold.let_go();
  EXPECT_EQ(aclrtSynchronizeStream(first), ACL_SUCCESS);  // while there is a count
}

TEST_F(AclTest, WaitStatusTellsWhetherTheStreamIsPast) {
  const aclrtStream first = new_stream();
  const aclrtStream second = new_stream();
  const aclrtEvent event = new_event();
  Hold hold(first);
  EXPECT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
  auto status = ACL_EVENT_WAIT_STATUS_RESERVED;
  EXPECT_EQ(aclrtQueryEventWaitStatus(event, &status), ACL_SUCCESS);
  EXPECT_EQ(status, mode() == Mode::kInline ? ACL_EVENT_WAIT_STATUS_COMPLETE
                                            : ACL_EVENT_WAIT_STATUS_NOT_READY);
  hold.let_go();
  EXPECT_EQ(aclrtSynchronizeStream(second), ACL_SUCCESS);
  EXPECT_EQ(aclrtQueryEventWaitStatus(event, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_WAIT_STATUS_COMPLETE);
}

TEST_F(AclTest, EventOutlivesItsStream) {
  const aclrtStream stream = new_stream();
  const aclrtEvent event = new_event();
  EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_TRUE(is_complete(event));
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(nullptr, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
}

TEST_F(AclTest, EventOfDroppedWorkHoldsNobodyUp) {
  const aclrtStream stream = new_stream();
  const aclrtEvent event = new_event();
  EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(nullptr, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
}

TEST_F(AclTest, DeferredEventOfDroppedWorkHasNoTime) {
  const aclrtStream stream = new_stream();
  const aclrtEvent dropped = new_event(), event = new_event();
  EXPECT_EQ(aclrtRecordEvent(dropped, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
  float ms = 77;
  EXPECT_TRUE(refused(107006, aclrtEventElapsedTime(&ms, dropped, event), "aclrtEventElapsedTime",
                      "startEvent has no time"));
  EXPECT_EQ(ms, 77);
}

TEST_F(AclTest, ResetEventIsAsNew) {
  const aclrtEvent event = new_event();
  EXPECT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetEvent(event, nullptr), ACL_SUCCESS);
  float ms = 77;
  EXPECT_TRUE(refused(507000, aclrtEventElapsedTime(&ms, event, event), "aclrtEventElapsedTime",
                      "startEvent was never recorded"));
  EXPECT_EQ(ms, 77);
}

TEST_F(AclTest, ElapsedTimeIsInMilliseconds) {
  const aclrtStream stream = new_stream();
  const aclrtEvent start = new_event();
  aclrtEvent end = nullptr;
  EXPECT_EQ(aclrtCreateEventExWithFlag(&end, ACL_EVENT_TIME_LINE | ACL_EVENT_SYNC), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(start, stream), ACL_SUCCESS);
  const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  EXPECT_EQ(aclrtLaunchHostFunc(stream, sleep, nullptr), ACL_SUCCESS);
  Hold hold(stream);
  EXPECT_EQ(aclrtRecordEvent(end, stream), ACL_SUCCESS);
  float ms = 77;
  if (mode() != Mode::kInline) {
    EXPECT_TRUE(refused(107006, aclrtEventElapsedTime(&ms, end, end), "aclrtEventElapsedTime",
                        "not complete"));
  }
  hold.let_go();
  EXPECT_EQ(aclrtSynchronizeEvent(end), ACL_SUCCESS);
  EXPECT_TRUE(
      refused(107007, aclrtEventElapsedTime(&ms, end, start), "aclrtEventElapsedTime", "before"));
  EXPECT_EQ(ms, 77);
  EXPECT_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_SUCCESS);
  EXPECT_GE(ms, 19);
  EXPECT_LT(ms, 20000);
}

}  // namespace
}  // namespace acl_test
