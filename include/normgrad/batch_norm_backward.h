// Gradients of BatchNorm, training and inference (docs/batch_norm_backward.md).
#ifndef NORMGRAD_BATCH_NORM_BACKWARD_H
#define NORMGRAD_BATCH_NORM_BACKWARD_H

#include "normgrad/plan.h"

namespace normgrad {

// Big tensors: rank 2 to 8, one shape, one dtype of f16, bf16, f32, any strides.
// w, mean, rstd, var, dw, db, sum_dy, sum_dy_xmu: (C), any stride, each f16, bf16, f32 or f64.
// Statistics are taken as given, never recomputed from x.
// An output may be exactly the same view as an input; otherwise none may overlap another argument.
struct BatchNormBackward {
  Tensor dx, dw, db;  // out; absent: not wanted
  // Out, likewise: sum(dy) and sum(dy*(x - mean)) of every channel, what several devices add up
  // before BatchNormElemtBackward. db is the former, dw the latter times rstd.
  Tensor sum_dy, sum_dy_xmu;
  Tensor dy, x;
  Tensor w;              // absent: 1
  Tensor mean;           // absent: 0
  Tensor rstd;           // either 1/sqrt(variance + eps),
  Tensor var;            // or the variance, to which eps is added here; neither: rstd is 1
  double eps = 0;        // used with var only
  bool training = true;  // the statistics are those of x, and the gradient goes through them; else
                         // they are constants
  int channel_axis = 1;

  NORMGRAD_COMPARABLE(BatchNormBackward)
};

struct BatchNormBackwardData {
  void *dx = nullptr, *dw = nullptr, *db = nullptr, *sum_dy = nullptr, *sum_dy_xmu = nullptr;
  const void *dy = nullptr, *x = nullptr, *w = nullptr, *mean = nullptr, *rstd = nullptr,
             *var = nullptr;
};

NORMGRAD_API Status make_plan(const BatchNormBackward& problem, Plan* plan);
NORMGRAD_API Status run(const Plan& plan, const BatchNormBackwardData& data, void* workspace,
                        std::size_t workspace_bytes);

}  // namespace normgrad

#endif
