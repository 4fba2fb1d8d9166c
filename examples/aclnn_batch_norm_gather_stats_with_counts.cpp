// The statistics of a whole batch from those of its parts, in f32: 2 devices with 4 and 12 elements
// per channel, 2 channels. The second step of SyncBatchNorm forward.
//
// By hand, with eps = 1/4 and momentum = 1/2; N = 16, and every invstd is 1, so every variance 3/4:
//   channel 0: means 0 4: meanAll = (0*4 + 4*12)/16 = 3
//              S = 4*(3/4 + 9) + 12*(3/4 + 1) = 60
//   channel 1: means 4 0: meanAll = (4*4 + 0*12)/16 = 1
//              S = 4*(3/4 + 9) + 12*(3/4 + 1) = 60
//   invstdAll   = 1/sqrt(60/16 + 1/4) = 1/2
//   runningMean = (0 + 3) / 2, (0 + 1) / 2
//   runningVar  = (2 + 60/15) / 2, (4 + 60/15) / 2
#include <aclnnop/aclnn_batch_norm_gather_stats_with_counts.h>

#include "acl_example.h"

using namespace example;

int main() {
  const Session session;
  const Device device;
  const Tensor input({1, 2, 4}, {0, 0, 0, 0, 4, 4, 4, 4});  // only tells the number of channels
  const Tensor mean({2, 2}, {0, 4, 4, 0}), invstd({2, 2}, {1, 1, 1, 1}), counts({2}, {4, 12});
  const Tensor running_mean({2}, {0, 0}), running_var({2}, {2, 4});
  const Tensor mean_all({2}), invstd_all({2});
  const double momentum = 0.5, eps = 0.25;

  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  must(aclnnBatchNormGatherStatsWithCountsGetWorkspaceSize(
      input, mean, invstd, running_mean, running_var, momentum, eps, counts, mean_all, invstd_all,
      &bytes, &executor));
  device.run(aclnnBatchNormGatherStatsWithCounts, bytes, executor);

  int errors = wrong("meanAll", mean_all, {3, 1});
  errors += wrong("invstdAll", invstd_all, {0.5f, 0.5f});
  errors += wrong("runningMean", running_mean, {1.5f, 0.5f});
  errors += wrong("runningVar", running_var, {3, 4});
  return errors;
}
