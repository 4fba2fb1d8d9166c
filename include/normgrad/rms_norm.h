// RMSNorm over the last dimension, forward (docs/row_norm_forward.md).
#ifndef NORMGRAD_RMS_NORM_H
#define NORMGRAD_RMS_NORM_H

#include "normgrad/plan.h"

namespace normgrad {

// y = x*rstd*w with rstd = 1/sqrt(mean(x^2) + eps) of each row.
// Shapes, dtypes, strides and aliasing as in layer_norm.h. Rows without elements have rstd NaN.
struct RmsNorm {
  Tensor y, rstd;  // out; absent: not wanted
  Tensor x;
  Tensor w;  // absent: 1
  double eps = 0;

  NORMGRAD_COMPARABLE(RmsNorm)
};

struct RmsNormData {
  void *y = nullptr, *rstd = nullptr;
  const void *x = nullptr, *w = nullptr;
};

NORMGRAD_API Status make_plan(const RmsNorm& problem, Plan* plan);
NORMGRAD_API Status run(const Plan& plan, const RmsNormData& data, void* workspace,
                        std::size_t workspace_bytes);

}  // namespace normgrad

#endif
