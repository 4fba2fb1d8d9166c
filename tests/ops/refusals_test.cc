// What the C++ contract refuses, and no C API lets through to it: the status, the sentence, and a plan left as it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "normgrad/batch_norm.h"
#include "normgrad/batch_norm_backward.h"
#include "normgrad/batch_norm_elemt_backward.h"
#include "normgrad/batch_norm_gather_stats.h"
#include "normgrad/last_error.h"
#include "normgrad/layer_norm.h"
#include "normgrad/layer_norm_backward.h"
#include "normgrad/rms_norm.h"
#include "normgrad/rms_norm_backward.h"

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

template <class Problem>
Problem valid();
template <>
LayerNormBackward valid() {
  LayerNormBackward p;
  p.dx = tensor("dx", {4, 5}), p.dy = tensor("dy", {4, 5}), p.x = tensor("x", {4, 5});
  p.mean = tensor("mean", {4}), p.rstd = tensor("rstd", {4}), p.w = tensor("w", {5});
  return p;
}
template <>
LayerNorm valid() {
  LayerNorm p;
  p.y = tensor("y", {4, 5}), p.x = tensor("x", {4, 5}), p.w = tensor("w", {5});
  p.mean = tensor("mean", {4}), p.rstd = tensor("rstd", {4}), p.b = tensor("b", {5});
  return p;
}
template <>
RmsNorm valid() {
  RmsNorm p;
  p.y = tensor("y", {4, 5}), p.x = tensor("x", {4, 5}), p.rstd = tensor("rstd", {4});
  return p;
}
template <>
BatchNormBackward valid() {
  BatchNormBackward p;
  p.dx = tensor("dx", {4, 3, 2}), p.dy = tensor("dy", {4, 3, 2}), p.x = tensor("x", {4, 3, 2});
  p.rstd = tensor("rstd", {3});
  return p;
}
template <>
BatchNorm valid() {
  BatchNorm p;
  p.y = tensor("y", {4, 3, 2}), p.x = tensor("x", {4, 3, 2});
  p.mean = tensor("mean", {3}), p.var = tensor("var", {3});
  p.training = false;
  return p;
}
template <>
BatchNormElemtBackward valid() {
  BatchNormElemtBackward p;
  p.dx = tensor("dx", {4, 3, 2}), p.dy = tensor("dy", {4, 3, 2}), p.x = tensor("x", {4, 3, 2});
  p.sum_dy = tensor("sum_dy", {3}), p.sum_dy_xmu = tensor("sum_dy_xmu", {3});
  p.counts = tensor("counts", {2}, DataType::kI32);
  return p;
}
template <>
BatchNormGatherStats valid() {
  BatchNormGatherStats p;
  p.mean = tensor("mean", {2, 3}), p.rstd = tensor("rstd", {2, 3}),
  p.counts = tensor("counts", {2});
  p.mean_all = tensor("mean_all", {3}), p.rstd_all = tensor("rstd_all", {3});
  return p;
}

template <class Problem>
void expect_refused(void (*spoil)(Problem&), Status status, const std::string& sentence) {
  Problem problem = valid<Problem>();
  Plan plan;
  ASSERT_EQ(make_plan(problem, &plan), Status::kOk) << normgradGetLastError();
  plan.workspace_bytes = 4711;
  spoil(problem);
  EXPECT_EQ(make_plan(problem, &plan), status) << sentence;
  EXPECT_EQ(normgradGetLastError(), sentence);
  EXPECT_EQ(plan.workspace_bytes, 4711u) << sentence;
}

TEST(Refusals, OfLayerNormBackward) {
  using Problem = LayerNormBackward;
  const auto refused = expect_refused<Problem>;
  constexpr char kEither[] = "either x_hat and sigma must be given, or x, mean and rstd";
  constexpr char kTogether[] = "x, mean and rstd must be given together";
  refused([](Problem& p) { p.x_hat = p.x; }, Status::kNullPointer, kEither);
  refused([](Problem& p) { p.sigma = p.rstd; }, Status::kNullPointer, kEither);
  refused([](Problem& p) { p.x = {}; }, Status::kNullPointer, kEither);
  refused([](Problem& p) { p.mean = {}; }, Status::kNullPointer, kTogether);
  refused([](Problem& p) { p.rstd = {}; }, Status::kNullPointer, kTogether);
  refused([](Problem& p) { p.dy.dtype = DataType::kNone; }, Status::kNullPointer, "dy is missing");
  refused([](Problem& p) { p.dy.dtype = DataType::kF64; }, Status::kBadDtype,
          "dy is f64, but must be f16, bf16 or f32");
  refused([](Problem& p) { p.x.dtype = DataType::kBF16; }, Status::kBadDtype,
          "x is bf16, but must be f32 like dy");
  refused([](Problem& p) { p.w.dtype = DataType::kF64; }, Status::kBadDtype,
          "w is f64, but must be f32 or, like dy, f32");
  refused([](Problem& p) { p.mean.dtype = DataType::kI32; }, Status::kBadDtype,
          "mean is i32, but must be f32 or, like dy, f32");
}

TEST(Refusals, OfRowsThatNoMemoryHolds) {
  using Problem = LayerNormBackward;
  const auto refused = expect_refused<Problem>;
  refused([](Problem& p) { p.dy.rank = 0; }, Status::kBadShape,
          "dy is a scalar, but must have rows");
  refused([](Problem& p) { p.dx.strides[0] = kHuge; }, Status::kBadShape,
          "dx with shape (4, 5) and strides (2305843009213693952, 1) is larger than memory can be");
  refused(
      [](Problem& p) {
        for (Tensor* t : {&p.dx, &p.dy, &p.x}) t->shape[0] = -4;
        p.mean.shape[0] = p.rstd.shape[0] = -4;
      },
      Status::kBadShape, "dx with shape (-4, 5) and strides (5, 1) is larger than memory can be");
  refused(
      [](Problem& p) {
        for (Tensor* t : {&p.dx, &p.dy, &p.x}) t->shape[0] = 0, t->shape[1] = kHuge;
        p.mean.shape[0] = p.rstd.shape[0] = 0;
        p.w = {};
      },
      Status::kBadShape, "dy has 2305843009213693952 columns: more than memory can hold");
}

TEST(Refusals, OfBatchNormBackward) {
  using Problem = BatchNormBackward;
  const auto refused = expect_refused<Problem>;
  refused([](Problem& p) { p.var = p.rstd; }, Status::kBadParam,
          "rstd and var must not both be given");
  refused([](Problem& p) { p.dy = tensor("dy", {4}); }, Status::kBadShape,
          "dy has shape (4), but must have rank 2 to 8");
  refused([](Problem& p) { p.channel_axis = 3; }, Status::kBadParam,
          "the channel axis is 3, but dy has rank 3");
  refused([](Problem& p) { p.channel_axis = -1; }, Status::kBadParam,
          "the channel axis is -1, but dy has rank 3");
  refused([](Problem& p) { p.x = {}; }, Status::kNullPointer, " is missing");
  refused([](Problem& p) { p.w = tensor("w", {3}, DataType::kOther); }, Status::kBadDtype,
          "w is a type that is none of f16, bf16, f32, but must be f16, bf16, f32 or f64");
}

TEST(Refusals, OfRowNormsForward) {
  using Problem = LayerNorm;
  const auto refused = expect_refused<Problem>;
  refused([](Problem& p) { p.x = {}; }, Status::kNullPointer, " is missing");
  refused([](Problem& p) { p.x.dtype = DataType::kF64; }, Status::kBadDtype,
          "x is f64, but must be f16, bf16 or f32");
  refused([](Problem& p) { p.y.dtype = DataType::kF16; }, Status::kBadDtype,
          "y is f16, but must be f32 like x");
  refused([](Problem& p) { p.b.dtype = DataType::kBF16; }, Status::kBadDtype,
          "b is bf16, but must be f32 or, like x, f32");
  refused([](Problem& p) { p.y = tensor("y", {5, 4}); }, Status::kBadShape,
          "y has shape (5, 4), but must have the shape of x, (4, 5)");
  refused([](Problem& p) { p.b = tensor("b", {4}); }, Status::kBadShape,
          "b has shape (4), but must have shape (5), the length of a row");
  refused([](Problem& p) { p.mean = tensor("mean", {5}); }, Status::kBadShape,
          "mean has shape (5), but must have shape (4), that of x without the last dimension");
  refused([](Problem& p) { p.x.strides[1] = 2; }, Status::kBadStrides,
          "x has strides (5, 2), but its last stride must be 1");
  refused([](Problem& p) { p.rstd.strides[0] = 0; }, Status::kBadStrides,
          "rstd with shape (4) and strides (0) overlaps itself, which an output must not");
  expect_refused<RmsNorm>([](RmsNorm& p) { p.x = tensor("x", {}); }, Status::kBadShape,
                          "x is a scalar, but must have rows");
}

TEST(Refusals, OfBatchNorm) {
  using Problem = BatchNorm;
  const auto refused = expect_refused<Problem>;
  refused([](Problem& p) { p.rstd = p.var; }, Status::kBadParam,
          "rstd and var must not both be given");
  refused([](Problem& p) { p.running_mean = p.mean; }, Status::kBadParam,
          "given statistics update no running ones");
  refused([](Problem& p) { p.running_var = p.mean; }, Status::kBadParam,
          "given statistics update no running ones");
  refused([](Problem& p) { p.y.strides[0] = 1; }, Status::kBadStrides,
          "y with shape (4, 3, 2) and strides (1, 2, 1) overlaps itself, which an output must not");
}

TEST(Refusals, OfSyncBatchNorm) {
  expect_refused<BatchNormElemtBackward>([](auto& p) { p.counts.dtype = DataType::kNone; },
                                         Status::kNullPointer, "counts is missing");
  expect_refused<BatchNormElemtBackward>(
      [](auto& p) { p.counts.dtype = DataType::kOther; }, Status::kBadDtype,
      "counts is a type that is none of f16, bf16, f32, but must be f16, bf16, f32 or f64");
  using Gather = BatchNormGatherStats;
  expect_refused<Gather>([](Gather& p) { p.mean = tensor("mean", {3}); }, Status::kBadShape,
                         "mean has shape (3), but must have 2 dimensions: device, channel");
  expect_refused<Gather>([](Gather& p) { p.counts = tensor("counts", {3}); }, Status::kBadShape,
                         "counts has shape (3), but must have shape (2), the number of devices");
  expect_refused<Gather>(
      [](Gather& p) {
        p.mean = tensor("mean", {kHuge, 0}), p.rstd = tensor("rstd", {kHuge, 0});
        p.counts = tensor("counts", {kHuge}, DataType::kF16);
        p.mean_all = tensor("mean_all", {0}), p.rstd_all = tensor("rstd_all", {0});
      },
      Status::kBadShape, "counts has shape (2305843009213693952), which is too many devices");
}

TEST(Refusals, OfAPlanThatIsNotTheOperators) {
  Plan none, plan;
  ASSERT_EQ(make_plan(valid<BatchNorm>(), &plan), Status::kOk);
  const auto expect = [](Status got, const char* sentence) {
    EXPECT_EQ(got, Status::kBadParam) << sentence;
    EXPECT_STREQ(normgradGetLastError(), sentence);
  };
  expect(run(plan, LayerNormBackwardData{}, nullptr, 0),
         "the plan was made for BatchNorm, not for LayerNormBackward");
  expect(run(plan, RmsNormBackwardData{}, nullptr, 0),
         "the plan was made for BatchNorm, not for RmsNormBackward");
  expect(run(plan, BatchNormBackwardData{}, nullptr, 0),
         "the plan was made for BatchNorm, not for BatchNormBackward");
  expect(run(plan, BatchNormElemtBackwardData{}, nullptr, 0),
         "the plan was made for BatchNorm, not for BatchNormElemtBackward");
  expect(run(plan, BatchNormGatherStatsData{}, nullptr, 0),
         "the plan was made for BatchNorm, not for BatchNormGatherStats");
  expect(run(plan, LayerNormData{}, nullptr, 0),
         "the plan was made for BatchNorm, not for LayerNorm");
  expect(run(plan, RmsNormData{}, nullptr, 0),
         "the plan was made for BatchNorm, not for RmsNorm");
  expect(run(none, BatchNormData{}, nullptr, 0),
         "the plan was made for nothing, not for BatchNorm");
  expect(run(none, nullptr, nullptr, 0), "the plan was not made");
}

}  // namespace
}  // namespace ops_test
