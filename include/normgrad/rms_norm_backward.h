// Gradients of RMSNorm over the last dimension (docs/rms_norm_backward.md).
#ifndef NORMGRAD_RMS_NORM_BACKWARD_H
#define NORMGRAD_RMS_NORM_BACKWARD_H

#include "normgrad/plan.h"

namespace normgrad {

// Shapes, dtypes, strides and aliasing as in layer_norm_backward.h.
struct RmsNormBackward {
  Tensor dx, dw;  // out; absent: not wanted
  Tensor dy;      // gradient of the output
  Tensor w;       // absent: 1
  Tensor x;
  Tensor rstd;  // absent: 1/sqrt(mean(x^2)), computed here, no eps

  NORMGRAD_COMPARABLE(RmsNormBackward)
};

struct RmsNormBackwardData {
  void *dx, *dw;
  const void *dy, *w, *x, *rstd;
};

NORMGRAD_API Status make_plan(const RmsNormBackward& problem, Plan* plan);
NORMGRAD_API Status run(const Plan& plan, const RmsNormBackwardData& data, void* workspace,
                        std::size_t workspace_bytes);

}  // namespace normgrad

#endif
