// Thousands of generated cases: every element of every output within the bound, nothing else written; with a tiny cache the
// same bits.
//   NORMGRAD_SEED=7 ops_generated_test                  other cases
//   NORMGRAD_CASE=rms_norm:123 ops_generated_test       that case alone; rms_norm_exact:123 in exact arithmetic
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "ops/cases.h"
#include "ops/check.h"

namespace ops_test {
namespace {

constexpr std::size_t kShards = 4;

std::size_t case_count(const Way& way) {
  if (way.arithmetic == Arithmetic::kExact) return 1050;
  return way.op <= Op::kBatchNorm ? 2000 : 1050;
}

std::uint64_t master_seed() {
  const char* text = std::getenv("NORMGRAD_SEED");
  return text == nullptr ? 20240607 : std::strtoull(text, nullptr, 0);
}

Tally& tally() {
  static Tally instance;
  return instance;
}

class Report : public testing::Environment {
 public:
  void SetUp() override { std::cout << "master seed " << master_seed() << "\n"; }
  void TearDown() override { std::cout << tally().report(); }
};
const auto* const kReport = testing::AddGlobalTestEnvironment(new Report);

void run_one(const Way& way, std::size_t index) {
  const Case c = make_case(way.op, master_seed(), index, way.arithmetic);
  const Outputs got = run_library(c.problem, c.settings);
  std::string message = check(c.problem, got, tally(), way.arithmetic);
  if (message.empty()) {
    const OtherCache tiny(4096);
    message = first_difference(c.problem, run_library(c.problem, c.settings), got);
    if (!message.empty()) message = "with a tiny cache: " + message;
  }
  if (message.empty()) return;
  ADD_FAILURE() << message << "\n  case: " << c.description()
                << "\n  again: NORMGRAD_SEED=" << master_seed() << " NORMGRAD_CASE=" << name(way)
                << ":" << index << " ops_generated_test";
}

// The case that NORMGRAD_CASE names, if it is one of these.
bool only_case(const Way& way, std::size_t* index) {
  const std::string text = std::getenv("NORMGRAD_CASE");
  const std::string prefix = name(way) + ":";
  if (text.rfind(prefix, 0) != 0) return false;
  *index = std::strtoull(text.c_str() + prefix.size(), nullptr, 10);
  return true;
}

class GeneratedCases : public testing::TestWithParam<std::tuple<Way, std::size_t>> {};

TEST_P(GeneratedCases, AreWithinTheBound) {
  const auto [way, shard] = GetParam();
  if (std::getenv("NORMGRAD_CASE") != nullptr) {
    std::size_t index = 0;
    if (!only_case(way, &index) || index % kShards != shard) return;
    std::cout << make_case(way.op, master_seed(), index, way.arithmetic).description() << "\n";
    return run_one(way, index);
  }
  for (std::size_t index = shard; index < case_count(way); index += kShards) {
    run_one(way, index);
    const testing::TestResult* result =
        testing::UnitTest::GetInstance()->current_test_info()->result();
    if (result->total_part_count() > 20) return;  // failures; more would tell nothing new
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, GeneratedCases,
                         testing::Combine(testing::ValuesIn(ways()),
                                          testing::Range(std::size_t{0}, kShards)),
                         [](const auto& param_info) {
                           return name(std::get<0>(param_info.param)) + "_" +
                                  std::to_string(std::get<1>(param_info.param));
                         });

}  // namespace
}  // namespace ops_test
