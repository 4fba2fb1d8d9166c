// BatchNorm forward in training, in f32: batch 2, 2 channels, length 2.
//
// By hand, with eps = 1 and momentum = 1/2:
//   channel 0: input = 5 1 1 1: mean 2, biased variance 3: invstd 1/2, x_hat =  1.5 -0.5 -0.5 -0.5
//   channel 1: input = 1 5 5 5: mean 4, biased variance 3: invstd 1/2, x_hat = -1.5  0.5  0.5  0.5
//   output      = x_hat * weight + bias = 13 9 9 9  and  14 22 22 22
//   runningMean = (0 + mean) / 2        = 1 2
//   runningVar  = (1 + 4) / 2, (2 + 4) / 2, with the unbiased variance 3 * 4/3 = 4
#include <aclnnop/aclnn_batch_norm.h>

#include "acl_example.h"

using namespace example;

int main() {
  const Session session;
  const Device device;
  const Tensor input({2, 2, 2}, {5, 1, 1, 5, 1, 1, 5, 5});
  const Tensor weight({2}, {2, 4}), bias({2}, {10, 20});
  const Tensor running_mean({2}, {0, 0}), running_var({2}, {1, 2});
  const Tensor output({2, 2, 2}), save_mean({2}), save_invstd({2});
  const bool training = true;
  const double momentum = 0.5, eps = 1;

  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  must(aclnnBatchNormGetWorkspaceSize(input, weight, bias, running_mean, running_var, training,
                                      momentum, eps, output, save_mean, save_invstd, &bytes,
                                      &executor));
  device.run(aclnnBatchNorm, bytes, executor);

  int errors = wrong("output", output, {13, 9, 14, 22, 9, 9, 22, 22});
  errors += wrong("saveMean", save_mean, {2, 4});
  errors += wrong("saveInvstd", save_invstd, {0.5f, 0.5f});
  errors += wrong("runningMean", running_mean, {1, 2});
  errors += wrong("runningVar", running_var, {2.5f, 3});
  return errors;
}
