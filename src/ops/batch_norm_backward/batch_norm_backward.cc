#include "ops/batch_norm_backward/batch_norm_backward.h"

#include "normgrad/batch_norm_backward.h"
#include "ops/channel_norm/channel_norm.h"
#include "ops/plan_checks.h"

namespace normgrad {
namespace {

constexpr char kName[] = "BatchNormBackward";

Status check_dtypes(const BatchNormBackward& p) {
  NORMGRAD_TRY(check_data_dtype(p.dy));
  NORMGRAD_TRY(check_data_dtype(p.x));
  for (const Tensor* t : {&p.dx, &p.x}) NORMGRAD_TRY(check_same_dtype(*t, p.dy));
  for (const Tensor* t : {&p.dw, &p.db, &p.w}) {
    NORMGRAD_TRY(check_parameter_dtype(*t, p.dy, Allow::kParameter));
  }
  for (const Tensor* t : {&p.mean, &p.rstd, &p.var}) {
    NORMGRAD_TRY(check_parameter_dtype(*t, p.dy, Allow::kStatistic));
  }
  return Status::kOk;
}

Status check_shapes(const BatchNormBackward& p) {
  if (p.dy.rank < 2) {
    return fail(Status::kBadShape, "%s has shape %s, but must have rank 2 to 8", p.dy.name,
                shape_of(p.dy).text);
  }
  if (p.channel_axis < 0 || p.channel_axis >= p.dy.rank) {
    return fail(Status::kBadParam, "the channel axis is %d, but %s has rank %d", p.channel_axis,
                p.dy.name, p.dy.rank);
  }
  for (const Tensor* t : {&p.dx, &p.x}) NORMGRAD_TRY(check_same_shape(*t, p.dy));
  for (const Tensor* t : {&p.dw, &p.db, &p.w, &p.mean, &p.rstd, &p.var}) {
    NORMGRAD_TRY(check_vector(*t, p.dy.shape[p.channel_axis], "the number of channels"));
  }
  return Status::kOk;
}

}  // namespace

Status make_plan(const BatchNormBackward& p, Plan* plan) {
  using namespace batch_norm_argument;
  if (p.rstd.present() && p.var.present()) {
    return fail(Status::kBadParam, "rstd and var must not both be given");
  }
  Plan made;
  set_arguments(made, {&p.dx, &p.dw, &p.db, &p.dy, &p.x, &p.w, &p.mean, &p.rstd, &p.var}, 3);
  NORMGRAD_TRY(check_dtypes(p));
  NORMGRAD_TRY(check_shapes(p));
  NORMGRAD_TRY(check_sizes(made));
  NORMGRAD_TRY(check_outputs(made));
  split_channels(made, {kDy, kX, kDx}, p.channel_axis);
  made.eps = p.eps;
  made.training = p.training;
  made.op = kName;
  made.execute = [](const Plan& self, void* const* data, std::byte* workspace) {
    choose_batch_norm_backward(isa())(self, data, workspace);
  };
  *plan = made;
  return Status::kOk;
}

Status run(const Plan& plan, const BatchNormBackwardData& d, void* workspace,
           std::size_t workspace_bytes) {
  NORMGRAD_TRY(check_op(plan, kName));
  const void* const data[] = {d.dx, d.dw, d.db, d.dy, d.x, d.w, d.mean, d.rstd, d.var};
  return run(plan, const_cast<void* const*>(data), workspace, workspace_bytes);
}

}  // namespace normgrad
