// BatchNorm forward: statistics, normalization, or both (docs/batch_norm.md).
#ifndef NORMGRAD_BATCH_NORM_H
#define NORMGRAD_BATCH_NORM_H

#include "normgrad/plan.h"

namespace normgrad {

// y = (x - mean)*rstd*w + b.
// y, x: rank 2 to 8, one shape, one dtype of f16, bf16, f32, any strides.
// w, b, mean, rstd, var, running_mean, running_var: (C), any stride, each f16, bf16, f32 or f64.
// An output may be exactly the same view as an input; otherwise none may overlap another argument.
//
// training: the statistics of x are computed. mean, rstd = 1/sqrt(var + eps) and var, the biased
// variance, are outputs where present. The running ones, where present, are updated in place:
//   running := (1 - momentum)*running + momentum*new, with the unbiased variance,
// which is NaN for a single element per channel.
// An x without elements has mean 0, rstd and var NaN, and updates nothing.
// Otherwise: the statistics are given. mean, rstd and var are inputs; running_* must be absent.
struct BatchNorm {
  Tensor y;     // out; absent: not wanted
  Tensor mean;  // given and absent: 0
  Tensor rstd;  // given: either this,
  Tensor var;   // or this, to which eps is added; neither: rstd is 1
  Tensor running_mean, running_var;
  Tensor x;
  Tensor w;  // absent: 1
  Tensor b;  // absent: 0
  double eps = 0;
  double momentum = 0;
  bool training = true;
  int channel_axis = 1;

  NORMGRAD_COMPARABLE(BatchNorm)
};

struct BatchNormData {
  void *y = nullptr, *mean = nullptr, *rstd = nullptr, *var = nullptr, *running_mean = nullptr,
       *running_var = nullptr;
  const void *x = nullptr, *w = nullptr, *b = nullptr;
};

NORMGRAD_API Status make_plan(const BatchNorm& problem, Plan* plan);
NORMGRAD_API Status run(const Plan& plan, const BatchNormData& data, void* workspace,
                        std::size_t workspace_bytes);

}  // namespace normgrad

#endif
