// fork() and other users of OpenMP in the process.
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "normgrad/settings.h"
#include "ops/row_problem.h"

namespace ops_test {
namespace {

// A child that hangs is ended by its alarm and so has no exit code.
int exit_code_of_child(RowProblem& problem, const std::vector<float>& expected) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::_exit(problem.run() && problem.dw == expected ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Fork, ChildGoesOnThoughOurThreadsAreGone) {
  normgrad::set_threads(2);
  RowProblem problem(4096, 64);
  ASSERT_TRUE(problem.run());
  const std::vector<float> expected = problem.dw;
  EXPECT_EQ(exit_code_of_child(problem, expected), 0);
  EXPECT_TRUE(problem.run());
  EXPECT_EQ(problem.dw, expected);
}

TEST(Fork, ChildGoesOnThoughAnotherLibraryUsedOpenMpFirst) {
  int threads = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
  threads += 1;
  EXPECT_EQ(threads, 2);
  RowProblem problem(4096, 64);
  RowProblem serial(4096, 64);
  normgrad::set_threads(1);
  ASSERT_TRUE(serial.run());
  normgrad::set_threads(2);
  EXPECT_EQ(exit_code_of_child(problem, serial.dw), 0);
}

// Products of extents that do not fit into 64 bits mean nothing when an extent is 0.
TEST(Empty, HugeExtentsBesideAZeroAreFine) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  normgrad::Problem problem;
  problem.op = normgrad::Op::kRmsNormBackward;
  problem[normgrad::Arg::kDx] = {
      normgrad::DataType::kF32, 3, {kHuge, kHuge, 0}, {kHuge, kHuge, 1}, "dx"};
  problem[normgrad::Arg::kDy] = problem[normgrad::Arg::kX] = problem[normgrad::Arg::kDx];
  normgrad::Plan plan;
  ASSERT_EQ(make_plan(problem, &plan), normgrad::Status::kOk);
  EXPECT_EQ(normgrad::run(plan, {}, nullptr, 0), normgrad::Status::kOk);
}

TEST(Threads, AWildSettingIsNotTakenAtItsWord) {
  EXPECT_EQ(normgrad::set_threads(1000000), 4096);
  RowProblem problem(8192, 64);
  EXPECT_TRUE(problem.run());
  normgrad::set_threads(0);
}

}  // namespace
}  // namespace ops_test
