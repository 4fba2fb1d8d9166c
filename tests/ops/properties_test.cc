// Laws that the results obey, whatever the values, in both arithmetics.
#include <gtest/gtest.h>

#include <functional>

#include "ops/check.h"
#include "ops/examples.h"
#include "ops/layouts.h"
#include "ops/library.h"

namespace ops_test {
namespace {

using reference::Gradients;
using reference::Quad;
using Shape = std::vector<std::int64_t>;

class Properties : public testing::TestWithParam<std::tuple<Form, Format, Arithmetic>> {
 protected:
  Form form() const { return std::get<0>(GetParam()); }
  Format data() const { return std::get<1>(GetParam()); }
  Arithmetic arithmetic() const { return std::get<2>(GetParam()); }
  Shape shape() const { return is_batch_norm(form()) ? Shape{6, 7, 45} : Shape{70, 3, 45}; }
  Outputs run(const Problem& p) const {
    Outputs out = run_library(p, {2, normgrad::Isa::kAvx512, 1, arithmetic()});
    EXPECT_EQ(out.failure, "") << title(p);
    return out;
  }
  // Row-major; BatchNorm also channels-last.
  std::vector<Problem> examples() const {
    std::vector<Problem> out = {example(form(), data(), shape())};
    if (!is_batch_norm(form())) return out;
    out.push_back(out[0]);
    for (const Slot slot : {kDx, kDy, kX}) {
      out[1].tensor[slot] = channels_last(data(), shape(), out[1].channel_axis);
    }
    return out;
  }
};

// Where neither side leaves the range of normal numbers, 2^k passes through every operation
// unrounded.
TEST_P(Properties, ScalingDyByAPowerOfTwoScalesEveryOutput) {
  for (const Problem& p : examples()) {
    const Outputs before = run(p);
    for (const int k : {1, 3}) {
      Problem scaled = p;
      for (double& dy : scaled.value[kDy]) dy = std::ldexp(dy, k);
      settle(scaled);
      const Outputs after = run(scaled);
      for (const Slot slot : kOutputs) {
        const Values a = values(p, before, slot), b = values(p, after, slot);
        for (std::size_t i = 0; i < a.size(); ++i) {
          if (std::fabs(a[i]) < std::ldexp(1.0, facts(data()).min_exponent + 1)) continue;
          ASSERT_EQ(b[i], std::ldexp(a[i], k)) << name(slot) << "[" << i << "]";
        }
      }
    }
  }
}

TEST_P(Properties, OnesInDyAreCounted) {
  for (Problem p : examples()) {
    if (!p.has(kDb)) return;
    for (double& dy : p.value[kDy]) dy = 1;
    const std::size_t outputs = element_count(p.tensor[kDb]);
    const double count = static_cast<double>(p.value[kDy].size() / outputs);
    const double expected = reference::rounded(data(), count);  // 210, and 270, which is no bf16
    for (const double db : values(p, run(p), kDb)) ASSERT_EQ(db, expected);
  }
}

// The allowances of the elements of dx of one group, added up with a factor each.
struct GroupSum {
  Quad sum = 0, allowance = 0;
};

GroupSum sum_group(const reference::Rule& rule, const Values& dx, const Gradients& exact,
                   const std::vector<std::size_t>& index,
                   const std::function<double(std::size_t)>& factor) {
  GroupSum out;
  for (const std::size_t i : index) {
    const auto verdict = within_bound(dx[i], exact.dx.value[i], exact.dx.scale[i], rule);
    out.sum += Quad{dx[i]} * factor(i);
    out.allowance += Quad{verdict.allowance} * std::fabs(factor(i));
  }
  return out;
}

std::vector<std::vector<std::size_t>> groups(const Problem& p) {
  std::vector<std::vector<std::size_t>> out;
  const bool channels = p.op == Op::kBatchNorm;
  const ChannelExtents c = channels ? channel_extents(p) : ChannelExtents{1, 1, 1};
  const std::size_t columns = row_extents(p).columns;
  for (std::size_t i = 0; i < p.value[kDy].size(); ++i) {
    const std::size_t group = channels ? i / c.inner % c.channels : i / columns;
    if (out.size() <= group) out.resize(group + 1);
    out[group].push_back(i);
  }
  return out;
}

// The exact right-hand side: 0 for RMSNorm; else -factor * mean(a*x_hat) * sum(x_hat) with factor s
// (LN) or w*s (BN).
Quad right_hand_side(const Problem& p, std::size_t group, const std::vector<std::size_t>& index) {
  if (p.op == Op::kRmsNorm) return 0;
  const bool channels = p.op == Op::kBatchNorm;
  const auto& v = p.value;
  const Quad s = p.has(kSigma) ? 1 / Quad{v[kSigma][group]} : Quad{v[kRstd][group]};
  Quad sum_x = 0, sum_ax = 0;
  for (const std::size_t i : index) {
    const Quad x_hat = p.has(kXHat) ? Quad{v[kXHat][i]} : (v[kX][i] - Quad{v[kMean][group]}) * s;
    sum_x += x_hat;
    sum_ax += (channels ? Quad{1} : Quad{v[kW][i % row_extents(p).columns]}) * v[kDy][i] * x_hat;
  }
  const Quad factor = channels ? s * v[kW][group] : s;
  return -factor * sum_ax / static_cast<double>(index.size()) * sum_x;
}

// LN, BN: sum(dx) is what the inexact statistics leave. RMS: dx is orthogonal to x.
TEST_P(Properties, SumsOfDxOverAGroup) {
  if (form() == Form::kBatchNormInference || form() == Form::kRmsNormOfRstd) return;  // no such law
  const Problem p = example(form(), data(), shape());
  const Values dx = values(p, run(p), kDx);
  const Gradients exact = reference_gradients(p);
  const bool rms = p.op == Op::kRmsNorm;
  const reference::Rule rule{arithmetic_of(p.op, arithmetic()), reference::Output::kElement, data(),
                             data()};
  std::size_t group = 0;
  for (const std::vector<std::size_t>& index : groups(p)) {
    const GroupSum got = sum_group(rule, dx, exact, index,
                                   [&](std::size_t i) { return rms ? p.value[kX][i] : 1.0; });
    const Quad error = reference::magnitude(got.sum - right_hand_side(p, group++, index));
    ASSERT_LE(static_cast<double>(error), static_cast<double>(got.allowance))
        << "group " << group - 1;
  }
}

// Entries [first, first + count) of dim 0.
Problem slice_of(const Problem& whole, std::size_t first, std::size_t count) {
  Problem slice = whole;
  const auto extent = static_cast<std::size_t>(whole.tensor[kDy].shape[0]);
  std::vector<Slot> slots = {kDy, kX, kXHat};
  if (is_row_norm(whole.op)) slots.insert(slots.end(), {kMean, kRstd, kSigma});
  for (const Slot slot : slots) {
    if (!whole.has(slot)) continue;
    const Values& v = whole.value[slot];
    const auto each = static_cast<std::ptrdiff_t>(v.size() / extent);
    const auto begin = v.begin() + static_cast<std::ptrdiff_t>(first) * each;
    slice.value[slot] = Values(begin, begin + static_cast<std::ptrdiff_t>(count) * each);
    slice.tensor[slot].shape[0] = static_cast<std::int64_t>(count);
  }
  slice.tensor[kDx].shape[0] = static_cast<std::int64_t>(count);
  return slice;
}

// A slice of the batch has the dx of the slice, where no sum runs over the batch; also where some rows are exact.
TEST_P(Properties, DxOfASliceIsTheSliceOfDx) {
  if (form() == Form::kBatchNormTraining) return;  // its sums run over the batch
  std::vector<Problem> wholes = examples();
  wholes.push_back(example(form(), data(), shape(), 2, DataClass::kMixedGroups));
  for (const Problem& whole : wholes) {
    const Values dx = values(whole, run(whole), kDx);
    const std::size_t first = 2, size = dx.size() / static_cast<std::size_t>(shape()[0]);
    const Problem slice = slice_of(whole, first, 3);
    const Values got = values(slice, run(slice), kDx);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double expected = dx[first * size + i];
      ASSERT_TRUE(got[i] == expected || (std::isnan(got[i]) && std::isnan(expected))) << i;
    }
  }
}

// Channels know nothing of each other: (n, c, l) with its channels reversed has its results
// reversed.
TEST_P(Properties, ReversingChannelsReversesResults) {
  if (!is_batch_norm(form())) return;
  const auto channels = static_cast<std::size_t>(shape()[1]),
             inner = static_cast<std::size_t>(shape()[2]);
  const auto mirrored = [&](std::size_t i, std::size_t size) {
    if (size == channels) return channels - 1 - i;
    const std::size_t c = i / inner % channels;
    return i + inner * (channels - 1 - c) - inner * c;
  };
  for (const Problem& p : examples()) {
    const Outputs expected = run(p);
    Problem reversed = p;
    for (const Slot slot : kInputs) {
      const Values& from = p.value[slot];
      for (std::size_t i = 0; i < from.size(); ++i)
        reversed.value[slot][mirrored(i, from.size())] = from[i];
    }
    const Outputs got = run(reversed);
    for (const Slot slot : kOutputs) {
      const Bits& bits = expected.bits[slot];
      for (std::size_t i = 0; i < bits.size(); ++i)
        ASSERT_EQ(got.bits[slot][mirrored(i, bits.size())], bits[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, Properties,
                         testing::Combine(testing::ValuesIn(kForms),
                                          testing::ValuesIn(kDataFormats),
                                          testing::ValuesIn(kArithmetics)),
                         [](const auto& param_info) {
                           return std::string(name(std::get<0>(param_info.param))) + "_" +
                                  reference::facts(std::get<1>(param_info.param)).name + "_" +
                                  name(std::get<2>(param_info.param));
                         });

}  // namespace
}  // namespace ops_test
