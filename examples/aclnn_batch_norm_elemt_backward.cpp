// The gradient of one device's part of a batch, from sums over all devices, in f32: 2 x 2, of 8
// elements per channel altogether. The last step of SyncBatchNorm backward.
//
// By hand, with d = input - mean:
//   gradInput = (gradOut - sumDy/n - d * invstd^2 * sumDyXmu/n) * invstd * weight
//   channel 0: (4 6 - 16/8 - (5 1 - 2) * 1/4 * 32/8) * 1/2 * 2 = -1 5
//   channel 1: (3 1 -  8/8 - (6 2 - 4) * 1   *  4/8) * 1   * 1 =  1 1
#include <aclnnop/aclnn_batch_norm_elemt_backward.h>

#include "acl_example.h"

using namespace example;

int main() {
  const Session session;
  const Device device;
  const Tensor grad_out({2, 2}, {4, 3, 6, 1}), input({2, 2}, {5, 6, 1, 2});
  const Tensor mean({2}, {2, 4}), invstd({2}, {0.5f, 1}), weight({2}, {2, 1});
  const Tensor sum_dy({2}, {16, 8}), sum_dy_xmu({2}, {32, 4});
  const Tensor counter({2}, {2, 6});  // elements per channel on each of two devices
  const Tensor grad_input({2, 2});

  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  must(aclnnBatchNormElemtBackwardGetWorkspaceSize(grad_out, input, mean, invstd, weight, sum_dy,
                                                   sum_dy_xmu, counter, grad_input, &bytes,
                                                   &executor));
  device.run(aclnnBatchNormElemtBackward, bytes, executor);

  return wrong("gradInput", grad_input, {-1, 1, 5, 1});
}
