// LayerNorm over the last dimension, forward (docs/row_norm_forward.md).
#ifndef NORMGRAD_LAYER_NORM_H
#define NORMGRAD_LAYER_NORM_H

#include "normgrad/plan.h"

namespace normgrad {

// y = (x - mean)*rstd*w + b with the mean of each row and rstd = 1/sqrt(var + eps), var its biased
// variance.
// Shapes, dtypes and strides as in layer_norm_backward.h; b like w. y may be exactly the same view as
// x; otherwise no output may overlap another argument. Rows without elements have mean 0, rstd NaN.
struct LayerNorm {
  Tensor y, mean, rstd;  // out; absent: not wanted
  Tensor x;
  Tensor w;  // absent: 1
  Tensor b;  // absent: 0
  double eps = 0;

  NORMGRAD_COMPARABLE(LayerNorm)
};

struct LayerNormData {
  void *y = nullptr, *mean = nullptr, *rstd = nullptr;
  const void *x = nullptr, *w = nullptr, *b = nullptr;
};

NORMGRAD_API Status make_plan(const LayerNorm& problem, Plan* plan);
NORMGRAD_API Status run(const Plan& plan, const LayerNormData& data, void* workspace,
                        std::size_t workspace_bytes);

}  // namespace normgrad

#endif
