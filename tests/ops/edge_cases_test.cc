// The edge cases of numerics.md, section 3: each row of its table, in both arithmetics.
#include <gtest/gtest.h>

#include "ops/examples.h"
#include "ops/expectations.h"
#include "ops/layouts.h"

namespace ops_test {
namespace {

using Shape = std::vector<std::int64_t>;

bool is_finite(const Values& v) {
  for (const double value : v) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

// Outputs are full of garbage before the call (storage.cc), and dx is guarded byte by byte.
TEST(Empty, ParameterGradientsAreTheEmptySum) {
  for (const Form form : kForms) {
    const std::vector<Shape> shapes =
        is_batch_norm(form) ? std::vector<Shape>{{0, 5, 3}, {2, 5, 0}, {0, 5}, {3, 5, 0, 4}}
                            : std::vector<Shape>{{0, 5}, {3, 0, 5}, {0, 0, 5}};
    for (const Format data : kDataFormats) {
      for (const Shape& shape : shapes) {
        Problem p = layout(form, data, shape);
        for (const Slot slot : kInputs)
          p.value[slot] = Values(p.has(slot) ? element_count(p.tensor[slot]) : 0, 0.0);
        for (const Arithmetic arithmetic : kArithmetics) {
          const Outputs out = run(p, arithmetic);
          for (const Slot slot : {kDw, kDb}) {
            for (const std::uint64_t bits : out.bits[slot])
              EXPECT_EQ(bits, 0u) << title(p) << " " << name(slot);
          }
        }
      }
    }
  }
}

TEST(Empty, NoChannelsOrColumnsIsSuccess) {
  for (const Form form : kForms) {
    const std::vector<Shape> shapes = is_batch_norm(form)
                                          ? std::vector<Shape>{{3, 0, 4}, {0, 0}, {3, 0}}
                                          : std::vector<Shape>{{3, 0}, {0}, {0, 0}};
    for (const Shape& shape : shapes) {
      Problem p = layout(form, Format::kF32, shape);
      for (const Slot slot : kInputs)
        p.value[slot] = Values(p.has(slot) ? element_count(p.tensor[slot]) : 0, 1.0);
      for (const Arithmetic arithmetic : kArithmetics) run(p, arithmetic);
    }
  }
}

// Absent arguments are given the address 16 (library.cc): to look there is to crash.
TEST(Absent, WeightMeanAndRstdHaveTheirDefaults) {
  for (const Format data : kDataFormats) {
    for (const bool training : {true, false}) {
      Problem p = example(training ? Form::kBatchNormTraining : Form::kBatchNormInference, data,
                          {4, 3, 17});
      for (const Slot slot : {kW, kMean, kRstd, kVar}) p.tensor[slot] = {}, p.value[slot].clear();
      expect_within_bound(p);
      Problem given = p;
      for (const Slot slot : {kW, kMean, kRstd}) {
        given.tensor[slot] = contiguous(Format::kF32, {3});
        given.value[slot] = Values(3, slot == kMean ? 0.0 : 1.0);
      }
      for (const Arithmetic arithmetic : kArithmetics)
        EXPECT_EQ(first_difference(p, run(p, arithmetic), run(given, arithmetic)), "");
    }
  }
}

TEST(Absent, BiasGradient) {
  Problem p = example(Form::kLayerNormOfXHat, Format::kF32, {4, 17});
  p.tensor[kDb] = {};
  expect_within_bound(p);
}

// What falls to the exact kernels is within the bound although f32 loses its products: rows of tiny x and dy with a huge
// rstd, beside ordinary ones; short rows, and long ones that threads share.
TEST(Range, RowsWithStatisticsBeyondF32AreWithinTheBound) {
  for (const Form form : {Form::kLayerNormOfX, Form::kLayerNormOfXHat, Form::kRmsNormOfRstd}) {
    for (const std::int64_t columns : {37, 9000}) {
      Problem p = example(form, Format::kF32, {11, columns});
      const Slot x = p.has(kXHat) ? kXHat : kX;
      const Slot statistic = p.has(kSigma) ? kSigma : kRstd;
      p.tensor[statistic].format = Format::kF64;
      for (const auto& [row, size] : {std::pair{2, 1e-35}, {3, 1e-33}, {10, 1e-31}}) {
        const auto r = static_cast<std::size_t>(row), n = static_cast<std::size_t>(columns);
        p.value[statistic][r] = statistic == kSigma ? size : 1 / size;
        if (p.has(kMean)) p.value[kMean][r] *= size;
        for (std::size_t i = r * n; i < (r + 1) * n; ++i) {
          p.value[x][i] *= size;
          p.value[kDy][i] *= size * 1e25;
        }
      }
      settle(p);
      for (const normgrad::Isa isa : available_isas()) {
        EXPECT_EQ(check_bound(p, run_library(p, {2, isa, 1})), "") << describe(p) << name(isa);
      }
      expect_within_bound(p);
    }
  }
}

TEST(Range, ElemtBackwardWithAMeanBeyondF32IsWithinTheBound) {
  Problem p = example(Form::kElemtBackward, Format::kF32, {4, 3, 17});
  p.tensor[kMean].format = p.tensor[kSumDyXmuGiven].format = Format::kF64;
  p.value[kMean][1] = -1e39;
  p.value[kSumDyXmuGiven][1] = 1e-20;
  for (const bool last : {false, true}) {
    if (last) p.tensor[kX] = channels_last(Format::kF32, p.tensor[kX].shape, 1);
    EXPECT_EQ(check_bound(p, run(p)), "") << describe(p);
    expect_within_bound(p);
  }
}

TEST(Degenerate, ZeroSigma) {
  for (const Format data : kDataFormats) {
    Problem p = example(Form::kLayerNormOfXHat, data, {5, 7});
    p.value[kSigma][2] = 0;
    expect_within_bound(p);
    for (const Arithmetic arithmetic : kArithmetics) {
      const Outputs out = run(p, arithmetic);
      const Values dx = values(p, out, kDx);
      for (std::size_t i = 0; i < dx.size(); ++i) EXPECT_EQ(std::isfinite(dx[i]), i / 7 != 2) << i;
      EXPECT_TRUE(is_finite(values(p, out, kDb)));
      EXPECT_TRUE(is_finite(values(p, out, kDw)));  // x_hat is given
    }
  }
}

// Row-major and channels-last: a channel without variance takes none of the others along.
TEST(Degenerate, ZeroVarianceWithoutEps) {
  for (const Format data : kDataFormats) {
    for (const Form form : {Form::kBatchNormTraining, Form::kBatchNormInference}) {
      Problem p = example(form, data, {5, 3, 4}, 1, DataClass::kConstantGroup);
      p.eps = 0;
      p.tensor[kRstd] = {}, p.value[kRstd].clear();
      p.tensor[kVar] = contiguous(Format::kF32, {3});
      p.value[kVar] = {0, 1, 0};
      for (std::size_t i = 0; i < 60; ++i)
        p.value[kX][i] = p.value[kMean][i / 4 % 3] = static_cast<double>(i / 4 % 3);
      for (const bool last : {false, true}) {
        if (last) p.tensor[kX] = channels_last(data, p.tensor[kX].shape, 1);
        expect_within_bound(p);
        for (const Arithmetic arithmetic : kArithmetics) {
          const Outputs out = run(p, arithmetic);
          const Values dx = values(p, out, kDx), dw = values(p, out, kDw);
          for (std::size_t i = 0; i < dx.size(); ++i)
            EXPECT_EQ(std::isfinite(dx[i]), i / 4 % 3 == 1) << i;
          for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(std::isfinite(dw[c]), c == 1);  // Inf*0
          EXPECT_TRUE(is_finite(values(p, out, kDb)));
        }
      }
    }
  }
}

TEST(Degenerate, ZeroRowOfRmsNorm) {
  for (const Format data : kDataFormats) {
    Problem p = example(Form::kRmsNorm, data, {20, 7});
    for (std::size_t d = 0; d < 7; ++d) p.value[kX][9 * 7 + d] = 0;
    expect_within_bound(p);
    for (const Arithmetic arithmetic : kArithmetics) {
      const Outputs out = run(p, arithmetic);
      const Values dx = values(p, out, kDx);
      for (std::size_t i = 0; i < dx.size(); ++i) EXPECT_EQ(std::isfinite(dx[i]), i / 7 != 9) << i;
      for (const double dw : values(p, out, kDw)) EXPECT_FALSE(std::isfinite(dw));
    }
  }
}

TEST(Degenerate, NegativeVarianceIsNaN) {
  Problem p = example(Form::kBatchNormInference, Format::kF32, {5, 3, 4});
  p.value[kVar][1] = -1;
  expect_within_bound(p);
  for (const Arithmetic arithmetic : kArithmetics) {
    const Outputs out = run(p, arithmetic);
    const Values dx = values(p, out, kDx), dw = values(p, out, kDw);
    for (std::size_t i = 0; i < dx.size(); ++i) EXPECT_EQ(std::isnan(dx[i]), i / 4 % 3 == 1) << i;
    EXPECT_TRUE(std::isnan(dw[1]) && std::isfinite(dw[0]) && std::isfinite(dw[2]));
  }
}

// Whether dx[i] is in the reduction group of dx[at]; in inference it is alone in it.
bool in_group(Form form, std::size_t i, std::size_t at) {
  if (form == Form::kBatchNormInference) return i == at;
  return is_batch_norm(form) ? i / 37 % 7 == at / 37 % 7 : i / 37 == at / 37;
}

// A NaN or infinity reaches the groups it belongs to. All others keep their bits, where channels are not walked together
// (channels-last: section 4 of numerics.md).
void expect_poisoned_groups(Form form, const Problem& clean, std::size_t at, double poison,
                            Arithmetic arithmetic) {
  Problem p = clean;
  p.value[kDy][at] = poison;
  const Outputs got = run(p, arithmetic), expected = run(clean, arithmetic);
  const Format data = p.tensor[kDx].format;
  for (std::size_t i = 0; i < got.bits[kDx].size(); ++i) {
    if (in_group(form, i, at)) {
      ASSERT_FALSE(std::isfinite(decode(data, got.bits[kDx][i]))) << title(p) << " dx[" << i << "]";
    } else {
      ASSERT_EQ(got.bits[kDx][i], expected.bits[kDx][i]) << title(p) << " dx[" << i << "]";
    }
  }
  const std::size_t parameter = is_batch_norm(form) ? at / 37 % 7 : at % 37;
  for (const Slot slot : {kDw, kDb}) {
    for (std::size_t i = 0; i < got.bits[slot].size(); ++i) {
      if (i == parameter) continue;
      // In fast the poisoned row is exact, and so are its terms: dw and db of other columns may move by a rounding.
      if (is_row_norm(p.op) && arithmetic == Arithmetic::kFast) {
        ASSERT_TRUE(std::isfinite(decode(data, got.bits[slot][i]))) << title(p) << name(slot) << i;
      } else {
        ASSERT_EQ(got.bits[slot][i], expected.bits[slot][i]) << title(p) << name(slot) << i;
      }
    }
  }
}

TEST(Poison, StaysInItsGroups) {
  for (const Form form : kForms) {
    for (const Format data : kDataFormats) {
      for (const double poison : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        const std::size_t at = (9 * 7 + 4) * 37 + 30;
        const Problem clean = example(form, data, {20, 7, 37});
        Problem p = clean;
        p.value[kDy][at] = poison;
        expect_within_bound(p);
        for (const Arithmetic arithmetic : kArithmetics)
          expect_poisoned_groups(form, clean, at, poison, arithmetic);
      }
    }
  }
}

TEST(Poison, StaysInItsChannelWhereChannelsAreLast) {
  for (const Form form : {Form::kBatchNormTraining, Form::kBatchNormInference}) {
    for (const Format data : kDataFormats) {
      for (const double poison : {std::nan(""), HUGE_VAL}) {
        Problem p = example(form, data, {20, 7, 37});
        for (const Slot slot : {kDx, kDy, kX}) p.tensor[slot] = channels_last(data, {20, 7, 37}, 1);
        const std::size_t at = (9 * 7 + 4) * 37 + 30;
        p.value[kDy][at] = poison;
        expect_within_bound(p);
        for (const Arithmetic arithmetic : kArithmetics) {
          const Values dx = values(p, run(p, arithmetic), kDx);
          for (std::size_t i = 0; i < dx.size(); ++i)
            ASSERT_EQ(std::isfinite(dx[i]), !in_group(form, i, at))
                << title(p) << " dx[" << i << "]";
        }
      }
    }
  }
}

// The last element of a row and the one past it lie in one vector: what is past it never counts.
TEST(Poison, BeyondTheEndIsNotRead) {
  for (const Form form : {Form::kLayerNormOfX, Form::kRmsNorm}) {
    for (const Format data : kDataFormats) {
      Problem p = example(form, data, {9, 21});
      for (const Slot slot : {kDy, kX}) p.tensor[slot].strides[0] = 40;  // garbage between the rows
      expect_within_bound(p);
    }
  }
}

TEST(Range, F16OverflowsToInfinityAndSumsDoNot) {
  Problem p = layout(Form::kBatchNormInference, Format::kF16, {4096, 1, 2});
  for (const Slot slot : {kMean, kVar, kW}) p.tensor[slot] = {};
  p.value[kX] = Values(8192, 2.0);
  for (std::size_t i = 0; i < 8192; ++i) p.value[kDy].push_back(i % 2 == 0 ? 65504 : -65504);
  expect_within_bound(p);
  for (const Arithmetic arithmetic : kArithmetics)
    EXPECT_EQ(values(p, run(p, arithmetic), kDb), Values{0});
  p.tensor[kRstd] = contiguous(Format::kF32, {1});
  p.tensor[kVar] = {};
  for (const Arithmetic arithmetic : kArithmetics) {
    p.value[kRstd] = {1.0003};  // 65523.6: above 65520
    for (const double dx : values(p, run(p, arithmetic), kDx)) EXPECT_TRUE(std::isinf(dx));
    p.value[kRstd] = {1.0002};  // 65517.1
    for (const double dx : values(p, run(p, arithmetic), kDx)) EXPECT_EQ(std::fabs(dx), 65504);
  }
}

TEST(Range, SubnormalsAreKept) {
  for (const Format data : kDataFormats) {
    for (const normgrad::Isa isa : available_isas()) {
      Problem p = layout(Form::kBatchNormInference, data, {1, 1, 500});
      for (const Slot slot : {kMean, kVar, kW}) p.tensor[slot] = {};
      for (std::uint64_t bits = 0; bits < 500; ++bits) p.value[kDy].push_back(decode(data, bits));
      p.value[kX] = Values(500, 1.0);
      const Values dx = values(p, run_library(p, {1, isa, 1}), kDx);
      EXPECT_EQ(dx, p.value[kDy]) << facts(data).name << " " << name(isa);
      double sum = 0;  // exact
      for (const double dy : p.value[kDy]) sum += dy;
      for (const Arithmetic arithmetic : kArithmetics) {
        const Outputs out = run(p, arithmetic);
        EXPECT_EQ(values(p, out, kDx), p.value[kDy]);
        EXPECT_EQ(values(p, out, kDb)[0], reference::rounded(data, sum));
      }
    }
  }
}

// Exactly so in exact arithmetic. In fast, dy*A + C cancels but for the rounding of C.
TEST(OneElement, CentredGroupsHaveNoGradient) {
  for (const Format data : kDataFormats) {
    for (const Form form : {Form::kLayerNormOfX, Form::kBatchNormTraining}) {
      Problem p = example(form, data, form == Form::kLayerNormOfX ? Shape{3, 1} : Shape{1, 3, 1});
      p.value[kMean] = p.value[kX];  // each group has one element
      p.value[kRstd] = Values(3, 316.0);
      expect_within_bound(p);
      for (const Arithmetic arithmetic : kArithmetics) {
        const Outputs out = run(p, arithmetic);
        for (const double dw : values(p, out, kDw)) EXPECT_EQ(dw, 0);
        if (arithmetic == Arithmetic::kFast) continue;
        for (const double dx : values(p, out, kDx)) EXPECT_EQ(dx, 0);
      }
    }
  }
}

TEST(OneElement, RmsNormHasXHatOfOne) {
  for (const Format data : kDataFormats) {
    Problem p = example(Form::kRmsNorm, data, {1, 1});
    for (const double x : {3.0, -3.0, 0.75}) {
      p.value[kX] = {x};
      expect_within_bound(p);
      const Outputs exact = run(p, Arithmetic::kExact);
      EXPECT_EQ(values(p, exact, kDw)[0], x > 0 ? p.value[kDy][0] : -p.value[kDy][0]);
      EXPECT_LE(std::fabs(values(p, exact, kDx)[0]), 1e-15);
      EXPECT_LE(std::fabs(values(p, run(p), kDx)[0]), 1e-5);
    }
  }
}

}  // namespace
}  // namespace ops_test
