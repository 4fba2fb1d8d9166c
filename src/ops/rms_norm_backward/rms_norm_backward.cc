#include "ops/rms_norm_backward/rms_norm_backward.h"

#include "normgrad/rms_norm_backward.h"
#include "ops/plan_checks.h"

namespace normgrad {
namespace {

constexpr char kName[] = "RmsNormBackward";

}  // namespace

Status make_plan(const RmsNormBackward& p, Plan* plan) {
  Plan made;
  set_arguments(made, {&p.dx, &p.dw, &p.dy, &p.w, &p.x, &p.rstd}, 2);
  NORMGRAD_TRY(plan_row_norm(made, kRmsRoles));
  made.op = kName;
  made.execute = [](const Plan& self, void* const* data, std::byte* workspace) {
    choose_rms_norm_backward(isa())(self, data, workspace);
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
