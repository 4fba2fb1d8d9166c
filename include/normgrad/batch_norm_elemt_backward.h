// SyncBatchNorm's second half: dx from sums that were added up over all devices
// (docs/sync_batch_norm.md).
#ifndef NORMGRAD_BATCH_NORM_ELEMT_BACKWARD_H
#define NORMGRAD_BATCH_NORM_ELEMT_BACKWARD_H

#include "normgrad/plan.h"

namespace normgrad {

// dx, dy, x: rank 2 to 8, one shape, one dtype of f16, bf16, f32, any strides.
// w, mean, rstd, sum_dy, sum_dy_xmu: (C), any stride, each f16, bf16, f32 or f64.
// dx may be exactly the same view as an input; otherwise it may not overlap another argument.
struct BatchNormElemtBackward {
  Tensor dx;  // out
  Tensor dy, x;
  Tensor w;     // absent: 1
  Tensor mean;  // absent: 0
  Tensor rstd;  // absent: 1
  Tensor sum_dy, sum_dy_xmu;
  Tensor counts;  // any shape, f16, bf16, f32, f64 or i32: the elements per channel of each device
  int channel_axis = 1;

  NORMGRAD_COMPARABLE(BatchNormElemtBackward)
};

struct BatchNormElemtBackwardData {
  void* dx = nullptr;
  const void *dy = nullptr, *x = nullptr, *w = nullptr, *mean = nullptr, *rstd = nullptr,
             *sum_dy = nullptr, *sum_dy_xmu = nullptr, *counts = nullptr;
};

NORMGRAD_API Status make_plan(const BatchNormElemtBackward& problem, Plan* plan);
NORMGRAD_API Status run(const Plan& plan, const BatchNormElemtBackwardData& data, void* workspace,
                        std::size_t workspace_bytes);

}  // namespace normgrad

#endif
