// Signals a thousand times a second, with and without SA_RESTART, in every thread that works or
// waits: no call is cut short, no wait ends early, no bit changes.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>

#include "aclnn/device.h"
#include "aclnn/serial_run.h"
#include "concurrency/infiniop_call.h"
#include "concurrency/threads.h"

namespace concurrency_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::atomic<int> signals = 0;

// For the process, whichever thread gets them.
class Signals {
 public:
  explicit Signals(int flags) {
    struct sigaction action = {};
    action.sa_handler = [](int) { signals.fetch_add(1, std::memory_order_relaxed); };
    action.sa_flags = flags;
    ::sigaction(SIGALRM, &action, &before_);
    set(1000);
  }
  ~Signals() {
    set(0);
    ::signal(SIGALRM, SIG_IGN);  // one may be on its way, and what was before may end the process
    ::sigaction(SIGALRM, &before_, nullptr);
  }
  Signals(const Signals&) = delete;

 private:
  static void set(int microseconds) {
    const itimerval every{{0, microseconds}, {0, microseconds}};
    ::setitimer(ITIMER_REAL, &every, nullptr);
  }
  struct sigaction before_ = {};
};

// For the thread that makes it.
class OwnSignals {
 public:
  OwnSignals() {
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGALRM;
    event._sigev_un._tid = static_cast<pid_t>(::syscall(SYS_gettid));
    const itimerspec every{{0, 1000000}, {0, 1000000}};
    EXPECT_EQ(::timer_create(CLOCK_MONOTONIC, &event, &timer_), 0);
    EXPECT_EQ(::timer_settime(timer_, 0, &every, nullptr), 0);
  }
  ~OwnSignals() { ::timer_delete(timer_); }
  OwnSignals(const OwnSignals&) = delete;

 private:
  timer_t timer_{};
};

void sleep_until(steady_clock::time_point time) {
  while (steady_clock::now() < time) std::this_thread::sleep_until(time);
}

// Waits of every kind for a host function that takes its time.
void expect_waits_to_hold(aclrtStream stream) {
  aclrtEvent event = nullptr;
  EXPECT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  const auto slow = [](void*) { sleep_until(steady_clock::now() + milliseconds(20)); };
  const auto begin = [&] {
    EXPECT_EQ(aclrtLaunchHostFunc(stream, slow, nullptr), ACL_SUCCESS);
    EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  };
  const auto expect_done = [&](aclError code) {
    EXPECT_EQ(code, ACL_SUCCESS);
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    EXPECT_EQ(aclrtQueryEventStatus(event, &status), ACL_SUCCESS);
    EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_COMPLETE);
  };
  begin();
  expect_done(aclrtSynchronizeStream(stream));
  begin();
  expect_done(aclrtSynchronizeStreamWithTimeout(stream, 20000));
  begin();
  expect_done(aclrtSynchronizeEvent(event));
  begin();
  expect_done(aclrtSynchronizeEventWithTimeout(event, 20000));
  begin();
  expect_done(aclrtSynchronizeDevice());
  begin();
  expect_done(aclrtSynchronizeDeviceWithTimeout(20000));
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

// Nothing comes, and it takes as long as was asked for.
void expect_timeout_to_hold(aclrtStream stream) {
  EXPECT_EQ(aclrtSubscribeReport(static_cast<uint64_t>(::pthread_self()), stream), ACL_SUCCESS);
  const auto begin = steady_clock::now();
  errno = 0;
  EXPECT_EQ(aclrtProcessReport(30), ACL_ERROR_WAIT_CALLBACK_TIMEOUT);
  EXPECT_EQ(errno, 0);
  EXPECT_GE(steady_clock::now() - begin, milliseconds(30));
  EXPECT_EQ(aclrtUnSubscribeReport(static_cast<uint64_t>(::pthread_self()), stream), ACL_SUCCESS);
}

void expect_bits_to_hold(aclrtStream stream, int thread) {
  auto calls = aclnn_test::small_calls(65000000 + 100000 * static_cast<std::uint64_t>(thread), 16);
  for (int round = 0; round < 20; ++round) {
    for (aclnn_test::Expectation& e : calls) {
      ASSERT_TRUE(e.call->reset());
      ASSERT_EQ(e.call->start(stream), "");
    }
    ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    for (aclnn_test::Expectation& e : calls) ASSERT_EQ(e.difference(), "");
  }
  for (const api_test::Operator* op : api_test::operators()) {
    const api_test::Descriptor descriptor(*op, api_test::specs_for(*op, kLargeShape));
    InfiniopCall call(*op, kLargeShape, static_cast<unsigned>(thread));
    ASSERT_EQ(call.run(descriptor.get(), descriptor.workspace_size()), INFINI_STATUS_SUCCESS);
    call.expect_this();
    for (int round = 0; round < 20; ++round) {
      call.forget_outputs();
      ASSERT_EQ(call.run(descriptor.get(), descriptor.workspace_size()), INFINI_STATUS_SUCCESS);
      ASSERT_TRUE(call.is_as_expected()) << op->name;
    }
  }
}

void expect_calls_to_hold(int flags) {
  const int before = signals;
  {
    const Signals to_the_process(flags);
    in_threads(3, [](int t) {
      const OwnSignals to_this_thread;
      const aclnn_test::Device device;
      const aclnn_test::Stream stream;
      expect_waits_to_hold(stream.get());
      expect_timeout_to_hold(stream.get());
      expect_bits_to_hold(stream.get(), t);
    });
  }
  EXPECT_GT(signals - before, 200);
}

TEST(Signals, WithoutRestartCutNothingShort) { expect_calls_to_hold(0); }
TEST(Signals, WithRestartCutNothingShort) { expect_calls_to_hold(SA_RESTART); }

}  // namespace
}  // namespace concurrency_test
