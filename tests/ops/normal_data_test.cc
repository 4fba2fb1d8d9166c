// The bound of fast arithmetic is a worst case and hides defects. Of random normal data, which comes nowhere near the worst
// case, every output is held to 1/2*ulp(r) + 2^-22*T; the largest error seen is printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <iomanip>
#include <iostream>

#include "ops/check.h"
#include "ops/examples.h"
#include "ops/layouts.h"

namespace ops_test {
namespace {

using reference::Expected;
using reference::Quad;
using Shape = std::vector<std::int64_t>;

class NormalData : public testing::TestWithParam<std::tuple<Form, Format>> {
 protected:
  Form form() const { return std::get<0>(GetParam()); }
  Format data() const { return std::get<1>(GetParam()); }
  // 2^-22*T allows 1.
  double largest_ = 0;

  void expect_close(const Problem& p, const Outputs& got, Slot slot, const Expected& exact) {
    const Values y = values(p, got, slot);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const Quad error = reference::magnitude(y[i] - exact.value[i]);
      const Quad beyond = error - Quad{reference::ulp(exact.value[i], p.tensor[slot].format)} / 2;
      const double used = static_cast<double>(beyond / (exact.scale[i] * 0x1p-22));
      ASSERT_TRUE(beyond <= 0 || used <= 1) << name(slot) << "[" << i << "] is " << used
                                            << " times 2^-22*T off, besides its rounding";
      if (beyond > 0) largest_ = std::max(largest_, used);
    }
  }

  void expect_close(const Problem& p, const ExpectedOutputs& exact) {
    SCOPED_TRACE(describe(p));
    const Outputs got = run_library(p, {2});
    ASSERT_EQ(got.failure, "");
    for (const Slot slot : kOutputs) {
      if (p.has(slot)) expect_close(p, got, slot, exact.output[slot]);
    }
  }
};

TEST_P(NormalData, IsMuchCloserThanTheBound) {
  const std::vector<Shape> shapes =
      is_batch_norm(form())
          ? std::vector<Shape>{{6, 7, 45}, {8, 16, 14, 14}, {3000, 20}, {2, 3, 20000}}
          : std::vector<Shape>{{70, 45}, {37, 1024}, {3, 20000}, {9000, 7}};
  for (const Shape& shape : shapes) {
    for (const std::uint64_t seed : {1, 2}) {
      for (const DataClass offset :
           {DataClass::kNormal, DataClass::kOffset100, DataClass::kOffset10000}) {
        if (offset != DataClass::kNormal && data() != Format::kF32) break;  // x would be constant
        Problem p = example(form(), data(), shape, seed, offset);
        const ExpectedOutputs exact = expected_outputs(p);  // of any layout
        expect_close(p, exact);
        if (!is_batch_norm(form())) continue;
        for (const Slot slot : {kDx, kDy, kX, kY}) {
          if (p.has(slot)) p.tensor[slot] = channels_last(data(), shape, p.channel_axis);
        }
        expect_close(p, exact);
      }
    }
  }
  std::cout << "largest: " << std::setprecision(3) << largest_ << " * 2^-22*T\n";
}

INSTANTIATE_TEST_SUITE_P(
    Forms, NormalData,
    testing::Combine(testing::Values(Form::kLayerNormOfXHat, Form::kLayerNormOfX, Form::kRmsNorm,
                                     Form::kRmsNormOfRstd, Form::kBatchNormTraining,
                                     Form::kBatchNormInference, Form::kBatchNormSums,
                                     Form::kElemtBackward, Form::kForwardTraining,
                                     Form::kForwardGiven, Form::kLayerNormForward,
                                     Form::kRmsNormForward),
                     testing::ValuesIn(kDataFormats)),
    [](const auto& param_info) {
      return std::string(name(std::get<0>(param_info.param))) + "_" +
             reference::facts(std::get<1>(param_info.param)).name;
    });

}  // namespace
}  // namespace ops_test
