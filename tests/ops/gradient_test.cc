// The library's own results against central differences of the forward function, without the
// reference in between. L = sum(dy*y); forward in quad, h = 1e-9; statistics are f64, so agreement
// is the bound's plus 1e-12*T: half an ulp in exact arithmetic, 2^-22*T more in fast, as normal data has it.
#include <gtest/gtest.h>

#include <functional>

#include "ops/examples.h"
#include "ops/library.h"
#include "reference/criterion.h"

namespace ops_test {
namespace {

using reference::Quad;
using reference::square_root;
using Vector = std::vector<Quad>;

struct Moments {
  Quad mean = 0, var = 0, square = 0;
};

Moments moments(const Vector& x, const std::vector<std::size_t>& index) {
  Moments out;
  const Quad n = static_cast<double>(index.size());
  for (const std::size_t i : index) out.mean += x[i] / n, out.square += x[i] * x[i] / n;
  for (const std::size_t i : index) out.var += (x[i] - out.mean) * (x[i] - out.mean) / n;
  return out;
}

// (3, 4, 5): rows of 5, or channels of 3 x 5.
constexpr std::size_t kSize = 60;
std::size_t group_of(const Problem& p, std::size_t i) {
  return p.op == Op::kBatchNorm ? i / 5 % 4 : i / 5;
}
std::size_t weight_of(const Problem& p, std::size_t i) {
  return p.op == Op::kBatchNorm ? i / 5 % 4 : i % 5;
}

std::vector<std::size_t> members(const Problem& p, std::size_t group) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < kSize; ++i) {
    if (group_of(p, i) == group) out.push_back(i);
  }
  return out;
}

Quad loss(const Problem& p, const Vector& x, const Vector& w) {
  Quad out = 0;
  for (std::size_t group = 0; group < kSize; ++group) {
    const std::vector<std::size_t> index = members(p, group);
    if (index.empty()) break;
    const Moments m = moments(x, index);
    for (const std::size_t i : index) {
      const Quad x_hat = p.op == Op::kRmsNorm ? x[i] / square_root(m.square)
                                              : (x[i] - m.mean) / square_root(m.var);
      out += p.value[kDy][i] * w[weight_of(p, i)] * x_hat;
    }
  }
  return out;
}

Quad slope(Vector& moved, std::size_t i, const std::function<Quad()>& f) {
  const Quad h = 1e-9, at = moved[i];
  moved[i] = at + h;
  const Quad above = f();
  moved[i] = at - h;
  const Quad below = f();
  moved[i] = at;
  return (above - below) / (2 * h);
}

// Statistics of x to f64, in place of the f32 ones that example() gives.
void refine_statistics(Problem& p, const Vector& x) {
  for (const Slot slot : {kMean, kRstd}) {
    if (p.has(slot)) p.tensor[slot] = contiguous(Format::kF64, p.tensor[slot].shape);
  }
  for (std::size_t g = 0; g < p.value[kRstd].size(); ++g) {
    const Moments m = moments(x, members(p, g));
    p.value[kMean][g] = static_cast<double>(m.mean);
    p.value[kRstd][g] = static_cast<double>(1 / square_root(m.var));
  }
}

class FiniteDifferences : public testing::TestWithParam<Form> {};

TEST_P(FiniteDifferences, MatchTheLibrary) {
  Problem p = example(GetParam(), Format::kF32, {3, 4, 5});
  Vector x(p.value[kX].begin(), p.value[kX].end()), w(p.value[kW].begin(), p.value[kW].end());
  refine_statistics(p, x);
  const reference::Gradients scale = reference_gradients(p);
  const auto f = [&] { return loss(p, x, w); };
  for (const Arithmetic arithmetic : kArithmetics) {
    const Outputs got = run_library(p, {1, normgrad::Isa::kAvx512, 1, arithmetic});
    ASSERT_EQ(got.failure, "");
    const double c = arithmetic == Arithmetic::kFast ? 0x1p-22 : 2e-12;
    const auto close = [&](std::uint64_t bits, Quad expected, Quad T) {
      const Quad error = reference::magnitude(decode(Format::kF32, bits) - expected);
      return error <= Quad{reference::ulp(expected, Format::kF32)} / 2 + T * c;
    };
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_TRUE(close(got.bits[kDx][i], slope(x, i, f), scale.dx.scale[i])) << "dx[" << i << "]";
    }
    for (std::size_t i = 0; i < w.size(); ++i) {
      EXPECT_TRUE(close(got.bits[kDw][i], slope(w, i, f), scale.dw.scale[i])) << "dw[" << i << "]";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, FiniteDifferences,
                         testing::Values(Form::kLayerNormOfX, Form::kRmsNorm,
                                         Form::kBatchNormTraining),
                         [](const auto& param_info) { return name(param_info.param); });

}  // namespace
}  // namespace ops_test
