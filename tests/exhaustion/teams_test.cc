// An operator that is worth a team of threads, when the system gives fewer or none: it runs on those there are, with the
// same bits, and on a whole team when it can have one again.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

#include "exhaustion/resources.h"
#include "infiniop.h"
#include "normgrad/settings.h"

namespace exhaustion {
namespace {

constexpr int kTeam = 4;
constexpr std::size_t kElements = 128 * 8 * 80;
static_assert(kElements >= 65536, "src/kernels/parallel_for.cc: worth threads");

// RMSNorm of rows that so many elements make.
class Operator {
 public:
  explicit Operator(std::size_t columns = 80) : columns_(columns) {
    const std::size_t shape[] = {kElements / columns, columns};
    infiniopCreateHandle(&handle_);
    infiniopCreateTensorDescriptor(&data_, 2, shape, nullptr, INFINI_DTYPE_F32);
    infiniopCreateTensorDescriptor(&vector_, 1, shape + 1, nullptr, INFINI_DTYPE_F32);
    infiniopCreateRMSNormBackwardDescriptor(handle_, &made_, data_, vector_, data_, data_, vector_);
    std::size_t bytes = 0;
    infiniopGetRMSNormBackwardWorkspaceSize(made_, &bytes);
    workspace_.resize(bytes);
    for (std::size_t i = 0; i < kElements; ++i) {
      dy_[i] = 0.25f + 0.001f * static_cast<float>(i % 977);
      x_[i] = 2.0f - 0.003f * static_cast<float>(i % 641);
    }
    normgrad::set_threads(1);
    expected_ = run();
    normgrad::set_threads(kTeam);
  }
  ~Operator() {
    infiniopDestroyRMSNormBackwardDescriptor(made_);
    infiniopDestroyTensorDescriptor(vector_);
    infiniopDestroyTensorDescriptor(data_);
    infiniopDestroyHandle(handle_);
    normgrad::set_threads(0);
  }
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  bool gives_the_same_bits() { return run() == expected_; }

 private:
  std::vector<float> run() {
    std::vector<float> out(kElements + columns_, -1.0f);
    const auto status =
        infiniopRMSNormBackward(made_, workspace_.data(), workspace_.size(), out.data(),
                                out.data() + kElements, dy_.data(), x_.data(), w_.data(), nullptr);
    return status == INFINI_STATUS_SUCCESS ? out : std::vector<float>();
  }

  const std::size_t columns_;
  infiniopHandle_t handle_ = nullptr;
  infiniopTensorDescriptor_t data_ = nullptr, vector_ = nullptr;
  infiniopRMSNormBackwardDescriptor_t made_ = nullptr;
  std::vector<char> workspace_;
  std::vector<float> dy_ = std::vector<float>(kElements), x_ = dy_,
                     w_ = std::vector<float>(columns_, 3);
  std::vector<float> expected_;
};

// A thread that has had no team asks for its members when it first needs one.
template <class Body>
void in_new_thread(Body&& body) {
  std::thread(body).join();
}

TEST(Teams, AreAskedForOnce) {
  Operator op;
  in_new_thread([&] {
    fail(Resource::kThread, LONG_MAX, Mode::kOnce);
    EXPECT_TRUE(op.gives_the_same_bits());
    EXPECT_GE(requests(), kTeam - 1);
    fail(Resource::kThread, 0, Mode::kFromThenOn);
    EXPECT_TRUE(op.gives_the_same_bits());
    normgrad::set_threads(2);
    EXPECT_TRUE(op.gives_the_same_bits());
    EXPECT_EQ(stop_failing(), 0) << "those of the first call were not kept";
    normgrad::set_threads(kTeam);
    EXPECT_TRUE(op.gives_the_same_bits());
  });
}

TEST(Teams, AreKeptForWorkThatOccupiesFewer) {
  Operator of_many_blocks, of_two(16 * 80);
  in_new_thread([&] {
    fail(Resource::kThread, LONG_MAX, Mode::kOnce);
    EXPECT_TRUE(of_two.gives_the_same_bits());
    EXPECT_EQ(requests(), 2) << "one that is asked for and one that OpenMP creates";
    stop_failing();
  });
  in_new_thread([&] {
    EXPECT_TRUE(of_many_blocks.gives_the_same_bits());
    EXPECT_TRUE(of_two.gives_the_same_bits());
    fail(Resource::kThread, LONG_MAX, Mode::kOnce);
    EXPECT_TRUE(of_many_blocks.gives_the_same_bits());
    EXPECT_EQ(requests(), 0) << "that of two blocks has ended them";
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(of_two.gives_the_same_bits());
    EXPECT_TRUE(of_many_blocks.gives_the_same_bits());
    EXPECT_GT(requests(), 0) << "kept by fifty that had no use for them";
    stop_failing();
  });
}

// From then on means the first here: a later one fails OpenMP itself, after it was asked for with success.
TEST(Teams, AreAsLargeAsTheSystemAllows) {
  Operator op;
  for (const Mode mode : kModes) {
    for (long index = 0; index < (mode == Mode::kOnce ? kTeam - 1 : 1); ++index) {
      in_new_thread([&] {
        SCOPED_TRACE(index);
        fail(Resource::kThread, index, mode);
        for (int i = 0; i < 3; ++i) EXPECT_TRUE(op.gives_the_same_bits());
        EXPECT_GE(stop_failing(), mode == Mode::kOnce ? 1 : 3);
        fail(Resource::kThread, LONG_MAX, Mode::kOnce);
        EXPECT_TRUE(op.gives_the_same_bits());
        EXPECT_EQ(requests() > 0, mode == Mode::kFromThenOn) << "the others were asked for already";
        stop_failing();
      });
    }
  }
}

TEST(Teams, AreNotAskedForWithoutMemory) {
  Operator op;
  const long before = heap_pieces();
  in_new_thread([&] {
    // The output and the plan's own come first; what the team takes is the last piece.
    for (long index = 0;; ++index) {
      bool same = false;
      fail(Resource::kHeap, index, Mode::kOnce);
      try {
        same = op.gives_the_same_bits();
      } catch (const std::bad_alloc&) {
        stop_failing();
        continue;  // the test's own
      }
      if (stop_failing() == 0) break;
      EXPECT_TRUE(same) << "request " << index;
    }
    EXPECT_TRUE(op.gives_the_same_bits());
  });
  EXPECT_EQ(heap_pieces(), before);
}

int live_threads() {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                                        std::filesystem::directory_iterator()));
}

// One with no process but this.
bool become_another_user() {
  const uid_t user = 1000000 + static_cast<uid_t>(::getpid());
  return ::setresuid(user, user, user) == 0;
}

bool can_become_another_user() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(become_another_user() ? 0 : 1);
  int status = 1;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

// In a process of its own. OpenMP would print a message and exit with 1.
[[noreturn]] void run_with_so_many_threads(int most) {
  Operator op;
  const rlimit limit = {static_cast<rlim_t>(most), static_cast<rlim_t>(most)};
  bool ok = become_another_user() && ::setrlimit(RLIMIT_NPROC, &limit) == 0;
  ok = ok && op.gives_the_same_bits();
  const int seen = live_threads();
  // A team of two lets go of the others: they are asked for again and again.
  for (int i = 0; i < 200 && ok; ++i) {
    normgrad::set_threads(i % 2 == 0 ? 2 : kTeam);
    ok = op.gives_the_same_bits();
  }
  std::fprintf(stderr, "%d threads", seen);
  ::_exit(ok ? 0 : 2);
}

// Of a user who may have so many threads in all.
TEST(Teams, AreAsLargeAsTheKernelAllows) {
  if (!can_become_another_user()) GTEST_SKIP() << "only root can be a user without processes";
  testing::GTEST_FLAG(death_test_style) = "threadsafe";  // a new process: a forked one has no team
  EXPECT_EXIT(run_with_so_many_threads(1), testing::ExitedWithCode(0), "1 threads");
  EXPECT_EXIT(run_with_so_many_threads(2), testing::ExitedWithCode(0), "2 threads");
  EXPECT_EXIT(run_with_so_many_threads(3), testing::ExitedWithCode(0), "3 threads");
  EXPECT_EXIT(run_with_so_many_threads(100), testing::ExitedWithCode(0), "4 threads");
}

}  // namespace
}  // namespace exhaustion
