// An RMSNorm problem of ordinary numbers, for tests of how it runs rather than of what comes out.
#ifndef TESTS_OPS_ROW_PROBLEM_H
#define TESTS_OPS_ROW_PROBLEM_H

#include <cstddef>
#include <vector>

#include "normgrad/plan.h"

namespace ops_test {

struct RowProblem {
  RowProblem(std::int64_t rows, std::int64_t columns)
      : dy(static_cast<std::size_t>(rows * columns)),
        x(dy.size()),
        dx(dy.size()),
        w(static_cast<std::size_t>(columns), 1.5f),
        dw(w.size()) {
    for (std::size_t i = 0; i < dy.size(); ++i) {
      dy[i] = static_cast<float>(i % 7) - 3;
      x[i] = static_cast<float>(i % 11) - 4;
    }
    normgrad::Problem problem;
    problem.op = normgrad::Op::kRmsNormBackward;
    problem[normgrad::Arg::kDx] = {
        normgrad::DataType::kF32, 2, {rows, columns}, {columns, 1}, "dx"};
    problem[normgrad::Arg::kDy] = problem[normgrad::Arg::kX] = problem[normgrad::Arg::kDx];
    problem[normgrad::Arg::kW] = {normgrad::DataType::kF32, 1, {columns}, {1}, "w"};
    problem[normgrad::Arg::kDw] = problem[normgrad::Arg::kW];
    planned = make_plan(problem, &plan) == normgrad::Status::kOk;
    workspace.resize(plan.workspace_bytes());
  }

  bool run() {
    using normgrad::Arg;
    normgrad::Addresses at;
    at[Arg::kDx] = dx.data(), at[Arg::kDw] = dw.data();
    at[Arg::kDy] = dy.data(), at[Arg::kW] = w.data(), at[Arg::kX] = x.data();
    return planned &&
           normgrad::run(plan, at, workspace.data(), workspace.size()) == normgrad::Status::kOk;
  }

  std::vector<float> dy, x, dx, w, dw;
  normgrad::Plan plan;
  bool planned;
  std::vector<std::byte> workspace;
};

}  // namespace ops_test

#endif
