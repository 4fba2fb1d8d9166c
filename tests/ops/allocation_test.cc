// run() allocates nothing, not even the first time: malloc is counted here.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "normgrad/settings.h"
#include "normgrad/sync_batch_norm.h"
#include "ops/row_problem.h"

namespace {
std::atomic<long> allocations{0};
}

extern "C" void* __libc_malloc(std::size_t);
extern "C" void* malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}

namespace ops_test {
namespace {

TEST(Run, AllocatesNothing) {
  normgrad::set_threads(1);
  RowProblem ordinary(100, 70);
  RowProblem wide(3, 70000);
  const long before = allocations;
  const bool ok = ordinary.run() && wide.run() && ordinary.run();
  const long after = allocations;
  EXPECT_TRUE(ok);
  EXPECT_EQ(after - before, 0);
  std::free(std::malloc(1));
  EXPECT_GT(allocations, after);  // they are counted
}

// Forward and backward, but for what the engine does.
TEST(Run, OfSyncBatchNormAllocatesNothing) {
  using namespace normgrad;  // NOLINT
  set_threads(1);
  std::vector<float> x(6000, 1.5f), y(x.size()), dx(x.size());
  double mean[3], rstd[3];
  SyncProblem forward;
  forward.op = normgrad::Op::kSyncBatchNorm;
  forward[Arg::kX] = forward[Arg::kY] = {DataType::kF32, 3, {20, 3, 100}, {300, 100, 1}, "x"};
  forward[Arg::kMean] = forward[Arg::kRstd] = {DataType::kF64, 1, {3}, {1}, "mean"};
  forward.eps = 1e-5;
  SyncProblem backward;
  backward.op = normgrad::Op::kSyncBatchNormBackward;
  backward[Arg::kDx] = backward[Arg::kDy] = backward[Arg::kX] = forward[Arg::kX];
  backward[Arg::kMean] = backward[Arg::kRstd] = forward[Arg::kMean];
  SyncPlan forward_plan, backward_plan;
  ASSERT_EQ(make_plan(forward, &forward_plan), Status::kOk);
  ASSERT_EQ(make_plan(backward, &backward_plan), Status::kOk);
  std::vector<std::byte> workspace(
      std::max(forward_plan.workspace_bytes(), backward_plan.workspace_bytes()));
  Addresses in_forward;
  in_forward[Arg::kX] = x.data(), in_forward[Arg::kY] = y.data();
  in_forward[Arg::kMean] = mean, in_forward[Arg::kRstd] = rstd;
  Addresses in_backward;
  in_backward[Arg::kX] = in_backward[Arg::kDy] = x.data(), in_backward[Arg::kDx] = dx.data();
  in_backward[Arg::kMean] = mean, in_backward[Arg::kRstd] = rstd;
  const Exchange alone{[](void*, const void* part, void* parts, std::size_t bytes) {
                         std::memcpy(parts, part, bytes);
                         return 0;
                       },
                       [](void*, void*, std::size_t, DataType) { return 0; }, nullptr};
  const long before = allocations;
  const Status first = run(forward_plan, in_forward, alone, workspace.data(), workspace.size());
  const Status second = run(backward_plan, in_backward, alone, workspace.data(), workspace.size());
  const long after = allocations;
  EXPECT_EQ(first, Status::kOk);
  EXPECT_EQ(second, Status::kOk);
  EXPECT_EQ(after - before, 0);
}

}  // namespace
}  // namespace ops_test
