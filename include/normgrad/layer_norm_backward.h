// Gradients of LayerNorm over the last dimension (docs/layer_norm_backward.md).
#ifndef NORMGRAD_LAYER_NORM_BACKWARD_H
#define NORMGRAD_LAYER_NORM_BACKWARD_H

#include "normgrad/plan.h"

namespace normgrad {

// Big tensors: any rank from 1 to 8, one shape, one dtype of f16, bf16, f32; last stride 1, other
// strides free. w, dw, db: (D), any stride; f32 or the dtype of dy. sigma, mean, rstd: the leading
// dims (a further trailing 1 is fine), any strides; f32, f64 or the dtype of dy. dx may be exactly
// the same view as dy, x_hat or x; otherwise no output may overlap another argument.
struct LayerNormBackward {
  Tensor dx, dw, db;     // out; absent: not wanted
  Tensor dy;             // gradient of the output
  Tensor w;              // absent: 1
  Tensor x_hat, sigma;   // either the normalized input and its standard deviation sqrt(var + eps),
  Tensor x, mean, rstd;  // or the input, its mean and 1/sigma

  NORMGRAD_COMPARABLE(LayerNormBackward)
};

struct LayerNormBackwardData {
  void *dx, *dw, *db;
  const void *dy, *w, *x_hat, *sigma, *x, *mean, *rstd;
};

NORMGRAD_API Status make_plan(const LayerNormBackward& problem, Plan* plan);
NORMGRAD_API Status run(const Plan& plan, const LayerNormBackwardData& data, void* workspace,
                        std::size_t workspace_bytes);

}  // namespace normgrad

#endif
