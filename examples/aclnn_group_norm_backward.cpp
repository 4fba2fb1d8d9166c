// The gradients of GroupNorm, of one sample with a group of two channels of two, in f32.
//
// By hand, with xh = (input - 2)/2 = -0.5 0.5 | -0.5 0.5 and g = gradOut = 4 0 | 0 0: mean(g) = 1, mean(g*xh) = -0.5, so
//   gradInput = (g - 1 + xh/2)/2 = (4 - 1 - 0.25)/2 (0 - 1 + 0.25)/2 | (0 - 1 - 0.25)/2 (0 - 1 + 0.25)/2
//   gradGamma = sum(gradOut*xh) in each channel = -2 0,   gradBeta = sum(gradOut) = 4 0
#include <aclnnop/aclnn_group_norm_backward.h>

#include "acl_example.h"

using namespace example;

int main() {
  const Session session;
  const Device device;
  const Tensor grad_out({1, 2, 2}, {4, 0, 0, 0}), input({1, 2, 2}, {1, 3, 1, 3});
  const Tensor mean({1, 1}, {2}), rstd({1, 1}, {0.5f}), gamma({2}, {1, 1});
  const Tensor grad_input({1, 2, 2}), grad_gamma({2}), grad_beta({2});
  const int64_t n = 1, channels = 2, length = 2, groups = 1;
  const bool wanted[] = {true, true, true};
  aclBoolArray* mask = aclCreateBoolArray(wanted, 3);

  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  must(aclnnGroupNormBackwardGetWorkspaceSize(grad_out, input, mean, rstd, gamma, n, channels,
                                              length, groups, mask, grad_input, grad_gamma,
                                              grad_beta, &bytes, &executor));
  device.run(aclnnGroupNormBackward, bytes, executor);
  must(aclDestroyBoolArray(mask));

  int errors = wrong("gradInput", grad_input, {1.375f, -0.375f, -0.625f, -0.375f});
  errors += wrong("gradGamma", grad_gamma, {-2, 0});
  errors += wrong("gradBeta", grad_beta, {4, 0});
  return errors;
}
