// fork() while other threads are inside the library, with any of its locks: child and parent go on,
// and give right bits. A child that hangs is ended by its alarm.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>

#include "aclnn/device.h"
#include "aclnn/serial_run.h"
#include "concurrency/infiniop_call.h"
#include "concurrency/threads.h"
#include "normgrad/settings.h"
#include "ops/row_problem.h"

namespace concurrency_test {
namespace {

constexpr int kForks = 60;
constexpr std::size_t kCalls = 16;

// 0 if the child says so.
int exit_code_of_child(const std::function<bool()>& child_is_well) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::_exit(child_is_well() ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// All aclnn operators on a stream, the bits those of the serial run.
bool all_right(std::vector<aclnn_test::Expectation>& calls, aclrtStream stream) {
  bool right = true;
  for (aclnn_test::Expectation& e : calls) {
    right &= e.call->reset() && e.call->start(stream).empty();
    right &= aclrtSynchronizeStream(stream) == ACL_SUCCESS && e.difference().empty();
  }
  return right;
}

bool all_right_on_a_new_stream(std::vector<aclnn_test::Expectation>& calls) {
  aclrtStream stream = nullptr;
  if (aclrtCreateStream(&stream) != ACL_SUCCESS) return false;
  return all_right(calls, stream) && aclrtDestroyStream(stream) == ACL_SUCCESS;
}

struct RowRun {
  RowRun() {
    normgrad::set_threads(2);
    right = problem.run();
    expected = problem.dw;
  }
  bool again() { return problem.run() && problem.dw == expected; }
  ops_test::RowProblem problem{4096, 64};
  std::vector<float> expected;
  bool right;
};

TEST(Fork, OfIdleThreads) {
  const aclnn_test::Device device;
  const aclnn_test::Stream stream;
  auto calls = aclnn_test::small_calls(61000000, kCalls);
  RowRun rows;
  ASSERT_TRUE(rows.right);
  ASSERT_TRUE(all_right(calls, stream.get()));
  EXPECT_EQ(exit_code_of_child([&] {
              return rows.again() && all_right(calls, stream.get()) &&
                     all_right_on_a_new_stream(calls);
            }),
            0);
  EXPECT_TRUE(rows.again());
  EXPECT_TRUE(all_right(calls, stream.get()));
}

// What other threads do meanwhile, over and over.
class Busy {
 public:
  explicit Busy(std::function<bool()> round)
      : thread_([this, round = std::move(round)] {
          while (!done_) right_ = round() && right_;
        }) {}
  bool end() {
    done_ = true;
    thread_.join();
    return right_;
  }

 private:
  std::atomic<bool> done_ = false;
  std::atomic<bool> right_ = true;
  std::thread thread_;
};

bool turn_over_everything() {
  aclrtStream stream = nullptr;
  aclrtEvent event = nullptr;
  aclrtContext context = nullptr;
  void* memory = nullptr;
  infiniopHandle_t handle = nullptr;
  bool right = aclrtCreateContext(&context, 0) == ACL_SUCCESS;
  right &= aclrtCreateStream(&stream) == ACL_SUCCESS && aclrtCreateEvent(&event) == ACL_SUCCESS;
  right &= aclrtRecordEvent(event, stream) == ACL_SUCCESS;
  right &= aclrtMalloc(&memory, 100, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS;
  right &= aclrtMemsetAsync(memory, 100, 1, 100, stream) == ACL_SUCCESS;
  right &= aclrtSynchronizeEvent(event) == ACL_SUCCESS;
  right &= aclrtSynchronizeDevice() == ACL_SUCCESS;
  right &= infiniopCreateHandle(&handle) == INFINI_STATUS_SUCCESS;
  right &= infiniopDestroyHandle(handle) == INFINI_STATUS_SUCCESS;
  right &= aclrtDestroyContext(context) == ACL_SUCCESS && aclrtFree(memory) == ACL_SUCCESS;
  return right;
}

TEST(Fork, OfBusyThreads) {
  const aclnn_test::Device device;
  const aclnn_test::Stream stream;
  auto busy_calls = aclnn_test::small_calls(62000000, kCalls);
  auto calls = aclnn_test::small_calls(63000000, kCalls);
  RowRun busy_rows, rows;
  Busy team([&] { return busy_rows.again(); });
  Busy client([&] {
    const aclnn_test::Device of_thread;
    return all_right(busy_calls, stream.get());
  });
  Busy turnover(turn_over_everything), another(turn_over_everything);
  for (int i = 0; i < kForks && !HasFailure(); ++i) {
    EXPECT_EQ(exit_code_of_child([&] {
                return rows.again() && all_right_on_a_new_stream(calls) &&
                       all_right(calls, stream.get()) && all_right(calls, nullptr) &&
                       turn_over_everything();
              }),
              0)
        << "fork " << i;
    EXPECT_TRUE(all_right(calls, stream.get()));
  }
  for (Busy* one : {&team, &client, &turnover, &another}) EXPECT_TRUE(one->end());
}

// A function of the caller's may fork, and the child may submit to the stream that it is run by.
TEST(Fork, InAHostFunction) {
  const aclnn_test::Device device;
  const aclnn_test::Stream stream;
  auto calls = aclnn_test::small_calls(64000000, kCalls);
  static int code;
  code = -1;
  const auto forks = [](void* own) {
    code = exit_code_of_child([&] {
      return aclrtLaunchHostFunc(
                 own, [](void*) {}, nullptr) == ACL_SUCCESS;
    });
  };
  ASSERT_EQ(aclrtLaunchHostFunc(stream.get(), forks, stream.get()), ACL_SUCCESS);
  EXPECT_TRUE(all_right(calls, stream.get()));
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace concurrency_test
