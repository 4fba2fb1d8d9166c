// The statistics of one device's part of a batch, in f32: batch 2, 2 channels, length 2. The first
// step of SyncBatchNorm forward.
//
// By hand, with eps = 1:
//   channel 0: input = 5 1 1 1: mean 2, biased variance (9+1+1+1)/4 = 3: invstd = 1/sqrt(4) = 1/2
//   channel 1: input = 1 5 5 5: mean 4, biased variance 3:               invstd = 1/2
#include <aclnnop/aclnn_batch_norm_stats.h>

#include "acl_example.h"

using namespace example;

int main() {
  const Session session;
  const Device device;
  const Tensor input({2, 2, 2}, {5, 1, 1, 5, 1, 1, 5, 5});
  const Tensor mean({2}), invstd({2});
  const double eps = 1;

  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  must(aclnnBatchNormStatsGetWorkspaceSize(input, eps, mean, invstd, &bytes, &executor));
  device.run(aclnnBatchNormStats, bytes, executor);

  const int errors = wrong("mean", mean, {2, 4});
  return errors + wrong("invstd", invstd, {0.5f, 0.5f});
}
