// Normalizes with given statistics, in f32: batch 2, 2 channels, length 2. The last step of
// SyncBatchNorm forward.
//
// By hand: output = (input - mean) * invstd * weight + bias
//   channel 0: (5 1 1 1 - 2) / 2 * 2 + 10 = 13  9  9  9
//   channel 1: (1 5 5 5 - 4) / 2 * 4 + 20 = 14 22 22 22
#include <aclnnop/aclnn_batch_norm_elemt.h>

#include "acl_example.h"

using namespace example;

int main() {
  const Session session;
  const Device device;
  const Tensor input({2, 2, 2}, {5, 1, 1, 5, 1, 1, 5, 5});
  const Tensor weight({2}, {2, 4}), bias({2}, {10, 20});
  const Tensor mean({2}, {2, 4}), invstd({2}, {0.5f, 0.5f});
  const Tensor output({2, 2, 2});
  const double eps = 1;  // is in invstd already

  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  must(aclnnBatchNormElemtGetWorkspaceSize(input, weight, bias, mean, invstd, eps, output, &bytes,
                                           &executor));
  device.run(aclnnBatchNormElemt, bytes, executor);

  return wrong("output", output, {13, 9, 14, 22, 9, 9, 22, 22});
}
