// An RMSNorm problem of ordinary numbers, for tests of how it runs rather than of what comes out.
#ifndef TESTS_OPS_ROW_PROBLEM_H
#define TESTS_OPS_ROW_PROBLEM_H

#include <cstddef>
#include <vector>

#include "normgrad/rms_norm_backward.h"

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
    normgrad::RmsNormBackward problem;
    problem.dx = {normgrad::DataType::kF32, 2, {rows, columns}, {columns, 1}, "dx"};
    problem.dy = problem.x = problem.dx;
    problem.w = {normgrad::DataType::kF32, 1, {columns}, {1}, "w"};
    problem.dw = problem.w;
    planned = make_plan(problem, &plan) == normgrad::Status::kOk;
    workspace.resize(plan.workspace_bytes);
  }

  bool run() {
    const normgrad::RmsNormBackwardData data{dx.data(), dw.data(), dy.data(),
                                             w.data(),  x.data(),  nullptr};
    return planned &&
           normgrad::run(plan, data, workspace.data(), workspace.size()) == normgrad::Status::kOk;
  }

  std::vector<float> dy, x, dx, w, dw;
  normgrad::Plan plan;
  bool planned;
  std::vector<std::byte> workspace;
};

}  // namespace ops_test

#endif
