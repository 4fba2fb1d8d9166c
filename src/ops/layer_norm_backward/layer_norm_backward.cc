#include "ops/layer_norm_backward/layer_norm_backward.h"

#include "normgrad/layer_norm_backward.h"
#include "ops/plan_checks.h"
#include "ops/row_backward.h"

namespace normgrad {
namespace {

constexpr char kName[] = "LayerNormBackward";

// y = w*x_hat + b with x_hat = (x - mean)*r. Let a = w*dy; means run over the n columns of a row. d(loss)/d(x_hat) = a; the
// path through the mean of x takes the mean of a away, the path through r takes away the component of a along x_hat, and
// all paths share the factor r:
//   dx = r*(a - mean(a) - x_hat*mean(a*x_hat))
//   dw = sum(dy*x_hat), db = sum(dy)     down columns
kernels::RowMap of_x_hat(double, double sigma) { return {.scale = 1.0 / sigma}; }
kernels::RowMap of_x(double mean, double rstd) { return {.mean = mean, .r = rstd, .scale = rstd}; }
void finish(double sum_a, double sum_a_x_hat, double n, kernels::RowMap& map) {
  map.c1 = sum_a / n;
  map.c2 = sum_a_x_hat / n;
}
constexpr RowRecipe kOfXHat = row_recipe<kernels::Terms::kWg, of_x_hat, finish>;
constexpr RowRecipe kOfX = row_recipe<kernels::Terms::kWg, of_x, finish>;

}  // namespace

Status make_plan(const LayerNormBackward& p, Plan* plan) {
  if (p.x_hat.present() == p.x.present() || p.x_hat.present() != p.sigma.present()) {
    return fail(Status::kNullPointer, "either x_hat and sigma must be given, or x, mean and rstd");
  }
  if (p.x.present() != p.mean.present() || p.x.present() != p.rstd.present()) {
    return fail(Status::kNullPointer, "x, mean and rstd must be given together");
  }
  Plan made;
  set_arguments(made,
                {&p.dx, &p.dw, &p.db, &p.dy, &p.w, &p.x_hat, &p.sigma, &p.x, &p.mean, &p.rstd}, 3);
  const RowRoles& roles = is_given_x_hat(made) ? kRolesOfXHat : kRolesOfX;
  NORMGRAD_TRY(plan_row_norm(made, roles));
  NORMGRAD_TRY(plan_row_backward(made, roles));
  made.arithmetic = arithmetic();
  made.op = kName;
  made.execute = [](const Plan& self, void* const* data, std::byte* workspace) {
    if (is_given_x_hat(self)) {
      run_row_backward(self, kRolesOfXHat, kOfXHat, data, workspace);
    } else {
      run_row_backward(self, kRolesOfX, kOfX, data, workspace);
    }
  };
  *plan = made;
  return Status::kOk;
}

Status run(const Plan& plan, const LayerNormBackwardData& d, void* workspace,
           std::size_t workspace_bytes) {
  NORMGRAD_TRY(check_op(plan, kName));
  const void* const data[] = {d.dx, d.dw, d.db, d.dy, d.w, d.x_hat, d.sigma, d.x, d.mean, d.rstd};
  return run(plan, const_cast<void* const*>(data), workspace, workspace_bytes);
}

}  // namespace normgrad
