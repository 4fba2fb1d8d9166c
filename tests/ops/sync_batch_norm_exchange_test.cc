// SyncBatchNorm of a batch in parts, one for each rank, has every element of BatchNorm of the whole:
// ranks are threads here, with an engine between them that gathers and adds.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "normgrad/plan.h"
#include "ops/expectations.h"
#include "ops/rank_engine.h"
#include "ops/sync_rank.h"

namespace ops_test {
namespace {

using normgrad::Status;
using reference::Expected;
using reference::Output;
using reference::Quad;
using Rows = std::vector<std::size_t>;  // of every rank
using Shape = std::vector<std::int64_t>;

std::vector<SyncRank> make_ranks(const Problem& batch, const Rows& rows, SyncOptions options) {
  options.ranks = static_cast<int>(rows.size());
  std::vector<SyncRank> out;
  std::size_t begin = 0;
  for (const std::size_t count : rows) {
    out.emplace_back(batch, begin, begin + count, options);
    begin += count;
  }
  return out;
}

// Forward and backward on all ranks, each in a thread; threads start in the order of `arrival`.
void train(std::vector<SyncRank>& ranks, RankEngine& engine,
           std::vector<std::size_t> arrival = {}) {
  for (std::size_t r = arrival.size(); r < ranks.size(); ++r) arrival.push_back(r);
  std::vector<std::thread> threads;
  for (const std::size_t r : arrival) {
    threads.emplace_back([&, r] {
      EXPECT_EQ(ranks[r].forward(engine.exchange(r)), Status::kOk) << "rank " << r;
      EXPECT_EQ(ranks[r].backward(engine.exchange(r)), Status::kOk) << "rank " << r;
    });
  }
  for (std::thread& thread : threads) thread.join();
}

struct Check {
  const Problem& batch;
  SyncOptions options;

  reference::Rule rule(SyncRank& rank, Slot slot, Output which) const {
    return {reference::Arithmetic::kFast, which, rank.format(slot), batch.tensor[kX].format};
  }

  // Elements [offset, offset + size) of what is expected. further: of T, besides the bound.
  void output(SyncRank& rank, Slot slot, const Expected& expected, std::size_t offset, Output which,
              double further = 0) const {
    const Values got = rank.values(slot);
    ASSERT_LE(offset + got.size(), expected.value.size()) << name(slot);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const Quad T = expected.scale[offset + i];
      const reference::Verdict verdict = reference::within_bound(
          got[i], expected.value[offset + i], T, rule(rank, slot, which), Quad{further} * T);
      ASSERT_TRUE(verdict.pass) << name(slot) << "[" << offset + i << "]: got " << got[i]
                                << ", expected " << static_cast<double>(expected.value[offset + i])
                                << ", error " << verdict.error << ", allowed " << verdict.allowance;
    }
  }

  void forward(std::vector<SyncRank>& ranks) const {
    Problem whole = batch;
    whole.tensor[kDy] = {}, whole.value[kDy] = {};
    const reference::Forward exact = reference_forward(whole);
    std::size_t offset = 0;
    for (SyncRank& rank : ranks) {
      output(rank, kY, exact.y, offset, Output::kElement);
      output(rank, kMeanOut, exact.mean, 0, Output::kStatistic);
      output(rank, kRstdOut, exact.rstd, 0, Output::kStatistic);
      output(rank, kRunningMean, exact.running_mean, 0, Output::kStatistic);
      output(rank, kRunningVar, exact.running_var, 0, Output::kStatistic);
      EXPECT_EQ(rank.bits(kMeanOut), ranks[0].bits(kMeanOut));
      EXPECT_EQ(rank.bits(kRstdOut), ranks[0].bits(kRstdOut));
      offset += rank.bits(kX).size();
    }
  }

  reference::Gradients gradients(SyncRank& rank, const Values& x, const Values& dy) const {
    const Shape& shape = batch.tensor[kX].shape;
    const auto channels = static_cast<std::size_t>(shape[1]);
    const auto inner = static_cast<std::size_t>(shape.size() > 2 ? shape[2] : 1);
    return reference::batch_norm_backward({x.size() / channels / inner,
                                           channels,
                                           inner,
                                           dy,
                                           x,
                                           batch.value[kW],
                                           rank.values(kMeanOut),
                                           rank.values(kRstdOut),
                                           {}});
  }

  // dx is that of the whole batch, dw and db are those of the part and add up to those of the whole,
  // for the mean and rstd that forward has stored.
  void backward(std::vector<SyncRank>& ranks) const {
    const reference::Gradients exact = gradients(ranks[0], batch.value[kX], batch.value[kDy]);
    std::size_t offset = 0;
    Sum dw(exact.dw.value.size()), db(exact.db.value.size());
    for (SyncRank& rank : ranks) {
      output(rank, kDx, exact.dx, offset, Output::kElement, options.f32_sums ? 0x1p-22 : 0);
      const reference::Gradients part = gradients(rank, rank.values(kX), rank.values(kDy));
      output(rank, kDw, part.dw, 0, Output::kSum);
      output(rank, kDb, part.db, 0, Output::kSum);
      add(rank, kDw, part.dw, dw);
      add(rank, kDb, part.db, db);
      offset += rank.bits(kX).size();
    }
    expect_sum(dw, exact.dw, "dw");
    expect_sum(db, exact.db, "db");
  }

  // What all ranks together have, and how far off that may be.
  struct Sum {
    explicit Sum(std::size_t size) : value(size), allowance(size) {}
    std::vector<Quad> value, allowance;
  };
  void add(SyncRank& rank, Slot slot, const Expected& part, Sum& sum) const {
    const Values got = rank.values(slot);
    for (std::size_t c = 0; c < got.size(); ++c) {
      sum.value[c] += got[c];
      sum.allowance[c] += reference::within_bound(got[c], part.value[c], part.scale[c],
                                                  rule(rank, slot, Output::kSum))
                              .allowance;
    }
  }
  static void expect_sum(const Sum& sum, const Expected& whole, const char* what) {
    for (std::size_t c = 0; c < sum.value.size(); ++c) {
      if (!reference::is_finite(whole.value[c])) continue;
      EXPECT_LE(static_cast<double>(reference::magnitude(sum.value[c] - whole.value[c])),
                static_cast<double>(sum.allowance[c]))
          << what << "[" << c << "]";
    }
  }
};

void expect_whole(const Problem& batch, const Rows& rows, const SyncOptions& options) {
  SCOPED_TRACE(describe(batch.tensor[kX]) + " on ranks with " + testing::PrintToString(rows) +
               (options.f32_sums ? ", f32 sums" : "") +
               (options.in_rank_order ? ", in rank order" : ""));
  std::vector<SyncRank> ranks = make_ranks(batch, rows, options);
  RankEngine engine(static_cast<int>(rows.size()));
  train(ranks, engine);
  EXPECT_EQ(engine.calls, static_cast<int>(2 * rows.size()));  // one exchange in each direction
  const Check check{batch, options};
  check.forward(ranks);
  check.backward(ranks);
}

// Even, uneven, empty parts, one rank alone.
const Rows kSplits[] = {{7},    {4, 3},       {6, 1},       {7, 0},
                        {0, 7}, {2, 1, 4, 0}, {0, 5, 0, 2}, {2, 2, 2, 1}};

class SyncBatchNormExchange : public testing::TestWithParam<Format> {
 protected:
  Format data() const { return GetParam(); }
};

TEST_P(SyncBatchNormExchange, HasEveryElementOfTheWhole) {
  for (const Shape& shape : {Shape{7, 5, 45}, Shape{7, 40}, Shape{7, 2, 900}}) {
    const Problem batch = example_batch(data(), shape);
    for (const Rows& rows : kSplits) {
      for (const bool f32_sums : {false, true}) {
        for (const bool in_rank_order : {false, true}) {
          expect_whole(batch, rows, {1, f32_sums, in_rank_order});
        }
      }
    }
  }
}

TEST_P(SyncBatchNormExchange, HasEveryElementOfTheWholeWhereDataHurts) {
  for (const DataClass data_class :
       {DataClass::kOffset100, DataClass::kOffset10000, DataClass::kCancelling, DataClass::kTails,
        DataClass::kConstantGroup, DataClass::kOneHot, DataClass::kSpecial, DataClass::kZeros}) {
    SCOPED_TRACE(name(data_class));
    const Problem batch = example_batch(data(), {7, 6, 90}, data_class);
    for (const Rows& rows : {Rows{6, 1}, Rows{2, 1, 4, 0}}) {
      for (const bool f32_sums : {false, true}) expect_whole(batch, rows, {1, f32_sums, false});
    }
  }
}

// A variance that is far below eps: 1/rstd^2 - eps would have none of its digits.
TEST_P(SyncBatchNormExchange, HasTheRunningVarianceOfTheWholeBesideALargeEps) {
  Problem batch = example_batch(data(), {7, 5, 45});
  batch.eps = 1e12;
  expect_whole(batch, {4, 3}, {});
}

// Nearly all x are 2^23, a few 2^23 + 1: x - mean is small beside half an ulp of the f64 mean, and so
// is the distance of the parts' means. What rounding leaves of them has to be there.
TEST(SyncBatchNormOfF32, HasEveryElementOfTheWholeFarFromZero) {
  Problem batch = example_batch(Format::kF32, {7, 40, 45});
  for (std::size_t i = 0; i < batch.value[kX].size(); ++i) {
    const std::size_t channel = i / 45 % 40;
    batch.value[kX][i] = 0x1p23 + (i % 45 + i / 1800 * 45 <= 5 * channel ? 1 : 0);
  }
  for (double& b : batch.value[kB]) b = 0;
  for (const Rows& rows : kSplits) expect_whole(batch, rows, {});
}

// More elements than a digit of the count holds.
TEST_P(SyncBatchNormExchange, HasEveryElementOfALargeWhole) {
  const Problem batch = example_batch(data(), {4, 1, 40000});
  for (const bool f32_sums : {false, true}) expect_whole(batch, {1, 3}, {1, f32_sums, f32_sums});
}

// 2^24 + 1 elements at one address.
TEST(SyncBatchNormOfF32, SendsACountThatF32HasNot) {
  constexpr std::int64_t kCount = (std::int64_t{1} << 24) + 1;
  const float x = 1;
  const double mean = 0, rstd = 1;
  normgrad::SyncProblem p;
  p.op = normgrad::Op::kSyncBatchNormBackward;
  p[normgrad::Arg::kX] =
      p[normgrad::Arg::kDy] = {normgrad::DataType::kF32, 3, {1, 1, kCount}, {0, 0, 0}, "x"};
  p[normgrad::Arg::kMean] =
      p[normgrad::Arg::kRstd] = {normgrad::DataType::kF64, 1, {1}, {1}, "mean"};
  p.sums = normgrad::DataType::kF32;
  normgrad::SyncPlan plan;
  ASSERT_EQ(make_plan(p, &plan), Status::kOk);
  normgrad::Addresses in;
  in[normgrad::Arg::kX] = in[normgrad::Arg::kDy] = &x, in[normgrad::Arg::kMean] = &mean,
  in[normgrad::Arg::kRstd] = &rstd;
  std::vector<float> sent;
  const normgrad::Exchange exchange{
      nullptr,
      [](void* context, void* sums, std::size_t count, normgrad::DataType) {
        const float* const first = static_cast<float*>(sums);
        static_cast<std::vector<float>*>(context)->assign(first, first + count);
        return 0;
      },
      &sent};
  std::vector<std::byte> workspace(plan.workspace_bytes());
  ASSERT_EQ(run(plan, in, exchange, workspace.data(), workspace.size()), Status::kOk);
  EXPECT_EQ(sent, (std::vector<float>{0x1p24f, 0x1p24f, 1, 256, 0, 0}));
}

TEST_P(SyncBatchNormExchange, OfOneRankIsBatchNormToTheBit) {
  for (const DataClass data_class : {DataClass::kNormal, DataClass::kOffset10000}) {
    const Problem batch = example_batch(data(), {7, 5, 45}, data_class);
    std::vector<SyncRank> ranks = make_ranks(batch, {7}, {});
    RankEngine engine(1);
    train(ranks, engine);
    Problem plain = batch;
    plain.tensor[kDy] = {}, plain.value[kDy] = {};
    for (const Slot slot : {kMeanOut, kRstdOut}) plain.tensor[slot].format = Format::kF64;
    const Outputs expected = run(plain);
    for (const Slot slot : {kY, kMeanOut, kRstdOut, kRunningMean, kRunningVar}) {
      EXPECT_EQ(ranks[0].bits(slot), expected.bits[slot]) << name(slot);
    }
    Problem backward = example(Form::kBatchNormTraining, data(), {7, 5, 45});
    for (const Slot slot : {kDw, kDb, kW}) backward.tensor[slot].format = Format::kF32;
    for (const Slot slot : {kMean, kRstd}) backward.tensor[slot].format = Format::kF64;
    for (const Slot slot : {kX, kDy, kW}) backward.value[slot] = batch.value[slot];
    backward.value[kMean] = ranks[0].values(kMeanOut);
    backward.value[kRstd] = ranks[0].values(kRstdOut);
    const Outputs gradients = run(backward);
    for (const Slot slot : {kDx, kDw, kDb}) {
      EXPECT_EQ(ranks[0].bits(slot), gradients.bits[slot]) << name(slot);
    }
  }
}

// One constant channel must not bring the others, which lie beside it, to the exact kernels.
TEST_P(SyncBatchNormExchange, OfOneRankIsBatchNormToTheBitBesideAConstantChannel) {
  Problem batch = example_batch(data(), {70, 40});
  for (std::size_t i = 3; i < batch.value[kX].size(); i += 40) batch.value[kX][i] = 0.5;
  std::vector<SyncRank> ranks = make_ranks(batch, {70}, {});
  RankEngine engine(1);
  train(ranks, engine);
  batch.tensor[kDy] = {}, batch.value[kDy] = {};
  for (const Slot slot : {kMeanOut, kRstdOut}) batch.tensor[slot].format = Format::kF64;
  const Outputs expected = run(batch);
  for (const Slot slot : {kY, kMeanOut, kRstdOut}) {
    EXPECT_EQ(ranks[0].bits(slot), expected.bits[slot]) << name(slot);
  }
}

// Mean 0, rstd NaN, running statistics as they were; dw and db are empty sums.
TEST_P(SyncBatchNormExchange, OfNothingIsDefined) {
  for (const Rows& rows : {Rows{0}, Rows{0, 0, 0}}) {
    const Problem batch = example_batch(data(), {0, 3, 5});
    std::vector<SyncRank> ranks = make_ranks(batch, rows, {});
    RankEngine engine(static_cast<int>(rows.size()));
    train(ranks, engine);
    for (SyncRank& rank : ranks) {
      EXPECT_EQ(rank.values(kMeanOut), Values(3, 0));
      for (const double rstd : rank.values(kRstdOut)) EXPECT_TRUE(std::isnan(rstd));
      for (const Slot slot : {kRunningMean, kRunningVar}) {
        EXPECT_EQ(rank.values(slot), batch.value[slot]) << name(slot);
      }
      for (const Slot slot : {kDw, kDb}) EXPECT_EQ(rank.values(slot), Values(3, 0)) << name(slot);
    }
  }
}

// One element in all: an unbiased variance of nothing by nothing.
TEST_P(SyncBatchNormExchange, OfOneElementHasARunningVarianceOfNaN) {
  const Problem batch = example_batch(data(), {1, 3});
  std::vector<SyncRank> ranks = make_ranks(batch, {0, 1}, {});
  RankEngine engine(2);
  train(ranks, engine);
  for (SyncRank& rank : ranks) {
    for (const double var : rank.values(kRunningVar)) EXPECT_TRUE(std::isnan(var));
  }
}

std::vector<Bits> all_bits(std::vector<SyncRank>& ranks) {
  std::vector<Bits> out;
  for (SyncRank& rank : ranks) {
    for (const Slot slot : {kY, kMeanOut, kRstdOut, kRunningMean, kRunningVar, kDx, kDw, kDb}) {
      out.push_back(rank.bits(slot));
    }
  }
  return out;
}

// However the engine adds, and whoever comes first. That the data would show another order is seen
// where the engine's order counts.
TEST_P(SyncBatchNormExchange, HasTheSameBitsInRankOrder) {
  const Problem batch = example_batch(data(), {40, 30, 3}, DataClass::kTails);
  const Rows rows{11, 17, 0, 12};
  for (const bool f32_sums : {false, true}) {
    for (const bool in_rank_order : {true, false}) {
      bool differs = false;
      std::vector<Bits> first;
      std::vector<std::size_t> order{0, 1, 2, 3};
      do {
        std::vector<SyncRank> ranks = make_ranks(batch, rows, {1, f32_sums, in_rank_order});
        RankEngine engine(4);
        engine.order = order;
        train(ranks, engine, order);
        if (first.empty()) first = all_bits(ranks);
        differs |= all_bits(ranks) != first;
      } while (std::next_permutation(order.begin(), order.end()));
      if (in_rank_order) {
        EXPECT_FALSE(differs);
      } else if (f32_sums && data() == Format::kF32) {  // elsewhere the rounding of dx hides it
        EXPECT_TRUE(differs);
      }
    }
  }
}

// y in place of x, dx of dy, and the small outputs of small inputs, which are still to be read then.
TEST_P(SyncBatchNormExchange, HasTheSameBitsInPlace) {
  const Problem batch = example_batch(data(), {7, 5, 45});
  const auto options = SyncOptions{1, false, false, Format::kF64};
  std::vector<SyncRank> apart = make_ranks(batch, {4, 3}, options);
  std::vector<SyncRank> forward = make_ranks(batch, {4, 3}, options);
  std::vector<SyncRank> backward = make_ranks(batch, {4, 3}, options);
  for (SyncRank& rank : forward) {
    rank.share(kY, kX), rank.share(kMeanOut, kW), rank.share(kRstdOut, kB);
  }
  for (SyncRank& rank : backward) {
    rank.share(kDx, kDy), rank.share(kDw, kW), rank.share(kDb, kMeanOut);
  }
  for (std::vector<SyncRank>* ranks : {&apart, &forward, &backward}) {
    RankEngine engine(2);
    train(*ranks, engine);
  }
  for (std::size_t r = 0; r < 2; ++r) {
    for (const Slot slot : {kY, kMeanOut, kRstdOut, kRunningMean, kRunningVar}) {
      EXPECT_EQ(forward[r].bits(slot), apart[r].bits(slot)) << name(slot);
    }
    for (const Slot slot : {kDx, kDw, kDb}) {
      EXPECT_EQ(backward[r].bits(slot), apart[r].bits(slot)) << name(slot);
    }
  }
}

// A rank takes part in the exchange whatever it wants of it.
TEST_P(SyncBatchNormExchange, HasTheSameBitsWithOutputsLeftOut) {
  const Problem batch = example_batch(data(), {7, 5, 45});
  std::vector<SyncRank> all = make_ranks(batch, {4, 3}, {}), some = make_ranks(batch, {4, 3}, {});
  RankEngine engine(2);
  train(all, engine);
  for (SyncRank& rank : some) rank.remember();
  const auto train_some = [&](std::size_t r) {
    SyncRank& rank = some[r];
    normgrad::SyncProblem forward = rank.forward_problem();
    normgrad::SyncProblem backward = rank.backward_problem();
    if (r == 0)
      forward[normgrad::Arg::kY] = forward[normgrad::Arg::kRunningMean] =
          backward[normgrad::Arg::kDx] = backward[normgrad::Arg::kDb] = {};
    normgrad::SyncPlan plan;
    std::vector<std::byte> workspace;
    ASSERT_EQ(make_plan(forward, &plan), Status::kOk);
    workspace.resize(plan.workspace_bytes());
    ASSERT_EQ(
        run(plan, rank.forward_data(), engine.exchange(r), workspace.data(), workspace.size()),
        Status::kOk);
    ASSERT_EQ(make_plan(backward, &plan), Status::kOk);
    workspace.resize(plan.workspace_bytes());
    ASSERT_EQ(
        run(plan, rank.backward_data(), engine.exchange(r), workspace.data(), workspace.size()),
        Status::kOk);
  };
  std::thread other([&] { train_some(1); });
  train_some(0);
  other.join();
  for (const Slot slot : {kY, kMeanOut, kRstdOut, kRunningMean, kRunningVar, kDx, kDw, kDb}) {
    EXPECT_EQ(some[1].bits(slot), all[1].bits(slot)) << name(slot);
    const bool left_out = slot == kY || slot == kRunningMean || slot == kDx || slot == kDb;
    if (left_out) {
      EXPECT_EQ(some[0].storage(slot).changes(false), "") << name(slot);
    } else {
      EXPECT_EQ(some[0].bits(slot), all[0].bits(slot)) << name(slot);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Data, SyncBatchNormExchange, testing::ValuesIn(kDataFormats),
                         [](const auto& param_info) {
                           return reference::facts(param_info.param).name;
                         });

}  // namespace
}  // namespace ops_test
