#include "ops/batch_norm/batch_norm.h"

#include "ops/channel_norm/channel_norm.h"
#include "ops/plan_checks.h"

namespace normgrad {
namespace {

constexpr char kName[] = "BatchNorm";

Status check_dtypes(const BatchNorm& p) {
  NORMGRAD_TRY(check_data_dtype(p.x));
  NORMGRAD_TRY(check_same_dtype(p.y, p.x));
  for (const Tensor* t : {&p.mean, &p.rstd, &p.var, &p.running_mean, &p.running_var, &p.w, &p.b}) {
    NORMGRAD_TRY(check_number_dtype(*t));
  }
  return Status::kOk;
}

Status check_statistics(const BatchNorm& p) {
  if (p.training) return Status::kOk;
  if (p.rstd.present() && p.var.present()) {
    return fail(Status::kBadParam, "rstd and var must not both be given");
  }
  if (p.running_mean.present() || p.running_var.present()) {
    return fail(Status::kBadParam, "given statistics update no running ones");
  }
  return Status::kOk;
}

}  // namespace

Status make_plan(const BatchNorm& p, Plan* plan) {
  using namespace batch_norm_argument;
  NORMGRAD_TRY(check_statistics(p));
  Plan made;
  set_arguments(made,
                {&p.y, &p.mean, &p.rstd, &p.var, &p.running_mean, &p.running_var, &p.x, &p.w, &p.b},
                p.training ? 6 : 1);
  NORMGRAD_TRY(check_dtypes(p));
  NORMGRAD_TRY(check_channel_shapes(
      p.x, p.channel_axis, {&p.y},
      {&p.mean, &p.rstd, &p.var, &p.running_mean, &p.running_var, &p.w, &p.b}));
  NORMGRAD_TRY(check_sizes(made));
  NORMGRAD_TRY(check_outputs(made));
  split_channels(made, {kX, kY}, p.channel_axis);
  if (p.training) NORMGRAD_TRY(reserve_totals(made));
  made.eps = p.eps;
  made.momentum = p.momentum;
  made.training = p.training;
  made.op = kName;
  made.execute = [](const Plan& self, void* const* data, std::byte* workspace) {
    choose_batch_norm(isa())(self, data, workspace);
  };
  *plan = made;
  return Status::kOk;
}

Status make_plan(const BatchNorm& p, const BatchNormOfPart& further, Plan* plan) {
  NORMGRAD_TRY(make_plan(p, plan));
  for (const Tensor* tensor : {&further.sum, &further.squares, &further.mean_rest}) {
    plan->argument[plan->arguments++].tensor = *tensor;
  }
  return Status::kOk;
}

Status run(const Plan& plan, const BatchNormData& d, void* workspace, std::size_t workspace_bytes) {
  NORMGRAD_TRY(check_op(plan, kName));
  const void* const data[] = {d.y,           d.mean, d.rstd, d.var, d.running_mean,
                              d.running_var, d.x,    d.w,    d.b};
  return run(plan, const_cast<void* const*>(data), workspace, workspace_bytes);
}

}  // namespace normgrad
