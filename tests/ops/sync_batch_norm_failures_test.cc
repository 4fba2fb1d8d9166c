// What SyncBatchNorm refuses, before anything is exchanged, and an engine that fails: the status, the
// sentence, and nothing written.
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "normgrad/last_error.h"
#include "ops/rank_engine.h"
#include "ops/sync_rank.h"

namespace ops_test {
namespace {

using namespace normgrad;  // NOLINT: all of it is under test

struct Fixture {
  Fixture() : batch(example_batch(Format::kF32, {4, 3, 5})), engine(1), rank(batch, 0, 4, {}) {
    EXPECT_EQ(rank.forward(engine.exchange(0)), Status::kOk);  // mean and rstd for backward
    engine.calls = 0;
    rank.remember();
  }
  void expect(Status got, Status status, const std::string& sentence) {
    EXPECT_EQ(got, status) << sentence;
    EXPECT_EQ(normgradGetLastError(), sentence);
    EXPECT_EQ(engine.calls, 0) << sentence;
    EXPECT_EQ(rank.changes(), "") << sentence;
  }

  Problem batch;
  RankEngine engine;
  SyncRank rank;
};

struct Forward : Fixture {
  SyncProblem problem = rank.forward_problem();
  Addresses data = rank.forward_data();
};
struct Backward : Fixture {
  SyncProblem problem = rank.backward_problem();
  Addresses data = rank.backward_data();
};

void refuse_plan(Fixture& f, const SyncProblem& problem, Status status, const char* sentence) {
  SyncPlan plan;
  f.expect(make_plan(problem, &plan), status, sentence);
  EXPECT_FALSE(plan);  // left as it was
}

TEST(SyncBatchNormRefuses, ProblemsBeforeThePlan) {
  Forward f;
  SyncProblem p = f.problem;
  p.ranks = 0;
  refuse_plan(f, p, Status::kBadParam, "ranks is 0, but must be at least 1");
  p = f.problem, p[Arg::kX] = {};
  refuse_plan(f, p, Status::kNullPointer, "x is missing");
  p = f.problem, p[Arg::kY].dtype = DataType::kF16;
  refuse_plan(f, p, Status::kBadDtype, "y is f16, but must be f32 like x");
  p = f.problem, p[Arg::kRunningVar].shape[0] = 4;
  refuse_plan(f, p, Status::kBadShape,
              "running_var has shape (4), but must have shape (3): the channels of x, its axis 1");
  p = f.problem, p[Arg::kMean].strides[0] = 0;
  refuse_plan(f, p, Status::kBadStrides,
              "mean with shape (3) and strides (0) overlaps itself, which an output must not");
}

TEST(SyncBatchNormRefuses, BackwardProblemsBeforeThePlan) {
  Backward f;
  SyncProblem p = f.problem;
  p.ranks = -1;
  refuse_plan(f, p, Status::kBadParam, "ranks is -1, but must be at least 1");
  p = f.problem, p.sums = DataType::kF16;
  refuse_plan(f, p, Status::kBadDtype, "sums is f16, but must be f32 or f64");
  p = f.problem, p[Arg::kRstd] = {};
  refuse_plan(f, p, Status::kNullPointer, "rstd is missing");
  p = f.problem, p[Arg::kDy].shape[1] = 2;
  refuse_plan(f, p, Status::kBadShape,
              "x has shape (4, 3, 5), but must have the shape of dy, (4, 2, 5)");
}

// Batches without elements have no size of their own.
TEST(SyncBatchNormRefuses, MoreChannelsAndRanksThanMemoryCanHold) {
  Forward forward;
  SyncProblem p;
  p.op = normgrad::Op::kSyncBatchNorm;
  p[Arg::kX] = {DataType::kF32, 2, {0, std::int64_t{1} << 40}, {std::int64_t{1} << 40, 1}, "x"};
  p.ranks = std::numeric_limits<int>::max();
  refuse_plan(forward, p, Status::kBadShape,
              "1099511627776 channels on 2147483647 ranks are more than memory can hold");
  p[Arg::kY] = p[Arg::kX], p[Arg::kY].name = "y";
  p[Arg::kX].shape[1] = p[Arg::kY].shape[1] = std::int64_t{1} << 60;
  refuse_plan(forward, p, Status::kBadShape,
              "1152921504606846976 channels on 2147483647 ranks are more than memory can hold");

  Backward backward;
  SyncProblem b;
  b.op = normgrad::Op::kSyncBatchNormBackward;
  b[Arg::kX] = {DataType::kF32, 2, {0, std::int64_t{1} << 40}, {std::int64_t{1} << 40, 1}, "x"};
  b[Arg::kDy] = b[Arg::kX];
  b[Arg::kMean] = b[Arg::kRstd] = {DataType::kF32, 1, {std::int64_t{1} << 40}, {1}, "mean"};
  b.ranks = std::numeric_limits<int>::max();
  b.in_rank_order = true;
  refuse_plan(backward, b, Status::kBadShape,
              "1099511627776 channels on 2147483647 ranks are more than memory can hold");
  b[Arg::kX].shape[1] = b[Arg::kDy].shape[1] = b[Arg::kMean].shape[0] = b[Arg::kRstd].shape[0] =
      std::int64_t{1} << 60;
  refuse_plan(backward, b, Status::kBadShape,
              "1152921504606846976 channels on 2147483647 ranks are more than memory can hold");
}

void refuse_run(Fixture& f, const SyncPlan& plan, const Addresses& data, const Exchange& exchange,
                std::size_t workspace_bytes, Status status, const std::string& sentence) {
  std::vector<std::byte> workspace(plan.workspace_bytes());
  f.expect(run(plan, data, exchange, workspace.data(), workspace_bytes), status, sentence);
}

TEST(SyncBatchNormRefuses, RunsBeforeTheExchange) {
  Forward f;
  SyncPlan plan;
  ASSERT_EQ(make_plan(f.problem, &plan), Status::kOk);
  const Exchange exchange = f.engine.exchange(0);
  const std::size_t bytes = plan.workspace_bytes();
  refuse_run(f, {}, f.data, exchange, bytes, Status::kBadParam, "the plan was not made");
  refuse_run(f, plan, f.rank.backward_data(), exchange, bytes, Status::kNullPointer, "y is null");
  refuse_run(f, plan, f.data, {}, bytes, Status::kNullPointer, "all_gather is null");
  refuse_run(f, plan, f.data, exchange, bytes - 1, Status::kSmallWorkspace,
             "workspace_size is " + std::to_string(bytes - 1) + " bytes, but " +
                 std::to_string(bytes) + " are needed");
  Addresses data = f.data;
  data[Arg::kX] = nullptr;
  refuse_run(f, plan, data, exchange, bytes, Status::kNullPointer, "x is null");
  data = f.data, data[Arg::kY] = static_cast<const float*>(f.data[Arg::kY]) + 1,
  data[Arg::kX] = f.data[Arg::kY];
  refuse_run(f, plan, data, exchange, bytes, Status::kBadParam,
             "y overlaps x: an output must lie apart from the inputs or exactly in place of one");
  data = f.data, data[Arg::kRstd] = data[Arg::kMean];
  refuse_run(f, plan, data, exchange, bytes, Status::kBadParam,
             "mean and rstd overlap, but outputs must not");
}

TEST(SyncBatchNormRefuses, BackwardRunsBeforeTheExchange) {
  for (const bool in_rank_order : {false, true}) {
    Backward f;
    SyncPlan plan;
    f.problem.in_rank_order = in_rank_order;
    ASSERT_EQ(make_plan(f.problem, &plan), Status::kOk);
    Exchange exchange = f.engine.exchange(0);
    const std::size_t bytes = plan.workspace_bytes();
    refuse_run(f, {}, f.data, exchange, bytes, Status::kBadParam, "the plan was not made");
    Addresses data = f.data;
    data[Arg::kRstd] = nullptr;
    refuse_run(f, plan, data, exchange, bytes, Status::kNullPointer, "rstd is null");
    (in_rank_order ? exchange.all_gather = nullptr : (exchange.all_reduce = nullptr, nullptr));
    refuse_run(f, plan, f.data, exchange, bytes, Status::kNullPointer,
               in_rank_order ? "all_gather is null" : "all_reduce is null");
  }
}

TEST(SyncBatchNormRefuses, ToBePlannedWithoutAnExchangeAndOthersWithOne) {
  Forward f;
  Plan plan;
  f.expect(make_plan(static_cast<const normgrad::Problem&>(f.problem), &plan), Status::kBadParam,
           "SyncBatchNorm is not run without an exchange: make a SyncPlan of it");
  f.problem.op = normgrad::Op::kBatchNorm;
  refuse_plan(f, f.problem, Status::kBadParam, "BatchNorm has no exchange: make a Plan of it");
}

TEST(SyncBatchNormFailure, OfAnExchangeIsAStatusAndWritesNothing) {
  Fixture f;
  f.engine.refused_call = 0;
  EXPECT_EQ(f.rank.forward(f.engine.exchange(0)), Status::kExchangeFailed);
  EXPECT_STREQ(normgradGetLastError(), "all_gather failed: it answered 7");
  EXPECT_EQ(f.rank.changes(), "");
  for (const bool in_rank_order : {false, true}) {
    SyncRank rank(f.batch, 0, 4, {1, false, in_rank_order});
    f.engine.calls = 0, f.engine.refused_call = 1;
    ASSERT_EQ(rank.forward(f.engine.exchange(0)), Status::kOk);
    rank.remember();
    EXPECT_EQ(rank.backward(f.engine.exchange(0)), Status::kExchangeFailed);
    EXPECT_EQ(f.engine.calls, 2);
    EXPECT_STREQ(normgradGetLastError(), in_rank_order ? "all_gather failed: it answered 7"
                                                       : "all_reduce failed: it answered 7");
    EXPECT_EQ(rank.changes(), "");
  }
}

// Of three ranks the last one ends between forward and backward: the others hear of it from their
// engine, when its time is up, and have nothing written.
TEST(SyncBatchNormFailure, OfARankThatDiesIsOneOfTheOthersWithinTheTimeout) {
  const Problem batch = example_batch(Format::kF32, {6, 3, 5});
  RankEngine engine(3);
  std::vector<SyncRank> ranks;
  for (std::size_t r = 0; r < 3; ++r) ranks.emplace_back(batch, 2 * r, 2 * r + 2, SyncOptions{3});
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < 3; ++r) {
    threads.emplace_back([&, r] { EXPECT_EQ(ranks[r].forward(engine.exchange(r)), Status::kOk); });
  }
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  engine.timeout = std::chrono::milliseconds(300);
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      ranks[r].remember();
      EXPECT_EQ(ranks[r].backward(engine.exchange(r)), Status::kExchangeFailed);
      EXPECT_STREQ(normgradGetLastError(), "all_reduce failed: it answered 110");
      EXPECT_EQ(ranks[r].changes(), "");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

}  // namespace
}  // namespace ops_test
