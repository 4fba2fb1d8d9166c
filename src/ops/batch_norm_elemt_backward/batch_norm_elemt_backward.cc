#include "ops/batch_norm_elemt_backward/batch_norm_elemt_backward.h"

#include "kernels/element.h"
#include "normgrad/batch_norm_elemt_backward.h"
#include "ops/channel_backward.h"
#include "ops/channel_norm/channel_norm.h"
#include "ops/plan_checks.h"

namespace normgrad {
namespace {

constexpr char kName[] = "BatchNormElemtBackward";
namespace argument = batch_norm_elemt_backward_argument;
constexpr ChannelRoles kRoles{.dx = argument::kDx,
                              .dy = argument::kDy,
                              .x = argument::kX,
                              .w = argument::kW,
                              .mean = argument::kMean,
                              .rstd = argument::kRstd,
                              .given_sum_dy = argument::kSumDy,
                              .given_sum_dy_xmu = argument::kSumDyXmu};

// The sum of all elements, in logical order: the number of elements per channel on all devices.
double total_of(const Tensor& tensor, const void* data) {
  std::int64_t elements = 1;
  for (int d = 0; d < tensor.rank; ++d) elements *= tensor.shape[d];
  double total = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    std::int64_t offset = 0;
    for (std::int64_t d = tensor.rank - 1, left = i; d >= 0; left /= tensor.shape[d--]) {
      offset += left % tensor.shape[d] * tensor.strides[d];
    }
    total += kernels::load_element(data, tensor.dtype, offset);
  }
  return total;
}

Status check_dtypes(const BatchNormElemtBackward& p) {
  for (const Tensor* t : {&p.dy, &p.x, &p.dx}) {
    NORMGRAD_TRY(check_data_dtype(*t));
    NORMGRAD_TRY(check_same_dtype(*t, p.dy));
  }
  for (const Tensor* t : {&p.sum_dy, &p.sum_dy_xmu, &p.counts}) NORMGRAD_TRY(check_present(*t));
  for (const Tensor* t : {&p.w, &p.mean, &p.rstd, &p.sum_dy, &p.sum_dy_xmu}) {
    NORMGRAD_TRY(check_number_dtype(*t));
  }
  return p.counts.dtype == DataType::kI32 ? Status::kOk : check_number_dtype(p.counts);
}

}  // namespace

Status make_plan(const BatchNormElemtBackward& p, Plan* plan) {
  using namespace batch_norm_elemt_backward_argument;
  Plan made;
  set_arguments(
      made, {&p.dx, &p.dy, &p.x, &p.w, &p.mean, &p.rstd, &p.sum_dy, &p.sum_dy_xmu, &p.counts}, 1);
  NORMGRAD_TRY(check_dtypes(p));
  NORMGRAD_TRY(check_channel_shapes(p.dy, p.channel_axis, {&p.dx, &p.x},
                                    {&p.w, &p.mean, &p.rstd, &p.sum_dy, &p.sum_dy_xmu}));
  NORMGRAD_TRY(check_sizes(made));
  NORMGRAD_TRY(check_outputs(made));
  split_channels(made, {kDy, kX, kDx}, p.channel_axis);
  made.arithmetic = arithmetic();
  NORMGRAD_TRY(plan_channel_backward(made, kRoles));
  made.op = kName;
  made.execute = [](const Plan& self, void* const* data, std::byte* workspace) {
    const double count = total_of(self.argument[kCounts].tensor, data[kCounts]);
    run_channel_backward(self, kRoles, count, data, workspace);
  };
  *plan = made;
  return Status::kOk;
}

Status run(const Plan& plan, const BatchNormElemtBackwardData& d, void* workspace,
           std::size_t workspace_bytes) {
  NORMGRAD_TRY(check_op(plan, kName));
  const void* const data[] = {d.dx,   d.dy,     d.x,          d.w,     d.mean,
                              d.rstd, d.sum_dy, d.sum_dy_xmu, d.counts};
  return run(plan, const_cast<void* const*>(data), workspace, workspace_bytes);
}

}  // namespace normgrad
