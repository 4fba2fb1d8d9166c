#include "ops/layer_norm/layer_norm.h"

#include "normgrad/layer_norm.h"
#include "ops/plan_checks.h"

namespace normgrad {
namespace {

constexpr char kName[] = "LayerNorm";

}  // namespace

Status make_plan(const LayerNorm& p, Plan* plan) {
  Plan made;
  set_arguments(made, {&p.y, &p.mean, &p.rstd, &p.x, &p.w, &p.b}, 3);
  NORMGRAD_TRY(plan_row_forward(made, kLayerNormRoles));
  made.eps = p.eps;
  made.op = kName;
  made.execute = [](const Plan& self, void* const* data, std::byte* workspace) {
    choose_layer_norm(isa())(self, data, workspace);
  };
  *plan = made;
  return Status::kOk;
}

Status run(const Plan& plan, const LayerNormData& d, void* workspace, std::size_t workspace_bytes) {
  NORMGRAD_TRY(check_op(plan, kName));
  const void* const data[] = {d.y, d.mean, d.rstd, d.x, d.w, d.b};
  return run(plan, const_cast<void* const*>(data), workspace, workspace_bytes);
}

}  // namespace normgrad
