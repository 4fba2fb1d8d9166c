#include "ops/rms_norm_backward/rms_norm_backward.h"

#include <cmath>

#include "normgrad/rms_norm_backward.h"
#include "ops/plan_checks.h"
#include "ops/row_backward.h"

namespace normgrad {
namespace {

constexpr char kName[] = "RmsNormBackward";

// y = w*x_hat with x_hat = x*r, r = 1/sqrt(mean(x^2)). As for LayerNorm, but nothing was centred: with a = w*dy
//   dx = r*(a - x_hat*mean(a*x_hat)),   dw = sum(dy*x_hat) down columns
kernels::RowMap of_x(double, double) { return {}; }
void finish_of_x(double sum_a_x, double sum_squares, double n, kernels::RowMap& map) {
  map.r = map.scale = 1.0 / std::sqrt(sum_squares / n);
  map.c2 = sum_a_x * map.r / n;
}
kernels::RowMap of_rstd(double, double rstd) { return {.r = rstd, .scale = rstd}; }
void finish_of_rstd(double, double sum_a_x_hat, double n, kernels::RowMap& map) {
  map.c2 = sum_a_x_hat / n;
}
constexpr RowRecipe kOfX = row_recipe<kernels::Terms::kWgxAndSquares, of_x, finish_of_x>;
constexpr RowRecipe kOfRstd = row_recipe<kernels::Terms::kWg, of_rstd, finish_of_rstd>;

}  // namespace

Status make_plan(const RmsNormBackward& p, Plan* plan) {
  Plan made;
  set_arguments(made, {&p.dx, &p.dw, &p.dy, &p.w, &p.x, &p.rstd}, 2);
  NORMGRAD_TRY(plan_row_norm(made, kRmsRoles));
  NORMGRAD_TRY(plan_row_backward(made, kRmsRoles));
  made.arithmetic = arithmetic();
  made.op = kName;
  made.execute = [](const Plan& self, void* const* data, std::byte* workspace) {
    const bool given = self.argument[kRmsRoles.rstd].tensor.present();
    run_row_backward(self, kRmsRoles, given ? kOfRstd : kOfX, data, workspace);
  };
  *plan = made;
  return Status::kOk;
}

Status run(const Plan& plan, const RmsNormBackwardData& d, void* workspace,
           std::size_t workspace_bytes) {
  NORMGRAD_TRY(check_op(plan, kName));
  const void* const data[] = {d.dx, d.dw, d.dy, d.w, d.x, d.rstd};
  return run(plan, const_cast<void* const*>(data), workspace, workspace_bytes);
}

}  // namespace normgrad
