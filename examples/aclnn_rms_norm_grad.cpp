// The gradients of RmsNorm, of one row of four, in f32.
//
// By hand, with xh = x*rstd = 0.5 -0.5 0.5 -0.5 and g = dy*gamma = 4 0 0 0: mean(g*xh) = 2/4, so
//   dx     = (g - xh/2)/2 = (4 - 0.25)/2  0.25/2  -0.25/2  0.25/2
//   dgamma = dy*xh = 2 0 0 0
#include <aclnnop/aclnn_rms_norm_grad.h>

#include "acl_example.h"

using namespace example;

int main() {
  const Session session;
  const Device device;
  const Tensor dy({1, 4}, {4, 0, 0, 0}), x({1, 4}, {1, -1, 1, -1});
  const Tensor rstd({1}, {0.5f}), gamma({4}, {1, 1, 1, 1});
  const Tensor dx({1, 4}), dgamma({4});

  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  must(aclnnRmsNormGradGetWorkspaceSize(dy, x, rstd, gamma, dx, dgamma, &bytes, &executor));
  device.run(aclnnRmsNormGrad, bytes, executor);

  int errors = wrong("dx", dx, {1.875f, 0.125f, -0.125f, 0.125f});
  errors += wrong("dgamma", dgamma, {2, 0, 0, 0});
  return errors;
}
