// Streams: when their work is done, in which order, and what becomes of its failures.
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "api/acl/world.h"

namespace acl_test {
namespace {

using std::chrono::milliseconds;

void count_up(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

aclrtStreamStatus status_of(aclrtStream stream) {
  auto status = ACL_STREAM_STATUS_RESERVED;
  EXPECT_EQ(aclrtStreamQuery(stream, &status), ACL_SUCCESS);
  return status;
}

// A copy that is refused when it is done, since its destination was freed in the meantime.
void submit_work_that_fails(aclrtStream stream) {
  void* source = new_memory(64);
  void* target = new_memory(64);
  Hold hold(stream);
  EXPECT_EQ(aclrtMemcpyAsync(target, 64, source, 64, ACL_MEMCPY_DEVICE_TO_DEVICE, stream),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(target), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(source), ACL_SUCCESS);
}

TEST_F(AclTest, WorkIsDoneWhenTheModeSays) {
  const aclrtStream stream = new_stream();
  std::atomic<int> count = 0;
  Hold hold(stream);
  EXPECT_EQ(aclrtLaunchHostFunc(stream, count_up, &count), ACL_SUCCESS);
  EXPECT_EQ(count, mode() == Mode::kInline ? 1 : 0);
  hold.let_go();
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(count, 1);
}

TEST_F(AclTest, QueriesAnswerNotReadyAndComeToAnEnd) {
  const aclrtStream stream = new_stream();
  EXPECT_EQ(status_of(stream), ACL_STREAM_STATUS_COMPLETE);
  std::atomic<int> count = 0;
  Hold hold(stream);
  EXPECT_EQ(aclrtLaunchHostFunc(stream, count_up, &count), ACL_SUCCESS);
  EXPECT_EQ(status_of(stream),
            mode() == Mode::kInline ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY);
  hold.let_go();
  while (status_of(stream) != ACL_STREAM_STATUS_COMPLETE) std::this_thread::yield();
  EXPECT_EQ(count, 1);
}

TEST_F(AclTest, NullIsTheDefaultStream) {
  std::atomic<int> count = 0;
  aclrtStream stream = nullptr;
  EXPECT_EQ(aclrtCtxGetCurrentDefaultStream(&stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtLaunchHostFunc(nullptr, count_up, &count), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtLaunchHostFunc(stream, count_up, &count), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(count, 2);
}

TEST_F(AclTest, WorkRunsInTheOrderOfSubmission) {
  const aclrtStream stream = new_stream();
  static std::vector<int> seen;
  static int numbers[100];
  seen.clear();
  for (int i = 0; i < 100; ++i) {
    numbers[i] = i;
    const auto note = [](void* number) { seen.push_back(*static_cast<int*>(number)); };
    EXPECT_EQ(aclrtLaunchHostFunc(stream, note, &numbers[i]), ACL_SUCCESS);
  }
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(seen, std::vector<int>(std::begin(numbers), std::end(numbers)));
}

TEST_F(AclTest, DestroyingFinishesAndForceDropsWhatHasNotBegun) {
  std::atomic<int> count = 0;
  const aclrtStream finished = new_stream();
  EXPECT_EQ(aclrtLaunchHostFunc(finished, count_up, &count), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(finished), ACL_SUCCESS);
  EXPECT_EQ(count, 1);
  const aclrtStream dropped = new_stream();
  Hold hold(dropped);
  EXPECT_EQ(aclrtLaunchHostFunc(dropped, count_up, &count), ACL_SUCCESS);
  std::thread later([&] {  // the hold is waited for
    std::this_thread::sleep_for(milliseconds(50));
    hold.let_go();
  });
  EXPECT_EQ(aclrtDestroyStreamForce(dropped), ACL_SUCCESS);
  EXPECT_EQ(count, mode() == Mode::kInline ? 2 : 1);
  later.join();
}

TEST_F(AclTest, SynchronizingTheDeviceFinishesAllItsStreams) {
  std::atomic<int> count = 0;
  const aclrtStream streams[] = {new_stream(), new_stream(), nullptr};
  for (const aclrtStream stream : streams) {
    EXPECT_EQ(aclrtLaunchHostFunc(stream, count_up, &count), ACL_SUCCESS);
  }
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(aclrtLaunchHostFunc(streams[0], count_up, &count), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeDeviceWithTimeout(60000), ACL_SUCCESS);
  EXPECT_EQ(count, 4);
}

// In the other modes nothing keeps a stream busy.
TEST_F(AclTest, AsyncTimeoutsExpire) {
  const aclrtStream stream = new_stream();
  const aclrtEvent event = new_event();
  Hold hold(stream);
  EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  EXPECT_TRUE(refused(507046, aclrtSynchronizeStreamWithTimeout(stream, 10),
                      "aclrtSynchronizeStreamWithTimeout", "timeout"));
  EXPECT_TRUE(refused(507046, aclrtSynchronizeDeviceWithTimeout(0),
                      "aclrtSynchronizeDeviceWithTimeout", "timeout"));
  EXPECT_TRUE(refused(507047, aclrtSynchronizeEventWithTimeout(event, 0),
                      "aclrtSynchronizeEventWithTimeout", "timeout"));
  const aclrtStream waiting = new_stream();
  EXPECT_EQ(aclrtStreamWaitEventWithTimeout(waiting, event, 10), ACL_SUCCESS);
  EXPECT_TRUE(refused(107019, aclrtSynchronizeStream(waiting), "aclrtSynchronizeStream",
                      "aclrtStreamWaitEventWithTimeout"));
  hold.let_go();
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 60000), ACL_SUCCESS);
}

TEST_F(AclTest, DeferredWorkGoesOnAtEveryTimeout) {
  const aclrtStream stream = new_stream();
  std::atomic<int> count = 0;
  const auto slow = [](void* counter) {
    std::this_thread::sleep_for(milliseconds(2));
    count_up(counter);
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(aclrtLaunchHostFunc(stream, slow, &count), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 1), 507046);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 1), 507046);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 1), ACL_SUCCESS);
  EXPECT_EQ(count, 3);
  aclGetRecentErrMsg();
}

// Inline, a call fails at once.
TEST_F(AclTest, QueuedFailureIsAnsweredOnce) {
  const aclrtStream stream = new_stream();
  const aclrtStream innocent = new_stream();
  submit_work_that_fails(stream);
  EXPECT_EQ(aclrtSynchronizeStream(innocent), ACL_SUCCESS);
  EXPECT_TRUE(refused(107000, aclrtSynchronizeStream(stream), "aclrtSynchronizeStream",
                      "aclrtMemcpyAsync: dst"));
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  submit_work_that_fails(stream);
  EXPECT_TRUE(refused(107000, aclrtSynchronizeDevice(), "aclrtSynchronizeDevice", "dst"));
  submit_work_that_fails(stream);
  const aclrtEvent event = new_event();
  EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  EXPECT_TRUE(refused(107000, aclrtSynchronizeEvent(event), "aclrtSynchronizeEvent", "dst"));
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
}

TEST_F(AclTest, QueuedFailureReachesWhicheverThreadSynchronizes) {
  const aclrtStream stream = new_stream();
  submit_work_that_fails(stream);
  run_in_new_thread([&] {
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_TRUE(
        refused(107000, aclrtSynchronizeStream(stream), "aclrtSynchronizeStream", "not allocated"));
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  });
}

TEST_F(AclTest, QueuedFailureIsAnsweredByWhatEndsTheStream) {
  const aclrtStream stream = new_stream();
  submit_work_that_fails(stream);
  EXPECT_TRUE(
      refused(107000, aclrtDestroyStream(stream), "aclrtDestroyStream", "aclrtMemcpyAsync: dst"));
  EXPECT_EQ(aclrtSynchronizeStream(stream), 107017) << "it is gone all the same";
  submit_work_that_fails(new_stream());
  EXPECT_TRUE(refused(107000, aclrtResetDeviceForce(0), "aclrtResetDeviceForce", "dst"));
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclGetRecentErrMsg();
}

// Also when the work is done by another thread's call.
TEST_F(AclTest, DestroyingAStreamWaitsForItsWork) {
  struct State {
    std::promise<void> begun;
    std::atomic<bool> done = false;
  } state;
  const aclrtStream stream = new_stream();
  aclrtContext context = nullptr;
  EXPECT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  const auto slow = [](void* argument) {
    auto& s = *static_cast<State*>(argument);
    s.begun.set_value();
    std::this_thread::sleep_for(milliseconds(50));
    s.done = true;
  };
  std::thread submitter([&] {
    EXPECT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
    EXPECT_EQ(aclrtLaunchHostFunc(stream, slow, &state), ACL_SUCCESS);
  });
  if (mode() == Mode::kDeferred) {
    submitter.join();
  } else {
    state.begun.get_future().wait();
  }
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_TRUE(state.done);
  if (submitter.joinable()) submitter.join();
}

TEST_F(AclTest, StreamsHaveIdsAndFlags) {
  aclrtStream stream = nullptr;
  EXPECT_EQ(aclrtCreateStreamWithConfig(&stream, 7, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC),
            ACL_SUCCESS);
  std::int32_t first = -1;
  std::int32_t second = -1;
  EXPECT_EQ(aclrtStreamGetId(stream, &first), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamGetId(nullptr, &second), ACL_SUCCESS);
  EXPECT_NE(first, second);
  EXPECT_GE(first, 0);
}

TEST_F(AclTest, StreamsRunOutAt1984) {
  std::vector<aclrtStream> streams(1984);
  for (aclrtStream& stream : streams) stream = new_stream();
  aclrtStream more = &streams;
  EXPECT_TRUE(refused(207008, aclrtCreateStream(&more), "aclrtCreateStream", "1984"));
  EXPECT_EQ(more, &streams);
  EXPECT_EQ(aclrtDestroyStream(streams.back()), ACL_SUCCESS);
  EXPECT_EQ(aclrtCreateStream(&more), ACL_SUCCESS);
}

TEST_F(AclTest, StreamsOfManyThreadsStayInOrder) {
  const aclrtStream shared = new_stream();
  std::atomic<int> count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      const aclrtStream own = new_stream();
      const aclrtEvent event = new_event();
      for (int step = 0; step < 20; ++step) {  // there and back, with a wait in either direction
        EXPECT_EQ(aclrtLaunchHostFunc(own, count_up, &count), ACL_SUCCESS);
        EXPECT_EQ(aclrtRecordEvent(event, own), ACL_SUCCESS);
        EXPECT_EQ(aclrtStreamWaitEvent(shared, event), ACL_SUCCESS);
        EXPECT_EQ(aclrtLaunchHostFunc(shared, count_up, &count), ACL_SUCCESS);
        EXPECT_EQ(aclrtRecordEvent(event, shared), ACL_SUCCESS);
        EXPECT_EQ(aclrtStreamWaitEvent(own, event), ACL_SUCCESS);
        if (step % 5 == 0) {
          EXPECT_EQ(aclrtSynchronizeStream(own), ACL_SUCCESS);
        }
        if (step % 7 == 0) {
          EXPECT_EQ(aclrtSynchronizeStream(shared), ACL_SUCCESS);
        }
      }
      EXPECT_EQ(aclrtDestroyStream(own), ACL_SUCCESS);
      EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
      EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(aclrtSynchronizeStream(shared), ACL_SUCCESS);
  EXPECT_EQ(count, 8 * 20 * 2);
}

TEST_F(AclTest, ResettingWhileOthersWorkEndsInCodesNotInCrashes) {
  std::atomic<bool> stop = false;
  std::atomic<int> count = 0;  // outlives the threads, whose work another one may have to finish
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        if (aclrtSetDevice(0) != ACL_SUCCESS) continue;
        aclrtLaunchHostFunc(nullptr, count_up, &count);
        aclrtSynchronizeStream(nullptr);
        aclrtSynchronizeDevice();
        aclrtResetDevice(0);
      }
      aclrtSetDevice(0);
      aclrtResetDeviceForce(0);
      aclGetRecentErrMsg();
    });
  }
  for (int i = 0; i < 100; ++i) {
    aclrtResetDeviceForce(0);
    aclrtSetDevice(0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclGetRecentErrMsg();
}

}  // namespace
}  // namespace acl_test
