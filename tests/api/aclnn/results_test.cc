// Numbers through the C API: those of the documents' example programs, and one small problem per
// operator that can be checked by hand. tests/aclnn has all others.
#include <cmath>
#include <cstring>

#include "api/aclnn/operators.h"
#include "normgrad/last_error.h"

namespace aclnn_test {
namespace {

class Results : public testing::Test {
 protected:
  // Runs the operator on tensors that hold these values; f32, contiguous.
  void run(const Operator& op, Tensors& tensors, const Attributes& attributes = {}) {
    Prepared prepared(op, tensors.data(), attributes);
    EXPECT_EQ(prepared.run(session_.stream()), 0) << normgradGetLastError();
    EXPECT_EQ(aclrtSynchronizeStream(session_.stream()), 0);
  }

  void expect(Tensors& tensors, std::size_t i, const std::vector<float>& values,
              float tolerance = 0) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (std::isnan(values[k])) {
        EXPECT_TRUE(std::isnan(tensors.values(i)[k])) << i << '[' << k << ']';
      } else {
        EXPECT_NEAR(tensors.values(i)[k], values[k], tolerance * std::abs(values[k]))
            << i << '[' << k << ']';
      }
    }
  }

  Session session_;
};

const std::vector<float> kCount{0, 1, 2, 3, 4, 5, 6, 7};

TEST_F(Results, ReduceBackwardOfTheDocument) {
  Tensors t(specs_for(reduce_backward(), {4, 2}));
  t.fill(0, {1, 1, 1, 2, 2, 2, 3, 3});
  t.fill(1, kCount);
  for (const std::size_t i : {2, 3, 4}) t.fill(i, {1, 1});
  run(reduce_backward(), t);
  expect(t, 5, {7, 8});
  expect(t, 6, {21, 30});
  expect(t, 7, {21, 30});
  expect(t, 8, {7, 8});
}

// Channels 1 2 3 4 and 1 1 1 1: sums 10 and 4, of squares 30 and 4; gathered from one device and from two alike.
TEST_F(Results, SumsOfChannelsAndTheirStatistics) {
  Tensors t(specs_for(batch_norm_reduce(), {1, 2, 2, 2}));
  t.fill(0, {1, 2, 3, 4, 1, 1, 1, 1});
  run(batch_norm_reduce(), t);
  expect(t, 1, {10, 4});
  expect(t, 2, {30, 4});

  const Operator& op = gather_sums();
  for (const aclDataType counter : {ACL_INT32, ACL_FLOAT}) {
    auto specs = specs_for(op, {2, 2, 4});
    specs[2].dtype = counter;
    Tensors all(specs);
    all.fill(0, {10, 4, 10, 4});
    all.fill(1, {30, 4, 30, 4});
    const std::int32_t counts[] = {4, 4};
    if (counter == ACL_INT32) {
      std::memcpy(all.values(2), counts, sizeof(counts));
    } else {
      all.fill(2, {4, 4});
    }
    all.fill(3, {0, 1}), all.fill(4, {1, 0.5});
    Attributes attributes;
    attributes.momentum = 0.25;
    attributes.eps = 0.75;
    run(op, all, attributes);  // N = 8, variances 60/8 - 2.5^2 = 1.25 and 0
    expect(all, 5, {2.5f, 1});
    expect(all, 6,
           {static_cast<float>(1 / std::sqrt(2.0)), static_cast<float>(1 / std::sqrt(0.75))},
           1e-7f);
    expect(all, 3, {0.625f, 1});
    expect(all, 4, {0.75f + 0.25f * 1.25f * 8 / 7, 0.375f}, 2e-7f);
  }
}

// Two groups of two channels of two: 0 2 4 6 with mean 3 and variance 5, and 1 1 3 3 with 2 and 1.
TEST_F(Results, GroupNormByHand) {
  const Operator &forward = group_norm(), &backward = group_norm_backward();
  Attributes attributes = attributes_for({1, 4, 2});
  attributes.group = 2;
  auto specs = specs_for(forward, {1, 4, 2});
  specs[4].shape = {2}, specs[5].shape = {1, 2, 1};
  Tensors t(specs);
  t.fill(0, {0, 2, 4, 6, 1, 1, 3, 3});
  t.fill(1, {1, 2, 1, 3});
  t.fill(2, {0, 1, 0, 0});
  attributes.eps = 4;  // rstd 1/3, 1/sqrt(5)
  Prepared prepared(forward, t.data(), attributes, true);
  EXPECT_EQ(prepared.run(session_.stream()), 0) << normgradGetLastError();
  EXPECT_EQ(aclrtSynchronizeStream(session_.stream()), 0);
  const float r = 1 / std::sqrt(5.0f);
  expect(t, 4, {3, 2});
  expect(t, 5, {1.0f / 3, r}, 1e-6f);
  expect(t, 3, {-1, -1.0f / 3, 5.0f / 3, 3, -r, -r, 3 * r, 3 * r}, 1e-6f);

  // With rstd 1, mean 0 and gamma 1 for a group: dx = g - mean(g) - x*mean(g*x).
  specs = specs_for(backward, {1, 4, 2});
  specs[0].shape = {2, 4};  // the elements of input in another shape
  for (const std::size_t i : {2, 3}) specs[i].shape = {1, 2};
  Tensors b(specs);
  b.fill(0, {1, 0, 0, 0, 1, 1, 2, 0});
  b.fill(1, {1, -1, 1, -1, 1, 1, 0, 0});
  b.fill(2, {0, 0}), b.fill(3, {1, 1}), b.fill(4, {1, 1, 1, 1});
  Prepared gradients(backward, b.data(), attributes, true);
  EXPECT_EQ(gradients.run(session_.stream()), 0) << normgradGetLastError();
  EXPECT_EQ(aclrtSynchronizeStream(session_.stream()), 0);
  expect(b, 5, {0.5f, 0, -0.5f, 0, -0.5f, -0.5f, 1, -1});
  expect(b, 6, {1, 0, 2, 0});
  expect(b, 7, {1, 0, 2, 2});
}

TEST_F(Results, SumsOverNothing) {
  Tensors t(specs_for(batch_norm_reduce(), {0, 2, 3}));
  run(batch_norm_reduce(), t);
  expect(t, 1, {0, 0});
  expect(t, 2, {0, 0});
}

void fill_backward(Tensors& t) {
  t.fill(0, kCount);
  t.fill(1, kCount);
  for (const std::size_t one : {2, 4, 6}) t.fill(one, {1, 1});
  for (const std::size_t zero : {3, 5}) t.fill(zero, {0, 0});
}

TEST_F(Results, BatchNormBackwardOfTheDocument) {
  for (const Operator* op : {&batch_norm_backward(), &fast_batch_norm_backward()}) {
    Tensors t(specs_for(*op, {1, 2, 4}));
    fill_backward(t);
    run(*op, t);
    const float tolerance = is_910b() ? 2e-5f : 0;  // there eps is added once more
    expect(t, 7, {-1.5, -4, -6.5, -9, -127.5, -158, -188.5, -219}, tolerance);
    expect(t, 8, {14, 126}, tolerance);
    expect(t, 9, {6, 22});
  }
}

TEST_F(Results, BatchNormBackwardInInference) {
  Tensors t(specs_for(batch_norm_backward(), {1, 2, 4}));
  fill_backward(t);
  t.fill(4, {3, 15});  // with eps 1 these are the squares of 2 and 4
  run(batch_norm_backward(), t, {.training = false, .eps = 1});
  expect(t, 7, {0, 0.5, 1, 1.5, 1, 1.25, 1.5, 1.75});
  expect(t, 8, {7, 31.5});
  expect(t, 9, {6, 22});
}

// Null stands for weight 1, mean 0, running variance 1; a null saveInvstd for 1, which on an
// Ascend910B is a variance.
TEST_F(Results, BatchNormBackwardWithoutOptionals) {
  for (const bool training : {true, false}) {
    Tensors full(specs_for(batch_norm_backward(), {1, 2, 4}));
    Tensors bare(specs_for(batch_norm_backward(), {1, 2, 4}));
    fill_backward(full);
    fill_backward(bare);
    for (std::size_t i = 2; i < 7; ++i) bare[i] = nullptr;
    run(batch_norm_backward(), full, {.training = training, .eps = 0.25});
    run(batch_norm_backward(), bare, {.training = training, .eps = 0.25});
    for (const std::size_t i : {7, 8, 9}) {
      const float* values = full.values(i);
      expect(bare, i, {values, values + (i == 7 ? 8 : 2)});
    }
  }
}

TEST_F(Results, SaveInvstdIsTheProfilesOwn) {
  Tensors t(specs_for(batch_norm_backward(), {1, 2, 4}));
  fill_backward(t);
  t.fill(6, {3, 15});
  run(batch_norm_backward(), t, {.eps = 1});
  expect(t, 8, is_910b() ? std::vector<float>{7, 31.5} : std::vector<float>{42, 1890});
}

TEST_F(Results, ReduceBackwardOfNothing) {
  Tensors t(specs_for(reduce_backward(), {2, 3, 0, 4}));
  for (std::size_t i = 5; i < 9; ++i) t.fill(i, {9, 9, 9});
  run(reduce_backward(), t);
  const float expected = is_910b() ? 9 : 0;
  for (std::size_t i = 5; i < 9; ++i) expect(t, i, {expected, expected, expected});
}

TEST_F(Results, BatchNormBackwardOfNothingWritesNothing) {
  Tensors t(specs_for(batch_norm_backward(), {2, 3, 0, 4}));
  run(batch_norm_backward(), t);
  EXPECT_TRUE(t.untouched());
}

TEST_F(Results, BatchNormBackwardWithNothingWantedWritesNothing) {
  const Mask mask({false, false, false});
  Tensors t(specs_for(batch_norm_backward(), {1, 2, 4}));
  fill_backward(t);
  run(batch_norm_backward(), t, {.mask = mask.get()});
  EXPECT_TRUE(t.untouched());
}

TEST_F(Results, Stats) {
  Tensors t(specs_for(stats(), {4, 2}));
  t.fill(0, kCount);  // variance 5 in both channels
  run(stats(), t, {.eps = 4});
  expect(t, 1, {3, 4});
  expect(t, 2, {1.0f / 3, 1.0f / 3});
}

TEST_F(Results, StatsOfNothing) {
  Tensors t(specs_for(stats(), {0, 2}));
  run(stats(), t);
  expect(t, 1, {0, 0});
  expect(t, 2, {NAN, NAN});
}

TEST_F(Results, GatherStats) {
  Tensors t(specs_for(gather_stats(), {1, 1}));
  t.fill(1, {1, 3});
  t.fill(2, {1, 0.5});  // variances 0.5 and 3.5
  t.fill(3, {4});
  t.fill(4, {7});
  t.fill(5, {4, 4});
  run(gather_stats(), t, {.momentum = 0.25, .eps = 0.5});
  expect(t, 6, {2});
  expect(t, 7, {static_cast<float>(1 / std::sqrt(3.5))}, 1e-6f);  // S = 24, N = 8
  expect(t, 3, {3.5});
  expect(t, 4, {static_cast<float>(0.75 * 7 + 0.25 * 24 / 7)}, 1e-6f);
}

TEST_F(Results, GatherStatsUpdatesBothRunningOnesOrNone) {
  for (const std::size_t left_out : {3, 4}) {
    Tensors t(specs_for(gather_stats(), {1, 1}));
    t.fill(1, {1, 3});
    t.fill(2, {1, 1});
    t.fill(3, {4});
    t.fill(4, {7});
    t.fill(5, {4, 4});
    t[left_out] = nullptr;
    run(gather_stats(), t);
    expect(t, 6, {2});
    expect(t, 3, {4});
    expect(t, 4, {7});
  }
}

TEST_F(Results, GatherStatsOfNoDevices) {
  auto specs = specs_for(gather_stats(), {1, 1});
  specs[1].shape = specs[2].shape = {0, 1};
  specs[5].shape = {0};
  Tensors t(specs);
  t.fill(3, {4});
  t.fill(4, {7});
  run(gather_stats(), t);
  expect(t, 6, {0});
  expect(t, 7, {NAN});
  expect(t, 3, {4});
  expect(t, 4, {7});
}

TEST_F(Results, Elemt) {
  Tensors t(specs_for(elemt(), {2, 2}));
  t.fill(0, {1, 2, 3, 4});
  t.fill(1, {2, 3});
  t.fill(2, {10, 20});
  t.fill(3, {1, 4});
  t.fill(4, {0.5, 0.25});
  run(elemt(), t, {.eps = 100});  // inert
  expect(t, 5, {10, 18.5, 12, 20});
}

// The sums of one device and its count give what BatchNormBackward gives.
TEST_F(Results, ElemtBackwardEndsTheChain) {
  Tensors t(specs_for(elemt_backward(), {1, 2, 4}));
  t.fill(0, kCount);
  t.fill(1, kCount);
  t.fill(2, {0, 0});
  t.fill(3, {1, 1});
  t.fill(4, {1, 1});
  t.fill(5, {6, 22});
  t.fill(6, {14, 126});
  t.fill(7, {3, 1});
  run(elemt_backward(), t);
  expect(t, 8, {-1.5, -4, -6.5, -9, -127.5, -158, -188.5, -219});
}

TEST_F(Results, BatchNormInTraining) {
  Tensors t(specs_for(batch_norm(), {4, 2}));
  t.fill(0, kCount);  // means 3 and 4, variance 5
  t.fill(1, {3, 6});
  t.fill(2, {1, 2});
  t.fill(3, {0, 0});
  t.fill(4, {1, 1});
  run(batch_norm(), t, {.momentum = 0.5, .eps = 4});
  expect(t, 5, {-2, -4, 0, 0, 2, 4, 4, 8}, 1e-6f);
  expect(t, 6, {3, 4});
  expect(t, 7, is_910b() ? std::vector<float>{5, 5} : std::vector<float>{1.0f / 3, 1.0f / 3});
  expect(t, 3, {1.5, 2});
  expect(t, 4, {0.5f + 10.0f / 3, 0.5f + 10.0f / 3}, 1e-6f);
}

TEST_F(Results, BatchNormInInference) {
  for (const bool bare : {true, false}) {
    Tensors t(specs_for(batch_norm(), {4, 2}));
    t.fill(0, kCount);
    t.fill(1, {1, 1});
    t.fill(2, {0, 0});
    t.fill(3, {0, 0});
    t.fill(4, {1, 1});
    for (std::size_t i = 1; i < 5 && bare; ++i) t[i] = nullptr;
    t[6] = t[7] = nullptr;
    run(batch_norm(), t, {.training = false, .eps = 3});
    expect(t, 5, {0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5});
    expect(t, 3, {0, 0});
    expect(t, 4, {1, 1});
  }
}

TEST_F(Results, BatchNormOfNothing) {
  Tensors t(specs_for(batch_norm(), {0, 2}));
  t.fill(3, {4, 5});
  t.fill(4, {6, 7});
  run(batch_norm(), t);
  expect(t, 6, {0, 0});
  expect(t, 7, {NAN, NAN});
  expect(t, 3, {4, 5});
  expect(t, 4, {6, 7});
}

TEST_F(Results, OffsetsAndStridesAreInElements) {
  auto specs = specs_for(stats(), {4, 2});
  specs[0].strides = {3, 12};
  specs[0].offset = 2;
  specs[0].storage = {64};
  specs[1].strides = {2};
  specs[1].offset = 1;
  specs[1].storage = {8};
  Tensors t(specs);
  std::vector<float> x(64, 99);
  for (std::size_t n = 0; n < 4; ++n) {
    for (std::size_t c = 0; c < 2; ++c) x[2 + 3 * n + 12 * c] = kCount[2 * n + c];
  }
  t.fill(0, x);
  t.fill(1, {9, 9, 9, 9});
  run(stats(), t);
  expect(t, 1, {9, 3, 9, 4});
}

}  // namespace
}  // namespace aclnn_test
