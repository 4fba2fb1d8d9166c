// Generated cases through the C interface have the bits of the core, and write nothing else.
//   NORMGRAD_TEST_CASES=50 aclnn_generated_test         fewer cases of each operator
//   NORMGRAD_CASE=ReduceBackward:12 aclnn_generated_test     that case alone
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "aclnn/call.h"
#include "aclnn/device.h"
#include "ops/hash.h"

namespace aclnn_test {
namespace {

constexpr std::uint64_t kSeed = 40000000;

// Of the first cases of every operator, on either SoC.
constexpr std::size_t kHashedCases = 60;
constexpr std::uint64_t kGoldenHash950 =
#include "aclnn/golden_hash_950.inc"
    ;
constexpr std::uint64_t kGoldenHash910B =
#include "aclnn/golden_hash_910b.inc"
    ;

std::size_t case_count() {
  const char* text = std::getenv("NORMGRAD_TEST_CASES");
  return text == nullptr ? 1000 : std::strtoull(text, nullptr, 10);
}

// Every third case on the default stream.
Outputs run_aclnn(const Case& c, std::size_t index, aclrtStream stream) {
  Call call(c);
  if (!call.reset()) return {{}, complaint("reset", -1)};
  const aclrtStream chosen = index % 3 == 0 ? nullptr : stream;
  const std::string failure = call.start(chosen);
  if (!failure.empty()) return {{}, failure};
  const aclError code = aclrtSynchronizeStream(chosen);
  if (code != ACL_SUCCESS) return {{}, complaint("aclrtSynchronizeStream", code)};
  return call.finish();
}

class GeneratedCases : public testing::TestWithParam<Api> {};

void run_one(Api api, std::size_t index, aclrtStream stream) {
  const Case c = make_case(api, kSeed, index);
  const Outputs expected = run_library(c.problem);
  EXPECT_EQ(first_difference(c.problem, run_aclnn(c, index, stream), expected), "")
      << "case " << index << ": " << c.description();
}

TEST_P(GeneratedCases, HaveTheBitsOfTheCore) {
  const Device device;
  const Stream stream;
  const std::string prefix = std::string(name(GetParam())) + ":";
  if (const char* only = std::getenv("NORMGRAD_CASE"); only != nullptr) {
    if (std::string(only).rfind(prefix, 0) != 0) return;
    return run_one(GetParam(), std::strtoull(only + prefix.size(), nullptr, 10), stream.get());
  }
  for (std::size_t index = 0; index < case_count(); ++index) {
    run_one(GetParam(), index, stream.get());
    const testing::TestResult* result =
        testing::UnitTest::GetInstance()->current_test_info()->result();
    if (result->total_part_count() > 20) return;  // failures; more would tell nothing new
  }
}

INSTANTIATE_TEST_SUITE_P(Apis, GeneratedCases, testing::ValuesIn(kApis),
                         [](const auto& param_info) { return name(param_info.param); });

TEST(GoldenHash, IsThatOfEveryStreamMode) {
  const Device device;
  const Stream stream;
  ops_test::Hash hash;
  for (const Api api : kApis) {
    for (std::size_t index = 0; index < kHashedCases; ++index) {
      const Case c = make_case(api, kSeed, index);
      const Outputs outputs = run_aclnn(c, index, stream.get());
      ASSERT_EQ(outputs.failure, "") << c.description();
      hash.add(c.problem, outputs);
    }
  }
  std::cout << "hash of the aclnn operators: 0x" << std::hex << hash.value() << std::dec << "\n";
  EXPECT_EQ(hash.value(), is_910b() ? kGoldenHash910B : kGoldenHash950);
}

// What the generator is meant to reach, it reaches.
TEST(Cases, CoverTheirGround) {
  for (const Api api : kApis) {
    SCOPED_TRACE(name(api));
    std::size_t strided = 0, in_place = 0, last_axis = 0, nulls = 0, training = 0;
    for (std::size_t index = 0; index < 200; ++index) {
      const Case c = make_case(api, kSeed, index);
      const Problem& p = c.problem;
      for (const ops_test::TensorSpec& spec : p.tensor) {
        strided += spec.strides != ops_test::contiguous(spec.format, spec.shape).strides;
        for (const std::int64_t stride : spec.strides) EXPECT_GE(stride, 0);
        EXPECT_NE(spec.format, Format::kF64);
      }
      in_place += p.dx_shares != ops_test::kDx;
      last_axis += p.channel_axis > 1;
      nulls += !c.null.empty();
      training += p.training;
    }
    const bool backward = api == Api::kBatchNormBackward || api == Api::kFastBatchNormBackward;
    const bool two_modes = backward || api == Api::kBatchNorm;
    EXPECT_GT(strided, 50u);
    EXPECT_EQ(last_axis > 10, two_modes && !is_910b());
    EXPECT_EQ(nulls > 3, two_modes);
    EXPECT_EQ(training > 20 && training < 180, two_modes);
    EXPECT_EQ(in_place > 10, two_modes || api == Api::kElemtBackward || api == Api::kElemt);
  }
}

}  // namespace
}  // namespace aclnn_test
