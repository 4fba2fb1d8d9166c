// One plan, or one descriptor, that eight threads run at once, each on data of its own: the bits of
// the serial run.
#include <gtest/gtest.h>

#include <array>

#include "concurrency/infiniop_call.h"
#include "concurrency/threads.h"
#include "ops/examples.h"
#include "ops/library.h"
#include "ops/operators.h"

namespace concurrency_test {
namespace {

using ops_test::Form;
using ops_test::Format;
using Shape = std::vector<std::int64_t>;

struct PlanOfForm {
  Form form;
  Format data;
  Shape shape;
  int runs;
};

std::vector<PlanOfForm> plans() {
  std::vector<PlanOfForm> out;
  for (const Format data : ops_test::kDataFormats) {
    for (const Form form : ops_test::kNormForms) {
      out.push_back({form, data, {6, 7, 33}, 10});
      if (data != Format::kF32) continue;
      out.push_back({form, data, {128, 8, 80}, 2});  // worth a team of threads
    }
    out.push_back({Form::kGatherStats, data, {3, 40}, 10});
  }
  return out;
}

TEST(OnePlan, RunByEightThreadsGivesTheBitsOfTheSerialRun) {
  for (const PlanOfForm& of : plans()) {
    const auto problem = [&](int t) {
      return ops_test::example(of.form, of.data, of.shape, static_cast<std::uint64_t>(t + 1));
    };
    std::array<ops_test::Outputs, kThreads> expected;
    for (int t = 0; t < kThreads; ++t) {
      expected[static_cast<std::size_t>(t)] = ops_test::run_library(problem(t));
    }
    normgrad::Plan made;
    ASSERT_EQ(make_plan(problem(0), &made), normgrad::Status::kOk);
    const normgrad::Plan& plan = made;
    normgrad::set_threads(2);
    in_threads(kThreads, [&](int t) {
      const ops_test::Problem mine = problem(t);
      for (int run = 0; run < repetitions(of.runs); ++run) {
        const ops_test::Outputs got = run_plan(mine, plan);
        EXPECT_EQ(first_difference(mine, got, expected[static_cast<std::size_t>(t)]), "")
            << title(mine);
      }
    });
    normgrad::set_threads(0);
  }
}

TEST(OneDescriptor, ComputedByEightThreadsGivesTheBitsOfTheSerialRun) {
  for (const std::vector<std::size_t>& shape : kShapes) {
    for (const api_test::Operator* op : api_test::operators()) {
      const api_test::Descriptor descriptor(*op, api_test::specs_for(*op, shape));
      const std::size_t bytes = descriptor.workspace_size();
      std::vector<InfiniopCall> calls;
      for (unsigned t = 0; t < kThreads; ++t) {
        calls.emplace_back(*op, shape, t);
        ASSERT_EQ(calls[t].run(descriptor.get(), bytes), INFINI_STATUS_SUCCESS);
        calls[t].expect_this();
      }
      in_threads(kThreads, [&](int t) {
        InfiniopCall& call = calls[static_cast<std::size_t>(t)];
        for (int run = 0; run < repetitions(200); ++run) {
          call.forget_outputs();
          EXPECT_EQ(call.run(descriptor.get(), bytes), INFINI_STATUS_SUCCESS);
          EXPECT_TRUE(call.is_as_expected()) << op->name;
        }
      });
    }
  }
}

}  // namespace
}  // namespace concurrency_test
