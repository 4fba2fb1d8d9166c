#include "aclnn/serial_run.h"

#include <gtest/gtest.h>

namespace aclnn_test {
namespace {

constexpr std::size_t kMostElements = 4000;

std::vector<Case> small_cases(std::uint64_t seed, std::size_t count) {
  std::vector<Case> out;
  for (std::size_t index = 0; out.size() < count; ++index) {
    const Api api = kApis[out.size() % std::size(kApis)];
    Case c = make_case(api, seed, index, true);
    const ops_test::Slot big = api == Api::kGatherStats ? ops_test::kMean : c.problem.big_input();
    if (element_count(c.problem.tensor[big]) <= kMostElements) out.push_back(std::move(c));
  }
  return out;
}

}  // namespace

std::string Expectation::difference() const {
  return first_difference(call->what().problem, call->finish(), outputs);
}

std::vector<Expectation> small_calls(std::uint64_t seed, std::size_t count) {
  std::vector<Expectation> out;
  for (const Case& c : small_cases(seed, count)) {
    auto call = std::make_unique<Call>(c);
    EXPECT_TRUE(call->reset());
    EXPECT_EQ(call->start(nullptr), "") << c.description();
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
    Outputs outputs = call->finish();
    EXPECT_EQ(first_difference(c.problem, outputs, run_library(c.problem)), "");
    out.push_back({std::move(call), std::move(outputs)});
  }
  return out;
}

}  // namespace aclnn_test
