// The library returns the bits of the scalar model, which is the accumulation tree and the order of
// evaluation written out (tree.h): speed work changes no bit.
#include <gtest/gtest.h>

#include "ops/cases.h"
#include "ops/examples.h"
#include "ops/model.h"

namespace ops_test {
namespace {

constexpr std::uint64_t kSeed = 77000000;
constexpr std::size_t kCasesPerOp = 400;

class ModelBits : public testing::TestWithParam<Op> {};

TEST_P(ModelBits, OfGeneratedCases) {
  for (std::size_t index = 0; index < kCasesPerOp; ++index) {
    const Case c = make_case(GetParam(), kSeed, index);
    const Outputs got = run_library(c.problem, c.settings);
    ASSERT_EQ(first_difference(c.problem, got, run_model(c.problem)), "")
        << "case " << index << ": " << c.description();
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, ModelBits, testing::ValuesIn(kOps),
                         [](const auto& param_info) { return name(param_info.param); });

// With the machine's cache and with a tiny one.
void expect_model_bits(const Problem& p) {
  SCOPED_TRACE(title(p));
  const Outputs expected = run_model(p);
  for (const std::int64_t cache_bytes : {4096, 0}) {
    const OtherCache cache(cache_bytes);
    for (const normgrad::Isa isa : available_isas()) {
      EXPECT_EQ(first_difference(p, run_library(p, {2, isa, 3}), expected), "")
          << name(isa) << ", cache " << cache_bytes;
    }
  }
}

// Past every threshold at which the work is cut in another way.
TEST(ModelBitsOfLargeProblems, RowNorms) {
  for (const Form form : kNormForms) {
    if (is_batch_norm(form)) continue;
    for (const Format data : kDataFormats) {
      for (const std::vector<std::int64_t>& shape :
           std::vector<std::vector<std::int64_t>>{{9, 9000},
                                                  {70, 1025},
                                                  {300, 300},
                                                  {300, 1030},
                                                  {33000, 3},
                                                  {17000, 17},
                                                  {2, 70001},
                                                  {130, 4097}}) {
        expect_model_bits(example(form, data, shape));
      }
    }
  }
}

TEST(ModelBitsOfLargeProblems, ChannelNorms) {
  for (const Form form : {Form::kBatchNormTraining, Form::kBatchNormInference}) {
    for (const Format data : kDataFormats) {
      for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{
               {4, 5, 60, 60},
               {33, 64, 7, 7},
               {70000, 3},
               {3, 1, 40000},
               {2, 300, 129},
               // Whole channels of several chunks, several of them together.
               {200, 40, 40},
               {8, 40, 28, 28}}) {
        expect_model_bits(example(form, data, shape));
      }
    }
  }
}

// Few and many channels, short and long ones.
TEST(ModelBitsOfLargeProblems, SyncBatchNorm) {
  for (const Form form : kSyncForms) {
    for (const Format data : kDataFormats) {
      for (const std::vector<std::int64_t>& shape :
           std::vector<std::vector<std::int64_t>>{{9, 40, 7, 7}, {20000, 2}, {3, 1, 9000}}) {
        expect_model_bits(example(form, data, shape));
      }
    }
  }
}

// Rows of 16-bit data whose squares f32 loses, among rows whose squares it keeps.
TEST(ModelBitsOfRmsNorm, GroupsOutsideTheRangeOfF32) {
  for (const Format data : {Format::kF16, Format::kBF16}) {
    for (const std::int64_t columns : {5, 100, 9000}) {
      Problem p = example(Form::kRmsNorm, data, {45, columns});
      const auto set_row = [&](std::size_t row, double factor) {
        const auto n = static_cast<std::size_t>(columns);
        for (std::size_t d = 0; d < n; ++d) p.value[kX][row * n + d] *= factor;
      };
      set_row(3, 0);
      set_row(19, data == Format::kBF16 ? 1e30 : HUGE_VAL);
      set_row(44, data == Format::kBF16 ? 1e-30 : 0);
      settle(p);
      expect_model_bits(p);
    }
  }
}

// 2^-100 and 2^120 themselves, and their neighbours.
TEST(ModelBitsOfRmsNorm, EdgesOfTheRange) {
  for (const double first : {0x1p-50, 0x1.fep-51, 0x1p60, 0x1.02p60}) {
    Problem p = example(Form::kRmsNorm, Format::kBF16, {11, 7});
    for (std::size_t d = 0; d < 7; ++d) p.value[kX][9 * 7 + d] = d == 0 ? first : 0;
    expect_model_bits(p);
  }
}

}  // namespace
}  // namespace ops_test
