#include "ops/rms_norm/rms_norm.h"

#include "normgrad/rms_norm.h"
#include "ops/plan_checks.h"

namespace normgrad {
namespace {

constexpr char kName[] = "RmsNorm";

}  // namespace

Status make_plan(const RmsNorm& p, Plan* plan) {
  Plan made;
  set_arguments(made, {&p.y, &p.rstd, &p.x, &p.w}, 2);
  NORMGRAD_TRY(plan_row_forward(made, kRmsNormRoles));
  made.eps = p.eps;
  made.op = kName;
  made.execute = [](const Plan& self, void* const* data, std::byte* workspace) {
    choose_rms_norm(isa())(self, data, workspace);
  };
  *plan = made;
  return Status::kOk;
}

Status run(const Plan& plan, const RmsNormData& d, void* workspace, std::size_t workspace_bytes) {
  NORMGRAD_TRY(check_op(plan, kName));
  const void* const data[] = {d.y, d.rstd, d.x, d.w};
  return run(plan, const_cast<void* const*>(data), workspace, workspace_bytes);
}

}  // namespace normgrad
