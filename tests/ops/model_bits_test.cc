// The library returns the bits of the scalar model, which is the trees and the order of evaluation written out (tree.h,
// dx_map.h): speed work changes no bit.
#include <gtest/gtest.h>

#include "ops/cases.h"
#include "ops/channel_sums.h"
#include "ops/examples.h"
#include "ops/expectations.h"
#include "ops/layouts.h"
#include "ops/model.h"

namespace ops_test {
namespace {

using Shape = std::vector<std::int64_t>;
using Shapes = std::vector<Shape>;

constexpr std::uint64_t kSeed = 77000000;
constexpr std::size_t kCasesPerWay = 400;

class ModelBits : public testing::TestWithParam<Way> {};

TEST_P(ModelBits, OfGeneratedCases) {
  const auto [op, arithmetic] = GetParam();
  for (std::size_t index = 0; index < kCasesPerWay; ++index) {
    const Case c = make_case(op, kSeed, index, arithmetic);
    const Outputs got = run_library(c.problem, c.settings);
    ASSERT_EQ(first_difference(c.problem, got, run_model(c.problem, arithmetic)), "")
        << "case " << index << ": " << c.description();
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, ModelBits, testing::ValuesIn(ways()),
                         [](const auto& param_info) { return name(param_info.param); });

// With the machine's cache and with a tiny one. The exact kernels know no instruction set.
void expect_model_bits(const Problem& p) {
  SCOPED_TRACE(title(p));
  for (const Arithmetic arithmetic : kArithmetics) {
    if (arithmetic == Arithmetic::kExact && !has_two_arithmetics(p.op)) continue;
    const Outputs expected = run_model(p, arithmetic);
    for (const std::int64_t cache_bytes : {4096, 0}) {
      const OtherCache cache(cache_bytes);
      for (const normgrad::Isa isa : available_isas()) {
        if (arithmetic == Arithmetic::kExact && isa != normgrad::Isa::kPlain) continue;
        EXPECT_EQ(first_difference(p, run_library(p, {2, isa, 3, arithmetic}), expected), "")
            << name(isa) << " " << name(arithmetic) << ", cache " << cache_bytes;
      }
    }
  }
}

Problem with_channels_last(Problem p) {
  for (const Slot slot : {kDx, kDy, kX, kY}) {
    if (!p.has(slot)) continue;
    p.tensor[slot] = channels_last(p.tensor[slot].format, p.tensor[slot].shape, p.channel_axis);
  }
  return p;
}

void expect_model_bits_of_both_layouts(const Problem& p) {
  expect_model_bits(p);
  if (is_channel_norm(p.op)) expect_model_bits(with_channels_last(p));
}

// Past every threshold at which the work is cut in another way: steps of 32 columns, chunks of 256, blocks of 8192, blocks
// of 32 rows and 64 of them, long rows that are few.
TEST(ModelBitsOfLargeProblems, RowNorms) {
  for (const Form form : kNormForms) {
    if (is_batch_norm(form)) continue;
    for (const Format data : kDataFormats) {
      for (const Shape& shape : Shapes{{9, 9000},
                                       {70, 1025},
                                       {300, 300},
                                       {300, 1030},
                                       {33000, 3},
                                       {17000, 17},
                                       {2, 70001},
                                       {2, 30, 3, 523},
                                       {41, 8200},
                                       {130, 4097}}) {
        expect_model_bits(example(form, data, shape));
      }
    }
  }
}

// Blocks of more than 32768 rows there are none; 256 long rows are many.
TEST(ModelBitsOfLargeProblems, RowNormsOfMillions) {
  expect_model_bits(example(Form::kLayerNormOfXHat, Format::kF32, {2097153 + 40, 1}));
  expect_model_bits(example(Form::kLayerNormOfX, Format::kBF16, {257, 8193}));
}

// Rows of several pixels, with a part of one left; rows of one; 65 channels, which are many to make whole steps of; whole
// channels of several chunks.
TEST(ModelBitsOfLargeProblems, ChannelNorms) {
  for (const Form form : {Form::kBatchNormTraining, Form::kBatchNormInference}) {
    for (const Format data : kDataFormats) {
      for (const Shape& shape : Shapes{{4, 5, 60, 60},
                                       {33, 64, 7, 7},
                                       {70000, 3},
                                       {5000, 1},
                                       {3, 1, 40000},
                                       {2, 300, 129},
                                       {40, 65, 9},
                                       {7, 33, 41},
                                       {3, 2048, 13},
                                       {200, 40, 40},
                                       {8, 40, 28, 28}}) {
        expect_model_bits_of_both_layouts(example(form, data, shape));
      }
    }
  }
}

TEST(ModelBitsOfLargeProblems, ThreeChannelsOfManyPixels) {
  for (const Format data : kDataFormats) {
    const Problem p =
        with_channels_last(example(Form::kBatchNormTraining, data, {3, 3, 100, 1003}));
    const std::size_t pixels = 3 * 100 * 1003, k = pixels_in_a_row(3, pixels);
    EXPECT_GT(pixels / k, 64u * 32u);
    EXPECT_NE(pixels % k, 0u);
    expect_model_bits(p);
  }
}

// Few and many channels, short and long ones.
TEST(ModelBitsOfLargeProblems, SyncBatchNorm) {
  for (const Form form : kSyncForms) {
    for (const Format data : kDataFormats) {
      for (const Shape& shape : Shapes{{9, 40, 7, 7}, {20000, 2}, {3, 1, 9000}, {2, 65, 300}}) {
        expect_model_bits_of_both_layouts(example(form, data, shape));
      }
    }
  }
}

// Rows and channels that go through the exact kernels, beside ones that do not.
class ModelBitsOf : public testing::TestWithParam<Form> {
 protected:
  Shapes shapes() const {
    if (is_batch_norm(GetParam())) return {{9, 5, 7, 9}, {300, 3}, {2, 33, 140}, {5, 1, 40}};
    return {{45, 5}, {21, 300}, {70, 67}, {11, 8300}};
  }
  void expect_of(DataClass data_class, std::uint64_t seeds) const {
    for (const Format data : kDataFormats) {
      for (const Shape& shape : shapes()) {
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
          expect_model_bits_of_both_layouts(example(GetParam(), data, shape, seed, data_class));
        }
      }
    }
  }
};

TEST_P(ModelBitsOf, GroupsBeyondTheRangeOfFastArithmetic) { expect_of(DataClass::kMixedGroups, 3); }
TEST_P(ModelBitsOf, SpecialElements) { expect_of(DataClass::kSpecial, 3); }
TEST_P(ModelBitsOf, BadStatistics) { expect_of(DataClass::kBadStatistics, 3); }
TEST_P(ModelBitsOf, Subnormals) { expect_of(DataClass::kSubnormal, 3); }
TEST_P(ModelBitsOf, Outliers) { expect_of(DataClass::kOutliers, 1); }
TEST_P(ModelBitsOf, FarOffsets) { expect_of(DataClass::kOffset10000, 1); }

INSTANTIATE_TEST_SUITE_P(Forms, ModelBitsOf,
                         testing::Values(Form::kLayerNormOfXHat, Form::kLayerNormOfX,
                                         Form::kRmsNorm, Form::kRmsNormOfRstd,
                                         Form::kBatchNormTraining, Form::kBatchNormInference,
                                         Form::kBatchNormSums, Form::kElemtBackward,
                                         Form::kForwardTraining, Form::kForwardGiven,
                                         Form::kLayerNormForward, Form::kRmsNormForward),
                         [](const auto& param_info) { return name(param_info.param); });

// Rows whose squares f32 loses, among rows whose squares it keeps.
TEST(ModelBitsOfRmsNorm, SquaresOutsideTheRangeOfF32) {
  for (const Format data : kDataFormats) {
    for (const std::int64_t columns : {5, 100, 9000}) {
      Problem p = example(Form::kRmsNorm, data, {45, columns});
      const auto set_row = [&](std::size_t row, double factor) {
        const auto n = static_cast<std::size_t>(columns);
        for (std::size_t d = 0; d < n; ++d) p.value[kX][row * n + d] *= factor;
      };
      set_row(3, 0);
      set_row(19, data == Format::kF16 ? HUGE_VAL : 1e30);
      set_row(44, data == Format::kF16 ? 0 : 1e-30);
      settle(p);
      expect_model_bits(p);
    }
  }
}

// 2^-100 and 2^120 themselves, and their neighbours.
TEST(ModelBitsOfRmsNorm, EdgesOfTheRange) {
  for (const Format data : {Format::kBF16, Format::kF32}) {
    for (const double first : {0x1p-50, 0x1.fep-51, 0x1p60, 0x1.02p60}) {
      Problem p = example(Form::kRmsNorm, data, {11, 7});
      for (std::size_t d = 0; d < 7; ++d) p.value[kX][9 * 7 + d] = d == 0 ? first : 0;
      expect_model_bits(p);
    }
  }
}

// Of rows forward: var + eps of 2^-100 and 2^120, and their neighbours.
TEST(ModelBitsOfRowForward, EdgesOfTheRange) {
  for (const Form form : kRowForwardForms) {
    for (const Format data : {Format::kBF16, Format::kF32}) {
      for (const double size : {0x1p-50, 0x1.fep-51, 0x1p60, 0x1.02p60}) {
        Problem p = example(form, data, {11, 8});
        p.eps = 0;
        for (std::size_t d = 0; d < 8; ++d) p.value[kX][9 * 8 + d] = d % 2 == 0 ? size : -size;
        expect_model_bits(p);
      }
    }
  }
}

// Rows whose first 64 columns are nearer to the mean of all than a pivot must be, or farther from it; blocks that lie far
// from each other.
TEST(ModelBitsOfRowForward, PivotsThatAreFar) {
  for (const Format data : kDataFormats) {
    for (const std::int64_t columns : {65, 200, 1000, 9000}) {
      Problem p = example(Form::kLayerNormForward, data, {60, columns});
      const auto n = static_cast<std::size_t>(columns);
      for (std::size_t row = 0; row < 60; ++row) {
        for (std::size_t d = 0; d < n; ++d) {
          const double off = 0.02 * static_cast<double>(row) * (row % 2 == 0 ? 1 : 1000);
          if (d < 64 || d > 5000) p.value[kX][row * n + d] += off;
        }
      }
      settle(p);
      expect_model_bits(p);
      expect_within_bound(p);
    }
  }
}

// 1e-30 and 1e30, the last statistics that fast arithmetic takes, and their neighbours.
TEST(ModelBitsOfStatistics, EdgesOfTheRange) {
  for (const double rstd : {1e-30, 0x1.fp-100, 1e30, 0x1.ap99}) {
    for (const Form form : {Form::kLayerNormOfX, Form::kRmsNormOfRstd, Form::kBatchNormTraining,
                            Form::kElemtBackward}) {
      Problem p = example(form, Format::kF32, {11, 3, 7});
      p.tensor[kRstd].format = Format::kF64;
      p.value[kRstd][1] = rstd;
      expect_model_bits_of_both_layouts(p);
    }
    Problem p = example(Form::kLayerNormOfXHat, Format::kF32, {11, 3, 7});
    p.tensor[kSigma].format = Format::kF64;
    p.value[kSigma][1] = 1 / rstd;
    expect_model_bits(p);
  }
}

// The walk is decided by x alone: extents of 1, strides of 0, dy and dx in another layout, any channel axis.
TEST(ModelBitsOfWalks, DecidedByX) {
  struct Layout {
    Shape shape, strides;
    int axis;
    bool pixels;
  };
  for (const Layout& of : std::vector<Layout>{{{6, 5, 40}, {200, 40, 1}, 1, false},
                                              {{6, 5, 40}, {200, 1, 5}, 1, true},
                                              {{6, 5, 40}, {200, -1, 5}, 1, true},
                                              {{6, 5, 40}, {200, 1, -5}, 1, true},
                                              {{6, 5, 40}, {200, 1, 0}, 1, false},
                                              {{6, 5, 40}, {200, 0, 5}, 1, false},
                                              {{6, 5, 40}, {1, 6, 30}, 1, true},
                                              {{6, 5, 40}, {1, 240, 6}, 1, false},
                                              {{6, 1, 40}, {1, 1, 6}, 1, false},
                                              {{6, 5, 1}, {5, 1, 1}, 1, true},
                                              {{6, 5, 1}, {1, 6, 1}, 1, true},
                                              {{240, 1}, {1, 1}, 1, true},
                                              {{6, 5, 8, 1}, {40, 1, 5, 1}, 1, true},
                                              {{6, 5, 8, 9}, {360, 9, 45, 1}, 1, false},
                                              {{6, 8, 5}, {40, 5, 1}, 2, true},
                                              {{6, 8, 5}, {40, 1, 8}, 2, false},
                                              {{5, 6, 8}, {1, 40, 5}, 0, true},
                                              {{5, 6, 8}, {48, 8, 1}, 0, false},
                                              {{5, 240}, {1, 5}, 0, true}}) {
    for (const Form form : {Form::kBatchNormTraining, Form::kElemtBackward}) {
      Problem p = layout(form, Format::kF32, of.shape);
      p.channel_axis = of.axis;
      const std::int64_t channels = of.shape[static_cast<std::size_t>(of.axis)];
      for (const Slot slot : {kDw, kDb, kW, kMean, kRstd, kSumDyGiven, kSumDyXmuGiven}) {
        if (p.has(slot)) p.tensor[slot] = contiguous(p.tensor[slot].format, {channels});
      }
      p.tensor[kX].strides = of.strides;
      Random random(3);
      fill(p, DataClass::kNormal, random);
      EXPECT_EQ(walks_pixels(p), of.pixels) << describe(p);
      expect_model_bits(p);
      p.tensor[kDy] = p.tensor[kDx] = channels_last(Format::kF32, of.shape, of.axis);
      expect_model_bits(p);
    }
  }
}

}  // namespace
}  // namespace ops_test
