// A batch that is spread over devices has the statistics and gradients of the whole: the halves
// through their own operators, f32 in between, as several processes would do it.
#include <gtest/gtest.h>

#include "ops/examples.h"
#include "ops/expectations.h"
#include "ops/layouts.h"

namespace ops_test {
namespace {

using reference::Expected;
using reference::Quad;

class SyncBatchNorm : public testing::TestWithParam<Format> {
 protected:
  Format data() const { return GetParam(); }
};

// Rows [begin, end) of dim 0 of the big tensors.
Problem part(const Problem& whole, std::size_t begin, std::size_t end) {
  Problem out = whole;
  const auto rows = static_cast<std::size_t>(whole.tensor[whole.big_input()].shape[0]);
  for (const Slot slot : {kDx, kDy, kX, kY}) {
    if (!whole.has(slot)) continue;
    out.tensor[slot].shape[0] = static_cast<std::int64_t>(end - begin);
    const Values& v = whole.value[slot];
    if (v.empty()) continue;
    const auto row = static_cast<std::ptrdiff_t>(v.size() / rows);
    out.value[slot] = Values(v.begin() + static_cast<std::ptrdiff_t>(begin) * row,
                             v.begin() + static_cast<std::ptrdiff_t>(end) * row);
  }
  return out;
}

// 1/2 ulp for the store, 2^-22*T for what f32 in between costs, c*T for the arithmetic.
void expect_close(const Values& got, Format format, const Expected& exact, std::size_t offset,
                  const char* what, double c = 0) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Quad r = exact.value[offset + i];
    const Quad allowance =
        Quad{reference::ulp(r, format)} / 2 + Quad{0x1p-22 + c} * exact.scale[offset + i];
    EXPECT_LE(static_cast<double>(reference::magnitude(got[i] - r)), static_cast<double>(allowance))
        << what << "[" << offset + i << "]";
  }
}

void expect_gradient_of_the_whole(Format data, std::int64_t channels, std::int64_t length,
                                  Arithmetic arithmetic) {
  const Problem whole = example(Form::kBatchNormTraining, data, {7, channels, length});
  const Expected exact = reference_gradients(whole).dx;
  Values sums[2];
  const std::size_t cuts[] = {0, 3, 7};
  for (std::size_t half = 0; half < 2; ++half) {
    Problem p = part(whole, cuts[half], cuts[half + 1]);
    p.op = Op::kBatchNormSums;
    p.tensor[kDx] = p.tensor[kDw] = p.tensor[kDb] = {};
    for (const Slot slot : {kSumDy, kSumDyXmu})
      p.tensor[slot] = contiguous(Format::kF32, {channels});
    const Outputs out = run(p, arithmetic);
    for (const Slot slot : {kSumDy, kSumDyXmu}) {
      Values& sum = sums[slot == kSumDyXmu];
      sum.resize(static_cast<std::size_t>(channels));
      for (std::size_t c = 0; c < sum.size(); ++c) {  // the all-reduce, in f32
        sum[c] = static_cast<float>(sum[c]) + static_cast<float>(values(p, out, slot)[c]);
      }
    }
  }
  for (std::size_t half = 0; half < 2; ++half) {
    Problem p = part(whole, cuts[half], cuts[half + 1]);
    p.op = Op::kElemtBackward;
    p.tensor[kDw] = p.tensor[kDb] = {};
    for (const Slot slot : {kSumDyGiven, kSumDyXmuGiven}) {
      p.tensor[slot] = contiguous(Format::kF32, {channels});
      p.value[slot] = sums[slot == kSumDyXmuGiven];
    }
    p.tensor[kCounts] = contiguous(Format::kI32, {2});
    p.value[kCounts] = {static_cast<double>(3 * length), static_cast<double>(4 * length)};
    expect_close(values(p, run(p, arithmetic), kDx), data, exact,
                 cuts[half] * static_cast<std::size_t>(channels * length), "dx",
                 arithmetic == Arithmetic::kFast ? 0x1p-19 : 0x1p-40);
  }
}

TEST_P(SyncBatchNorm, TwoHalvesHaveTheGradientOfTheWhole) {
  for (const Arithmetic arithmetic : kArithmetics) {
    expect_gradient_of_the_whole(data(), 5, 45, arithmetic);
    expect_gradient_of_the_whole(data(), 40, 1, arithmetic);
    expect_gradient_of_the_whole(data(), 3, 5000, arithmetic);
  }
}

TEST_P(SyncBatchNorm, TwoHalvesHaveTheStatisticsOfTheWhole) {
  Problem whole = example(Form::kForwardTraining, data(), {7, 5, 45});
  whole.tensor[kY] = {};
  const reference::Forward exact = reference_forward(whole);
  Problem gather = layout(Form::kGatherStats, Format::kF32, {2, 5});
  gather.eps = whole.eps, gather.momentum = whole.momentum;
  for (const Slot slot : {kRunningMean, kRunningVar}) gather.value[slot] = whole.value[slot];
  gather.value[kCounts] = {3 * 45, 4 * 45};
  const std::size_t cuts[] = {0, 3, 7};
  for (std::size_t half = 0; half < 2; ++half) {
    Problem p = part(whole, cuts[half], cuts[half + 1]);
    for (const Slot slot : {kRunningMean, kRunningVar, kVarOut}) p.tensor[slot] = {};
    const Outputs out = run(p);
    for (const double mean : values(p, out, kMeanOut)) gather.value[kMean].push_back(mean);
    for (const double rstd : values(p, out, kRstdOut)) gather.value[kRstd].push_back(rstd);
  }
  const Outputs got = run(gather);
  const auto close = [&](Slot slot, const Expected& expected) {
    expect_close(values(gather, got, slot), Format::kF32, expected, 0, name(slot));
  };
  close(kMeanOut, exact.mean);
  close(kRstdOut, exact.rstd);
  close(kRunningMean, exact.running_mean);
  close(kRunningVar, exact.running_var);
}

// The reduce half is the backward without dx, to the bit; its sums are db and what dw is made of.
void expect_sums_of_the_backward(const Problem& backward, Arithmetic arithmetic) {
  const Outputs expected = run(backward, arithmetic);
  for (const bool with_dx : {false, true}) {
    Problem p = backward;
    p.op = Op::kBatchNormSums;
    if (!with_dx) p.tensor[kDx] = {};
    p.tensor[kSumDy] = p.tensor[kDb];
    p.tensor[kSumDyXmu] = contiguous(Format::kF64, p.tensor[kDw].shape);
    const Outputs got = run(p, arithmetic);
    EXPECT_EQ(got.bits[kDw], expected.bits[kDw]);
    EXPECT_EQ(got.bits[kDb], expected.bits[kDb]);
    EXPECT_EQ(got.bits[kSumDy], expected.bits[kDb]);
    EXPECT_EQ(got.bits[kDx], with_dx ? expected.bits[kDx] : Bits{});
    for (std::size_t c = 0; c < got.bits[kDw].size(); ++c) {
      const double dw = p.value[kRstd][c] * values(p, got, kSumDyXmu)[c];
      EXPECT_EQ(encode(p.tensor[kDw].format, dw), got.bits[kDw][c]) << c;
    }
  }
}

TEST_P(SyncBatchNorm, SumsAreThoseOfTheBackward) {
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{6, 7, 45}, {3, 2, 9000}, {700, 40, 3}, {1, 1}}) {
    Problem p = example(Form::kBatchNormTraining, data(), shape);
    for (const Arithmetic arithmetic : kArithmetics) expect_sums_of_the_backward(p, arithmetic);
    for (const Slot slot : {kDx, kDy, kX}) p.tensor[slot] = channels_last(data(), shape, 1);
    for (const Arithmetic arithmetic : kArithmetics) expect_sums_of_the_backward(p, arithmetic);
  }
}

// With its own sums and count, unrounded, the second half is the backward, to the bit.
TEST_P(SyncBatchNorm, SecondHalfOfOneDeviceIsTheBackward) {
  for (const Arithmetic arithmetic : kArithmetics) {
    Problem backward = example(Form::kBatchNormSums, data(), {6, 7, 45});
    for (const Slot slot : {kSumDy, kSumDyXmu}) backward.tensor[slot].format = Format::kF64;
    const Outputs expected = run(backward, arithmetic);
    Problem p = layout(Form::kElemtBackward, data(), {6, 7, 45});
    for (const Slot slot : {kDy, kX, kW, kMean, kRstd}) p.value[slot] = backward.value[slot];
    for (const Slot slot : {kSumDyGiven, kSumDyXmuGiven}) p.tensor[slot].format = Format::kF64;
    p.value[kSumDyGiven] = values(backward, expected, kSumDy);
    p.value[kSumDyXmuGiven] = values(backward, expected, kSumDyXmu);
    p.value[kCounts] = {100, 6 * 45 - 100};
    EXPECT_EQ(run(p, arithmetic).bits[kDx], expected.bits[kDx]) << name(arithmetic);
  }
}

TEST_P(SyncBatchNorm, CountsOfAnyDtypeAndRankCount) {
  Problem p = example(Form::kElemtBackward, data(), {6, 7, 45});
  p.value[kCounts] = {100, 412};
  const Outputs expected = run(p);
  struct Counts {
    std::vector<std::int64_t> shape;
    Values values;
  };
  for (const Format format :
       {Format::kI32, Format::kF16, Format::kBF16, Format::kF32, Format::kF64}) {
    for (const Counts& counts : std::vector<Counts>{{{}, {512}},
                                                    {{1}, {512}},
                                                    {{1, 2, 1}, {256, 256}},
                                                    {{2, 1, 1, 1, 1, 1, 1, 2}, {128, 0, 128, 256}},
                                                    {{8}, Values(8, 64)}}) {
      p.tensor[kCounts] = contiguous(format, counts.shape);
      p.value[kCounts] = counts.values;
      EXPECT_EQ(first_difference(p, run(p), expected), "") << describe(p.tensor[kCounts]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Data, SyncBatchNorm, testing::ValuesIn(kDataFormats),
                         [](const auto& param_info) {
                           return reference::facts(param_info.param).name;
                         });

}  // namespace
}  // namespace ops_test
