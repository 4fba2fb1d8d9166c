// What the C++ contract refuses, and no C API lets through to it: the status, the sentence, and a plan left as it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "normgrad/last_error.h"
#include "normgrad/plan.h"

namespace ops_test {
namespace {

using namespace normgrad;  // NOLINT: all of it is under test
constexpr std::int64_t kHuge = std::int64_t{1} << 61;

Tensor tensor(const char* name, std::initializer_list<std::int64_t> shape,
              DataType dtype = DataType::kF32) {
  Tensor out{dtype, static_cast<int>(shape.size()), {}, {}, name};
  std::copy(shape.begin(), shape.end(), out.shape);
  std::int64_t stride = 1;
  for (int d = out.rank - 1; d >= 0; --d) {
    out.strides[d] = stride;
    stride *= std::max<std::int64_t>(out.shape[d] % kHuge, 1);
  }
  return out;
}

template <Op kOp>
Problem valid();
template <>
Problem valid<Op::kLayerNormBackward>() {
  Problem p;
  p.op = Op::kLayerNormBackward;
  p[Arg::kDx] = tensor("dx", {4, 5}), p[Arg::kDy] = tensor("dy", {4, 5}),
  p[Arg::kX] = tensor("x", {4, 5});
  p[Arg::kMean] = tensor("mean", {4}), p[Arg::kRstd] = tensor("rstd", {4}),
  p[Arg::kW] = tensor("w", {5});
  return p;
}
template <>
Problem valid<Op::kLayerNorm>() {
  Problem p;
  p.op = Op::kLayerNorm;
  p[Arg::kY] = tensor("y", {4, 5}), p[Arg::kX] = tensor("x", {4, 5}), p[Arg::kW] = tensor("w", {5});
  p[Arg::kMean] = tensor("mean", {4}), p[Arg::kRstd] = tensor("rstd", {4}),
  p[Arg::kB] = tensor("b", {5});
  return p;
}
template <>
Problem valid<Op::kRmsNorm>() {
  Problem p;
  p.op = Op::kRmsNorm;
  p[Arg::kY] = tensor("y", {4, 5}), p[Arg::kX] = tensor("x", {4, 5}),
  p[Arg::kRstd] = tensor("rstd", {4});
  return p;
}
template <>
Problem valid<Op::kBatchNormBackward>() {
  Problem p;
  p.op = Op::kBatchNormBackward;
  p[Arg::kDx] = tensor("dx", {4, 3, 2}), p[Arg::kDy] = tensor("dy", {4, 3, 2}),
  p[Arg::kX] = tensor("x", {4, 3, 2});
  p[Arg::kRstd] = tensor("rstd", {3});
  return p;
}
template <>
Problem valid<Op::kBatchNorm>() {
  Problem p;
  p.op = Op::kBatchNorm;
  p[Arg::kY] = tensor("y", {4, 3, 2}), p[Arg::kX] = tensor("x", {4, 3, 2});
  p[Arg::kMean] = tensor("mean", {3}), p[Arg::kVar] = tensor("var", {3});
  p.training = false;
  return p;
}
template <>
Problem valid<Op::kBatchNormElemtBackward>() {
  Problem p;
  p.op = Op::kBatchNormElemtBackward;
  p[Arg::kDx] = tensor("dx", {4, 3, 2}), p[Arg::kDy] = tensor("dy", {4, 3, 2}),
  p[Arg::kX] = tensor("x", {4, 3, 2});
  p[Arg::kSumDy] = tensor("sum_dy", {3}), p[Arg::kSumDyXmu] = tensor("sum_dy_xmu", {3});
  p[Arg::kCounts] = tensor("counts", {2}, DataType::kI32);
  return p;
}
template <>
Problem valid<Op::kBatchNormGatherStats>() {
  Problem p;
  p.op = Op::kBatchNormGatherStats;
  p[Arg::kMean] = tensor("mean", {2, 3}), p[Arg::kRstd] = tensor("rstd", {2, 3}),
  p[Arg::kCounts] = tensor("counts", {2});
  p[Arg::kMeanAll] = tensor("mean_all", {3}), p[Arg::kRstdAll] = tensor("rstd_all", {3});
  return p;
}

template <Op kOp>
void expect_refused(void (*spoil)(Problem&), Status status, const std::string& sentence) {
  Problem problem = valid<kOp>();
  Plan plan;
  ASSERT_EQ(make_plan(problem, &plan), Status::kOk) << normgradGetLastError();
  const PlanBody* const before = plan.body();
  spoil(problem);
  EXPECT_EQ(make_plan(problem, &plan), status) << sentence;
  EXPECT_EQ(normgradGetLastError(), sentence);
  EXPECT_EQ(plan.body(), before) << sentence;
}

TEST(Refusals, OfLayerNormBackward) {
  const auto refused = expect_refused<Op::kLayerNormBackward>;
  constexpr char kEither[] = "either x_hat and sigma must be given, or x, mean and rstd";
  constexpr char kTogether[] = "x, mean and rstd must be given together";
  refused([](Problem& p) { p[Arg::kXHat] = p[Arg::kX]; }, Status::kNullPointer, kEither);
  refused([](Problem& p) { p[Arg::kSigma] = p[Arg::kRstd]; }, Status::kNullPointer, kEither);
  refused([](Problem& p) { p[Arg::kX] = {}; }, Status::kNullPointer, kEither);
  refused([](Problem& p) { p[Arg::kMean] = {}; }, Status::kNullPointer, kTogether);
  refused([](Problem& p) { p[Arg::kRstd] = {}; }, Status::kNullPointer, kTogether);
  refused([](Problem& p) { p[Arg::kDy].dtype = DataType::kNone; }, Status::kNullPointer,
          "dy is missing");
  refused([](Problem& p) { p[Arg::kDy].dtype = DataType::kF64; }, Status::kBadDtype,
          "dy is f64, but must be f16, bf16 or f32");
  refused([](Problem& p) { p[Arg::kX].dtype = DataType::kF64; }, Status::kBadDtype,
          "x is f64, but must be f16, bf16 or f32");
  refused([](Problem& p) { p[Arg::kW].dtype = DataType::kF64; }, Status::kBadDtype,
          "w is f64, but must be f16, bf16 or f32");
  refused([](Problem& p) { p[Arg::kMean].dtype = DataType::kI32; }, Status::kBadDtype,
          "mean is i32, but must be f16, bf16, f32 or f64");
  refused([](Problem& p) { p.row_axes = 0; }, Status::kBadParam,
          "rows have 0 axes, but dy with shape (4, 5) has 2");
  refused([](Problem& p) { p.row_axes = 3; }, Status::kBadParam,
          "rows have 3 axes, but dy with shape (4, 5) has 2");
  refused([](Problem& p) { p.row_axes = 2; }, Status::kBadShape,
          "w has shape (5), but must have shape (4, 5), that of a row of dy");
  refused([](Problem& p) { p[Arg::kScale] = tensor("scale", {4}); }, Status::kBadShape,
          "scale has shape (4), but must have the shape of a row of dy, (5), that of dy, or this "
          "with its axis 0 missing or 1");
}

TEST(Refusals, OfRowsThatNoMemoryHolds) {
  const auto refused = expect_refused<Op::kLayerNormBackward>;
  refused([](Problem& p) { p[Arg::kDy].rank = 0; }, Status::kBadShape,
          "dy is a scalar, but must have rows");
  refused([](Problem& p) { p[Arg::kDx].strides[0] = kHuge; }, Status::kBadShape,
          "dx with shape (4, 5) and strides (2305843009213693952, 1) is larger than memory can be");
  refused(
      [](Problem& p) {
        for (Tensor* t : {&p[Arg::kDx], &p[Arg::kDy], &p[Arg::kX]}) t->shape[0] = -4;
        p[Arg::kMean].shape[0] = p[Arg::kRstd].shape[0] = -4;
      },
      Status::kBadShape, "dx with shape (-4, 5) and strides (5, 1) is larger than memory can be");
  refused(
      [](Problem& p) {
        for (Tensor* t : {&p[Arg::kDx], &p[Arg::kDy], &p[Arg::kX]})
          t->shape[0] = 0, t->shape[1] = kHuge;
        p[Arg::kMean].shape[0] = p[Arg::kRstd].shape[0] = 0;
        p[Arg::kW] = {};
      },
      Status::kBadShape,
      "dy with shape (0, 2305843009213693952) has more columns than memory can hold");
}

TEST(Refusals, OfBatchNormBackward) {
  const auto refused = expect_refused<Op::kBatchNormBackward>;
  refused([](Problem& p) { p[Arg::kVar] = p[Arg::kRstd]; }, Status::kBadParam,
          "rstd and var must not both be given");
  refused([](Problem& p) { p[Arg::kDy] = tensor("dy", {4}); }, Status::kBadShape,
          "dy has shape (4), but must have rank 2 to 8");
  refused([](Problem& p) { p.channel_axis = 3; }, Status::kBadParam,
          "the channel axis is 3, but dy has rank 3");
  refused([](Problem& p) { p.channel_axis = -1; }, Status::kBadParam,
          "the channel axis is -1, but dy has rank 3");
  refused([](Problem& p) { p[Arg::kX] = {}; }, Status::kNullPointer, "x is missing");
  refused([](Problem& p) { p[Arg::kW] = tensor("w", {3}, DataType::kOther); }, Status::kBadDtype,
          "w is a type that is none of f16, bf16, f32, but must be f16, bf16, f32 or f64");
}

TEST(Refusals, OfRowNormsForward) {
  const auto refused = expect_refused<Op::kLayerNorm>;
  refused([](Problem& p) { p[Arg::kX] = {}; }, Status::kNullPointer, "x is missing");
  refused([](Problem& p) { p[Arg::kX].dtype = DataType::kF64; }, Status::kBadDtype,
          "x is f64, but must be f16, bf16 or f32");
  refused([](Problem& p) { p[Arg::kY].dtype = DataType::kF64; }, Status::kBadDtype,
          "y is f64, but must be f16, bf16 or f32");
  refused(
      [](Problem& p) {
        p[Arg::kY] = tensor("y", {5, 4});
      },
      Status::kBadShape, "y has shape (5, 4), but must have the shape of x, (4, 5)");
  refused([](Problem& p) { p[Arg::kB] = tensor("b", {4}); }, Status::kBadShape,
          "b has shape (4), but must have shape (5), the length of a row of x");
  refused([](Problem& p) { p[Arg::kMean] = tensor("mean", {5}); }, Status::kBadShape,
          "mean has shape (5), but must have shape (4), that of x without the last dimension");
  refused([](Problem& p) { p[Arg::kRstd].strides[0] = 0; }, Status::kBadStrides,
          "rstd with shape (4) and strides (0) overlaps itself, which an output must not");
  expect_refused<Op::kRmsNorm>([](Problem& p) { p[Arg::kX] = tensor("x", {}); }, Status::kBadShape,
                               "x is a scalar, but must have rows");
}

TEST(Refusals, OfBatchNorm) {
  const auto refused = expect_refused<Op::kBatchNorm>;
  refused([](Problem& p) { p[Arg::kRstd] = p[Arg::kVar]; }, Status::kBadParam,
          "rstd and var must not both be given");
  refused([](Problem& p) { p[Arg::kRunningMean] = p[Arg::kMean]; }, Status::kBadParam,
          "given statistics update no running ones");
  refused([](Problem& p) { p[Arg::kRunningVar] = p[Arg::kMean]; }, Status::kBadParam,
          "given statistics update no running ones");
  refused([](Problem& p) { p[Arg::kSum] = p[Arg::kMean]; }, Status::kBadParam,
          "with given statistics no sum or squares are computed");
  refused([](Problem& p) { p.training = true, p[Arg::kMeanRest] = p[Arg::kMean]; },
          Status::kBadParam, "mean_rest belongs to a given mean, but training computes it");
  refused([](Problem& p) { p[Arg::kY].strides[0] = 1; }, Status::kBadStrides,
          "y with shape (4, 3, 2) and strides (1, 2, 1) overlaps itself, which an output must not");
}

template <>
Problem valid<Op::kRmsNormBackward>() {
  Problem p;
  p.op = Op::kRmsNormBackward;
  p[Arg::kDx] = tensor("dx", {4, 5}), p[Arg::kDy] = tensor("dy", {4, 5});
  p[Arg::kX] = tensor("x", {4, 5}), p[Arg::kDw] = tensor("dw", {5});
  return p;
}

TEST(Refusals, OfSyncBatchNorm) {
  expect_refused<Op::kBatchNormElemtBackward>(
      [](Problem& p) { p[Arg::kCounts].dtype = DataType::kNone; }, Status::kNullPointer,
      "counts is missing");
  expect_refused<Op::kBatchNormElemtBackward>(
      [](Problem& p) { p[Arg::kCounts].dtype = DataType::kOther; }, Status::kBadDtype,
      "counts is a type that is none of f16, bf16, f32, but must be f16, bf16, f32, f64 or i32");
  constexpr Op kGather = Op::kBatchNormGatherStats;
  expect_refused<kGather>([](Problem& p) { p[Arg::kMean] = tensor("mean", {3}); },
                          Status::kBadShape,
                          "mean has shape (3), but must have 2 dimensions: device, channel");
  expect_refused<kGather>([](Problem& p) { p[Arg::kCounts] = tensor("counts", {3}); },
                          Status::kBadShape,
                          "counts has shape (3), but must have shape (2), the number of devices");
  expect_refused<kGather>(
      [](Problem& p) {
        p[Arg::kMean] = tensor("mean", {kHuge, 0}), p[Arg::kRstd] = tensor("rstd", {kHuge, 0});
        p[Arg::kCounts] = tensor("counts", {kHuge}, DataType::kF16);
        p[Arg::kMeanAll] = tensor("mean_all", {0}), p[Arg::kRstdAll] = tensor("rstd_all", {0});
      },
      Status::kBadShape, "counts has shape (2305843009213693952), which is too many devices");
}

TEST(Refusals, OfAnArgumentThatTheOperatorDoesNotTake) {
  expect_refused<Op::kRmsNormBackward>([](Problem& p) { p[Arg::kDb] = p[Arg::kDw]; },
                                       Status::kBadParam,
                                       "db is given, but RmsNormBackward takes none");
  expect_refused<Op::kBatchNorm>([](Problem& p) { p[Arg::kCounts] = p[Arg::kVar]; },
                                 Status::kBadParam, "counts is given, but BatchNorm takes none");
}

// What many rows have in common is read for each of them: no output may lie in its place.
TEST(Refusals, OfAnOutputInPlaceOfAScale) {
  Problem p;
  p.op = Op::kRmsNorm;
  p[Arg::kX] = tensor("x", {2, 2}), p[Arg::kY] = tensor("y", {2, 2});
  p[Arg::kRstd] = tensor("rstd", {2}), p[Arg::kScale] = tensor("scale", {2});
  Plan plan;
  ASSERT_EQ(make_plan(p, &plan), Status::kOk) << normgradGetLastError();
  float x[4] = {1, 2, 3, 4}, y[4] = {}, scale[2] = {};
  Addresses at;
  at[Arg::kX] = x, at[Arg::kY] = y, at[Arg::kRstd] = at[Arg::kScale] = scale;
  std::vector<std::byte> workspace(plan.workspace_bytes());
  EXPECT_EQ(run(plan, at, workspace.data(), workspace.size()), Status::kBadParam);
  EXPECT_STREQ(
      normgradGetLastError(),
      "rstd overlaps scale: an output must lie apart from the inputs or exactly in place of one");
}

TEST(Refusals, OfNoPlan) {
  const Plan none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.workspace_bytes(), 0u);
  EXPECT_EQ(run(none, {}, nullptr, 0), Status::kBadParam);
  EXPECT_STREQ(normgradGetLastError(), "the plan was not made");
}

}  // namespace
}  // namespace ops_test
