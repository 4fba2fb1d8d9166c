#include "ops/layer_norm_backward/layer_norm_backward.h"

#include "normgrad/layer_norm_backward.h"
#include "ops/plan_checks.h"

namespace normgrad {
namespace {

constexpr char kName[] = "LayerNormBackward";

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
  NORMGRAD_TRY(plan_row_norm(made, is_given_x_hat(made) ? kRolesOfXHat : kRolesOfX));
  made.op = kName;
  made.execute = [](const Plan& self, void* const* data, std::byte* workspace) {
    choose_layer_norm_backward(isa())(self, data, workspace);
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
