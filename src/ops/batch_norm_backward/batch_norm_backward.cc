#include "ops/batch_norm_backward/batch_norm_backward.h"

#include "normgrad/batch_norm_backward.h"
#include "ops/channel_backward.h"
#include "ops/channel_norm/channel_norm.h"
#include "ops/plan_checks.h"

namespace normgrad {
namespace {

constexpr char kName[] = "BatchNormBackward";
namespace argument = batch_norm_backward_argument;
constexpr ChannelRoles kRoles{.dx = argument::kDx,
                              .dy = argument::kDy,
                              .x = argument::kX,
                              .w = argument::kW,
                              .mean = argument::kMean,
                              .rstd = argument::kRstd,
                              .var = argument::kVar,
                              .dw = argument::kDw,
                              .db = argument::kDb,
                              .sum_dy = argument::kSumDy,
                              .sum_dy_xmu = argument::kSumDyXmu};

Status check_dtypes(const BatchNormBackward& p) {
  NORMGRAD_TRY(check_data_dtype(p.dy));
  NORMGRAD_TRY(check_data_dtype(p.x));
  for (const Tensor* t : {&p.dx, &p.x}) NORMGRAD_TRY(check_same_dtype(*t, p.dy));
  for (const Tensor* t : {&p.dw, &p.db, &p.sum_dy, &p.sum_dy_xmu, &p.w, &p.mean, &p.rstd, &p.var}) {
    NORMGRAD_TRY(check_number_dtype(*t));
  }
  return Status::kOk;
}

}  // namespace

Status make_plan(const BatchNormBackward& p, Plan* plan) {
  using namespace batch_norm_backward_argument;
  if (p.rstd.present() && p.var.present()) {
    return fail(Status::kBadParam, "rstd and var must not both be given");
  }
  Plan made;
  set_arguments(
      made,
      {&p.dx, &p.dw, &p.db, &p.sum_dy, &p.sum_dy_xmu, &p.dy, &p.x, &p.w, &p.mean, &p.rstd, &p.var},
      5);
  NORMGRAD_TRY(check_dtypes(p));
  NORMGRAD_TRY(check_channel_shapes(
      p.dy, p.channel_axis, {&p.dx, &p.x},
      {&p.dw, &p.db, &p.sum_dy, &p.sum_dy_xmu, &p.w, &p.mean, &p.rstd, &p.var}));
  NORMGRAD_TRY(check_sizes(made));
  NORMGRAD_TRY(check_outputs(made));
  split_channels(made, {kDy, kX, kDx}, p.channel_axis);
  made.eps = p.eps;
  made.training = p.training;
  made.arithmetic = arithmetic();
  NORMGRAD_TRY(plan_channel_backward(made, kRoles));
  made.op = kName;
  made.execute = [](const Plan& self, void* const* data, std::byte* workspace) {
    const auto count = static_cast<double>(self.channel.n * self.channel.l);
    run_channel_backward(self, kRoles, count, data, workspace);
  };
  *plan = made;
  return Status::kOk;
}

Status run(const Plan& plan, const BatchNormBackwardData& d, void* workspace,
           std::size_t workspace_bytes) {
  NORMGRAD_TRY(check_op(plan, kName));
  const void* const data[] = {d.dx, d.dw, d.db,   d.sum_dy, d.sum_dy_xmu, d.dy,
                              d.x,  d.w,  d.mean, d.rstd,   d.var};
  return run(plan, const_cast<void* const*>(data), workspace, workspace_bytes);
}

}  // namespace normgrad
