// The edges of the forward operators and of SyncBatchNorm: nothing to reduce, one element, no
// variance, poison, what is absent, what is refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "normgrad/last_error.h"
#include "normgrad/plan.h"
#include "ops/examples.h"
#include "ops/expectations.h"
#include "ops/layouts.h"
#include "ops/model.h"
#include "ops/operators.h"

namespace ops_test {
namespace {

using Shape = std::vector<std::int64_t>;

Problem filled(Form form, Format data, Shape shape, double value) {
  Problem p = layout(form, data, std::move(shape));
  for (const Slot slot : kInputs) {
    if (p.has(slot)) p.value[slot] = Values(element_count(p.tensor[slot]), value);
  }
  return p;
}

// Outputs are full of garbage before the call (storage.cc).
TEST(NoElements, SumsAreZeroAndStatisticsUndefined) {
  for (const Format data : kDataFormats) {
    for (const Shape& shape : std::vector<Shape>{{0, 5, 3}, {2, 5, 0}, {0, 5}, {3, 5, 0, 4}}) {
      const Problem sums = filled(Form::kBatchNormSums, data, shape, 1);
      const Outputs zero = run(sums);
      for (const Slot slot : {kDw, kDb, kSumDy, kSumDyXmu}) {
        EXPECT_EQ(zero.bits[slot], Bits(5, 0)) << title(sums) << " " << name(slot);
      }
      const Problem p = filled(Form::kForwardTraining, data, shape, 3);
      const Outputs out = run(p);
      EXPECT_EQ(out.bits[kMeanOut], Bits(5, 0)) << title(p);
      for (const Slot slot : {kRstdOut, kVarOut}) {
        for (const double value : values(p, out, slot)) EXPECT_TRUE(std::isnan(value)) << title(p);
      }
      for (const Slot slot : {kRunningMean, kRunningVar}) {
        EXPECT_EQ(values(p, out, slot), Values(5, 3.0)) << title(p);
      }
      run(filled(Form::kForwardGiven, data, shape, 1));
      run(filled(Form::kElemtBackward, data, shape, 1));
    }
  }
}

TEST(NoElements, OfRowsHaveUndefinedStatistics) {
  for (const Form form : kRowForwardForms) {
    for (const Format data : kDataFormats) {
      for (const Shape& shape : std::vector<Shape>{{3, 0}, {3, 2, 0}, {0}}) {
        const Problem p = filled(form, data, shape, 1);
        const Outputs out = run(p);
        for (const double mean : values(p, out, kMeanOut)) EXPECT_EQ(mean, 0) << title(p);
        for (const double rstd : values(p, out, kRstdOut))
          EXPECT_TRUE(std::isnan(rstd)) << title(p);
        EXPECT_EQ(out.bits[kRstdOut].size(), element_count(p.tensor[kRstdOut]));
      }
      for (const Shape& shape : std::vector<Shape>{{0, 3}, {0, 0}, {2, 0, 3}}) {
        run(filled(form, data, shape, 1));
      }
    }
  }
}

TEST(NoElements, NoChannelsIsSuccess) {
  for (const Form form : kSyncForms) {
    for (const Shape& shape : std::vector<Shape>{{3, 0, 4}, {0, 0}, {3, 0}}) {
      run(filled(form, Format::kF32, shape, 1));
    }
  }
  run(filled(Form::kGatherStats, Format::kF32, {3, 0}, 1));
}

TEST(NoElements, NoDevicesUpdateNothing) {
  const Problem p = filled(Form::kGatherStats, Format::kF32, {0, 4}, 3);
  const Outputs out = run(p);
  EXPECT_EQ(out.bits[kMeanOut], Bits(4, 0));
  for (const double rstd : values(p, out, kRstdOut)) EXPECT_TRUE(std::isnan(rstd));
  EXPECT_EQ(values(p, out, kRunningMean), Values(4, 3.0));
  EXPECT_EQ(values(p, out, kRunningVar), Values(4, 3.0));
}

// x - mean is 0, so y is b; the unbiased variance of one element is 0/0.
TEST(OneElement, HasNoVariance) {
  for (const Format data : kDataFormats) {
    const Problem p = example(Form::kForwardTraining, data, {1, 40, 1});
    expect_within_bound(p);
    const Outputs out = run(p);
    EXPECT_EQ(values(p, out, kY), p.value[kB]);
    EXPECT_EQ(values(p, out, kMeanOut), p.value[kX]);
    EXPECT_EQ(values(p, out, kVarOut), Values(40, 0.0));
    for (const double var : values(p, out, kRunningVar)) EXPECT_TRUE(std::isnan(var));
    for (const double mean : values(p, out, kRunningMean)) EXPECT_TRUE(std::isfinite(mean));
  }
}

// The statistics of a row may lie exactly in place of it, which is still to be read for y then.
TEST(OneElement, OfARowMayGiveWayToItsStatistics) {
  for (const Form form : kRowForwardForms) {
    Problem p = example(form, Format::kF32, {70, 1});
    for (const Slot slot : {kMeanOut, kRstdOut}) {
      if (p.has(slot)) p.tensor[slot] = contiguous(Format::kF32, {70, 1});
    }
    for (const normgrad::Isa isa : available_isas()) {
      const Outputs apart = run_library(p, {3, isa, 1});
      for (const Slot shared : {kMeanOut, kRstdOut}) {
        if (!p.has(shared)) continue;
        normgrad::Plan plan;
        ASSERT_EQ(make_plan(p, &plan), normgrad::Status::kOk) << normgradGetLastError();
        std::array<std::vector<float>, kSlotCount> memory;
        Pointers data{};
        for (const Slot slot : {kY, kMeanOut, kRstdOut, kX, kW, kB}) {
          memory[slot].assign(p.value[slot].begin(), p.value[slot].end());
          memory[slot].resize(70);
          data[slot] = memory[slot].data();
        }
        data[shared] = data[kX];
        std::vector<std::byte> workspace(plan.workspace_bytes());
        ASSERT_EQ(run(p, plan, data, workspace.data()), normgrad::Status::kOk)
            << normgradGetLastError();
        for (const Slot slot : {kY, kMeanOut, kRstdOut}) {
          if (!p.has(slot)) continue;
          const std::vector<float>& got = memory[slot == shared ? kX : slot];
          EXPECT_EQ(Values(got.begin(), got.end()), values(p, apart, slot))
              << title(p) << " " << name(slot) << ", " << name(shared) << " in place " << name(isa);
        }
      }
    }
  }
}

void expect_constant_channels(Problem p) {
  for (const Arithmetic arithmetic : kArithmetics) {
    for (const normgrad::Isa isa : available_isas()) {
      const Outputs out = run_library(p, {3, isa, 1, arithmetic});
      EXPECT_EQ(values(p, out, kVarOut), Values(5, 0.0)) << title(p) << " " << name(isa);
      const double rstd = reference::rounded(Format::kF32, 1 / std::sqrt(p.eps));
      EXPECT_EQ(values(p, out, kRstdOut), Values(5, rstd));
      const Values y = values(p, out, kY);
      for (std::size_t c = 0; c < 5; ++c) {
        EXPECT_EQ(values(p, out, kMeanOut)[c], p.value[kX][c * 129]);
        for (std::size_t i = c * 129; i < c * 129 + 129; ++i) {
          ASSERT_EQ(y[i], p.value[kB][c]);
        }
      }
    }
  }
  p.eps = 0;  // rstd is infinite, and 0*Inf is NaN
  const Outputs out = run(p);
  EXPECT_EQ(values(p, out, kRstdOut), Values(5, HUGE_VAL));
  for (const double y : values(p, out, kY)) ASSERT_TRUE(std::isnan(y));
}

TEST(ConstantChannel, HasAVarianceOfExactlyZero) {
  for (const Format data : kDataFormats) {
    for (const double scale : {1.0, 3e-3, 1e4}) {
      Problem p = example(Form::kForwardTraining, data, {37, 5, 129});
      for (std::size_t i = 0; i < p.value[kX].size(); ++i) {
        p.value[kX][i] = scale * (0.1 + static_cast<double>(i / 129 % 5));
      }
      settle(p);
      expect_constant_channels(p);
      for (const Slot slot : {kY, kX}) p.tensor[slot] = channels_last(data, {37, 5, 129}, 1);
      expect_constant_channels(p);
    }
  }
}

// Some pixels make one row; those that are left over are rows of their own, longer than what a kernel takes at once.
TEST(PixelsThatFillNoRow, MayHaveManyChannels) {
  for (const Format data : kDataFormats) {
    for (const std::int64_t channels : {528, 720, 1008}) {
      for (const std::int64_t gap : {0, 5}) {
        const Shape shape{3, channels, 7};
        Problem p = example(Form::kForwardTraining, data, shape);
        for (const Slot slot : {kY, kX}) p.tensor[slot] = channels_last(data, shape, 1, gap);
        expect_within_bound(p);
        EXPECT_EQ(first_difference(p, run(p), run_model(p, Arithmetic::kFast)), "") << title(p);
      }
    }
  }
}

// Where a chunk begins with an outlier, the first guess of its mean is far off: of every chunk of planes and of pixels, and of
// the first one alone.
TEST(Outliers, AtTheBeginningOfAChunkCostNothing) {
  for (const Format data : kDataFormats) {
    for (const double size : {1e2, 1e4, 6e4}) {
      for (const Shape& shape : std::vector<Shape>{{70, 3, 300}, {3, 5, 9000}, {300, 40}}) {
        for (const std::size_t period :
             {std::size_t{64}, std::size_t{4096}, std::size_t{1} << 30}) {
          Problem p = example(Form::kForwardTraining, data, shape);
          const auto channels = static_cast<std::size_t>(shape[1]);
          const std::size_t inner = shape.size() > 2 ? static_cast<std::size_t>(shape[2]) : 1;
          for (std::size_t i = 0; i < p.value[kX].size(); ++i) {
            const std::size_t at = i / (channels * inner) * inner + i % inner;  // in its channel
            if (at % inner % period == 0 && at / inner % 64 == 0) p.value[kX][i] = size;
          }
          settle(p);
          expect_within_bound(p);
          for (const Slot slot : {kY, kX}) p.tensor[slot] = channels_last(data, shape, 1);
          expect_within_bound(p);
        }
      }
    }
  }
}

// Of a row of zeros an outlier among the first columns makes a pivot that is far from the mean, and an outlier elsewhere hides
// that among the squares. Sums around it must then not lose what the mean is held to.
TEST(Outliers, OfARowDoNotHideADistantPivot) {
  for (const std::int64_t columns : {1000, 1024, 2048, 3000, 4096}) {
    const auto n = static_cast<std::size_t>(columns);
    for (const double sample : {64, 128, 256}) {
      for (int i = 0; i < 64; ++i) {
        Problem p = example(Form::kLayerNormForward, Format::kF32, {1, columns});
        const double pivot = (i % 2 == 0 ? 1 : -1) * (1.6 + i * 0.0013);
        p.value[kX] = Values(n, 0.0);
        p.value[kX][0] = sample * pivot;
        p.value[kX][n - 1] =
            std::sqrt(static_cast<double>(n) * (sample / 8 - 1.1)) * std::fabs(pivot);
        settle(p);
        ASSERT_EQ(check_bound(p, run_library(p)), "") << title(p) << " " << sample << " " << pivot;
      }
    }
  }
}

// Scales whose squares f32 does not have go through the exact kernels, channel by channel or all together, and are
// normalized like others.
TEST(ChannelsAtTheEndsOfTheRange, AreNormalizedLikeOthers) {
  for (const Shape& shape : std::vector<Shape>{{5, 7, 60}, {2, 3, 5000}}) {
    for (const Format data : {Format::kF32, Format::kBF16}) {
      for (const bool last : {false, true}) {
        Problem plain = example(Form::kForwardTraining, data, shape);
        if (last) {
          for (const Slot slot : {kY, kX}) plain.tensor[slot] = channels_last(data, shape, 1);
        }
        plain.eps = 0;
        const Values expected = values(plain, run(plain, Arithmetic::kExact), kY);
        for (const int exponent : {100, -100}) {
          Problem p = plain;
          for (double& x : p.value[kX]) x = std::ldexp(x, exponent);
          EXPECT_EQ(values(p, run(p), kY), expected) << title(p) << " 2^" << exponent;
        }
      }
    }
  }
}

// Their squares are 0 in f32, and their mean is exactly so.
TEST(ChannelsAtTheEndsOfTheRange, AreNotConstantThoughF32LosesTheirSquares) {
  for (const Format data : {Format::kF32, Format::kBF16}) {
    for (const bool last : {false, true}) {
      Problem p = example(Form::kForwardTraining, data, {4, 3, 50});
      if (last) {
        for (const Slot slot : {kY, kX}) p.tensor[slot] = channels_last(data, {4, 3, 50}, 1);
      }
      for (std::size_t i = 0; i < p.value[kX].size(); ++i) {
        p.value[kX][i] = i % 2 == 0 ? 1e-24 : -1e-24;
      }
      settle(p);
      for (const double eps : {1e-50, 1e-32}) {
        p.eps = eps;
        EXPECT_EQ(check_bound(p, run(p)), "") << title(p) << " eps " << eps;
      }
    }
  }
}

TEST(ConstantRow, HasAVarianceOfExactlyZero) {
  for (const Format data : kDataFormats) {
    for (const std::int64_t columns : {1, 37, 4100}) {
      Problem p = example(Form::kLayerNormForward, data, {9, columns});
      const auto n = static_cast<std::size_t>(columns);
      for (std::size_t i = 0; i < p.value[kX].size(); ++i) {
        p.value[kX][i] = 0.1 + static_cast<double>(i / n);
      }
      settle(p);
      for (const normgrad::Isa isa : available_isas()) {
        const Outputs out = run_library(p, {3, isa, 1});
        const double rstd = reference::rounded(Format::kF32, 1 / std::sqrt(p.eps));
        EXPECT_EQ(values(p, out, kRstdOut), Values(9, rstd)) << title(p) << " " << name(isa);
        for (std::size_t row = 0; row < 9; ++row) {
          EXPECT_EQ(values(p, out, kMeanOut)[row], p.value[kX][row * n]);
          EXPECT_EQ(values(p, out, kY)[row * n], p.value[kB][0]);
        }
      }
      p.eps = 0;  // rstd is infinite, and 0*Inf is NaN
      const Outputs out = run(p);
      EXPECT_EQ(values(p, out, kRstdOut), Values(9, HUGE_VAL));
      for (const double y : values(p, out, kY)) ASSERT_TRUE(std::isnan(y));
    }
  }
}

// Zeros need not be exact to be right, whether eps or nothing is added to their variance, and neither need rows beside them.
TEST(ConstantRow, MayBeZeroAmongOthers) {
  for (const Form form : kRowForwardForms) {
    for (const Format data : kDataFormats) {
      for (const double eps : {0.0, 1e-5}) {
        Problem p = example(form, data, {20, 70});
        p.eps = eps;
        for (const std::size_t row : {0, 7, 8, 19}) {
          std::fill_n(p.value[kX].begin() + static_cast<std::ptrdiff_t>(row * 70), 70, 0.0);
        }
        expect_within_bound(p);
      }
    }
  }
}

// bf16 has the range of f32, and f32 alone would lose rows near its ends: their squares, rstd, or x - mean.
TEST(RowsAtTheEndsOfTheRange, AreNormalizedLikeOthers) {
  for (const Form form : kRowForwardForms) {
    const Problem plain = example(form, Format::kBF16, {5, 60});
    const Values expected = values(plain, run(plain), kY);
    for (const int exponent : {100, -100}) {
      Problem p = plain;
      p.eps = std::ldexp(plain.eps, 2 * exponent);
      for (double& x : p.value[kX]) x = std::ldexp(x, exponent);
      EXPECT_EQ(values(p, run(p), kY), expected) << title(p) << exponent;
    }
  }
}

TEST(Poison, StaysInItsRow) {
  for (const Form form : kRowForwardForms) {
    for (const Format data : kDataFormats) {
      for (const double poison : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        const Problem clean = example(form, data, {20, 37});
        Problem p = clean;
        p.value[kX][9 * 37 + 30] = poison;
        expect_within_bound(p);
        const Outputs got = run(p), expected = run(clean);
        for (const Slot slot : {kY, kMeanOut, kRstdOut}) {
          for (std::size_t i = 0; i < got.bits[slot].size(); ++i) {
            if ((slot == kY ? i / 37 : i) == 9) continue;
            ASSERT_EQ(got.bits[slot][i], expected.bits[slot][i]) << title(p) << name(slot) << i;
          }
        }
      }
    }
  }
}

// One element of dy, or of x where there is no dy, reaches its channel; all others keep their bits.
TEST(Poison, StaysInItsChannel) {
  for (const Form form : kSyncForms) {
    for (const Format data : kDataFormats) {
      for (const double poison : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        const Problem clean = example(form, data, {20, 7, 37});
        Problem p = clean;
        const std::size_t at = (9 * 7 + 4) * 37 + 30;
        p.value[p.big_input()][at] = poison;
        expect_within_bound(p);
        const Outputs got = run(p), expected = run(clean);
        const bool elementwise = form == Form::kElemtBackward || form == Form::kForwardGiven;
        for (const Slot slot : kOutputs) {
          const bool big = slot == p.big_output();
          for (std::size_t i = 0; i < got.bits[slot].size(); ++i) {
            const bool hit = big && elementwise ? i == at : (big ? i / 37 % 7 : i) == 4;
            const double value = decode(p.tensor[slot].format, got.bits[slot][i]);
            if (hit) {
              EXPECT_FALSE(std::isfinite(value)) << title(p) << " " << name(slot) << i;
            } else {
              ASSERT_EQ(got.bits[slot][i], expected.bits[slot][i]) << title(p) << name(slot) << i;
            }
          }
        }
      }
    }
  }
}

TEST(Poison, OfOneDeviceStaysInItsChannel) {
  const Problem clean = example(Form::kGatherStats, Format::kF32, {3, 9});
  for (const Slot slot : {kMean, kRstd}) {
    Problem p = clean;
    p.value[slot][9 + 4] = std::nan("");
    expect_within_bound(p);
    const Outputs got = run(p), expected = run(clean);
    for (const Slot output : {kMeanOut, kRstdOut, kRunningMean, kRunningVar}) {
      for (std::size_t c = 0; c < 9; ++c) {
        if (c == 4) continue;
        EXPECT_EQ(got.bits[output][c], expected.bits[output][c]) << name(output) << c;
      }
    }
    EXPECT_TRUE(std::isnan(values(p, got, kRstdOut)[4]));
  }
}

// Absent arguments are given the address 16 (library.cc): to look there is to crash.
TEST(Absent, ParametersHaveTheirDefaults) {
  for (const Form form : {Form::kForwardGiven, Form::kForwardTraining, Form::kElemtBackward}) {
    for (const Format data : kDataFormats) {
      Problem p = example(form, data, {4, 3, 17}), given = p;
      for (const Slot slot : {kW, kB, kMean, kRstd}) {
        if (!p.has(slot)) continue;
        p.tensor[slot] = {}, p.value[slot].clear();
        given.value[slot] = Values(3, slot == kMean || slot == kB ? 0.0 : 1.0);
      }
      expect_within_bound(p);
      EXPECT_EQ(first_difference(p, run(p), run(given)), "") << title(p);
    }
  }
}

// The running statistics are what they were and what they become, whatever the momentum.
TEST(Running, MomentumWeighsOldAndNew) {
  for (const double momentum : {0.0, 1.0, 0.25}) {
    Problem p = example(Form::kForwardTraining, Format::kF32, {4, 3, 17});
    for (const Slot slot : {kMeanOut, kRunningMean, kRunningVar}) {
      p.tensor[slot].format = Format::kF64;
    }
    p.momentum = momentum;
    expect_within_bound(p);
    const Outputs out = run(p);
    for (std::size_t c = 0; c < 3; ++c) {
      const double old = p.value[kRunningMean][c], fresh = values(p, out, kMeanOut)[c];
      EXPECT_EQ(values(p, out, kRunningMean)[c], (1 - momentum) * old + momentum * fresh);
      if (momentum != 0) continue;
      EXPECT_EQ(values(p, out, kRunningVar)[c], p.value[kRunningVar][c]);
    }
  }
}

void expect_refused(const Problem& p, const char* why) {
  normgrad::Plan plan;
  EXPECT_NE(make_plan(p, &plan), normgrad::Status::kOk) << why << ": " << describe(p);
  EXPECT_NE(std::string(normgradGetLastError()), "") << why;
}

TEST(Refused, WhatTheFormulasCannotUse) {
  const auto broken = [](Form form, const auto& change) {
    const Shape shape = form == Form::kGatherStats ? Shape{2, 3} : Shape{4, 3, 17};
    Problem p = layout(form, Format::kF32, shape);
    change(p);
    return p;
  };
  for (const Slot slot : {kDx, kDy, kX, kSumDyGiven, kSumDyXmuGiven, kCounts}) {
    expect_refused(broken(Form::kElemtBackward, [&](Problem& p) { p.tensor[slot] = {}; }),
                   name(slot));
  }
  for (const Slot slot : {kMeanOut, kRstdOut, kMean, kRstd, kCounts}) {
    expect_refused(broken(Form::kGatherStats, [&](Problem& p) { p.tensor[slot] = {}; }),
                   name(slot));
  }
  for (const Slot slot : {kW, kMean, kSumDyGiven}) {
    const auto set = [&](const TensorSpec& spec) {
      return broken(Form::kElemtBackward, [&](Problem& p) { p.tensor[slot] = spec; });
    };
    expect_refused(set(contiguous(Format::kI32, {3})), "i32");
    expect_refused(set(contiguous(Format::kF32, {4})), "another size");
    expect_refused(set(contiguous(Format::kF32, {3, 1})), "another rank");
  }
  expect_refused(
      broken(Form::kForwardTraining,
             [](Problem& p) { p.tensor[kX].format = p.tensor[kY].format = Format::kF64; }),
      "f64 data");
  expect_refused(
      broken(Form::kForwardTraining, [](Problem& p) { p.tensor[kRunningVar].strides[0] = 0; }),
      "an output onto itself");
  expect_refused(broken(Form::kForwardGiven,
                        [](Problem& p) { p.tensor[kRunningMean] = contiguous(Format::kF32, {3}); }),
                 "running statistics of given ones");
  expect_refused(broken(Form::kGatherStats,
                        [](Problem& p) { p.tensor[kCounts] = contiguous(Format::kF32, {3}); }),
                 "counts of other devices");
}

// With strides of 0 a shape may be larger than any memory; its sums are not.
TEST(Sizes, MoreChannelsThanMemoryHoldsAreRefused) {
  for (const int power : {59, 60, 61}) {
    normgrad::Tensor x;
    x.dtype = normgrad::DataType::kF16;
    x.rank = 2;
    x.shape[0] = 1;
    x.shape[1] = std::int64_t{1} << power;
    x.name = "x";
    normgrad::Problem forward;
    forward.op = normgrad::Op::kBatchNorm;
    forward[normgrad::Arg::kX] = x;
    normgrad::Problem backward;
    backward.op = normgrad::Op::kBatchNormBackward;
    backward[normgrad::Arg::kX] = backward[normgrad::Arg::kDy] = x;
    normgrad::Plan plan;
    EXPECT_EQ(make_plan(forward, &plan), normgrad::Status::kBadShape) << power;
    EXPECT_EQ(make_plan(backward, &plan), normgrad::Status::kBadShape) << power;
  }
}

}  // namespace
}  // namespace ops_test
