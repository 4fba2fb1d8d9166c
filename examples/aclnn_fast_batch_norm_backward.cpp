// The gradients of BatchNorm in inference, in f32: batch 2, 2 channels, length 2. The statistics
// are constants, and gradBias is not wanted.
//
// By hand, with eps = 1 and r = 1/sqrt(runningVar + eps):
//   gradInput  = gradOut * weight * r
//     channel 0: r = 1/2, weight 2: gradInput = gradOut = 1 2 3 4
//     channel 1: r = 1/4, weight 8: gradInput = 2 gradOut = 16 8 0 8
//   gradWeight = sum(gradOut * (input - runningMean)) * r
//     channel 0: (1*3    - 2*1 - 3*1 - 4*1) / 2 = -3
//     channel 1: (8*(-3) + 4*1 + 0*1 + 4*1) / 4 = -4
#include <aclnnop/aclnn_fast_batch_norm_backward.h>

#include "acl_example.h"

using namespace example;

int main() {
  const Session session;
  const Device device;
  const Tensor grad_out({2, 2, 2}, {1, 2, 8, 4, 3, 4, 0, 4});
  const Tensor input({2, 2, 2}, {5, 1, 1, 5, 1, 1, 5, 5});
  const Tensor weight({2}, {2, 8}), running_mean({2}, {2, 4}), running_var({2}, {3, 15});
  const Tensor grad_input({2, 2, 2}), grad_weight({2});
  const bool training = false, wanted[] = {true, true, false};
  const double eps = 1;
  const int version = 0;
  aclBoolArray* mask = aclCreateBoolArray(wanted, 3);

  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  must(aclnnFastBatchNormBackwardGetWorkspaceSize(
      grad_out, input, weight, running_mean, running_var, nullptr, nullptr, training, eps, mask,
      version, grad_input, grad_weight, nullptr, &bytes, &executor));
  must(aclDestroyBoolArray(mask));
  device.run(aclnnFastBatchNormBackward, bytes, executor);

  const int errors = wrong("gradInput", grad_input, {1, 2, 16, 8, 3, 4, 0, 8});
  return errors + wrong("gradWeight", grad_weight, {-3, -4});
}
