// GroupNorm of one sample with two groups of two channels of two, in f32.
//
// By hand: both groups have variance 1, so with eps = 3 rstd = 1/sqrt(1 + 3) = 1/2.
//   group 0: mean 2, (1 3 | 1 3 - 2)/2 = -0.5 0.5 | -0.5 0.5, times 2 | 4, plus 0 | 1 = -1 1 | -1 3
//   group 1: mean 5, (6 4 | 6 4 - 5)/2 = 0.5 -0.5 | 0.5 -0.5, times 1 | 2, plus 0 | 3 = 0.5 -0.5 | 4 2
#include <aclnnop/aclnn_group_norm.h>

#include "acl_example.h"

using namespace example;

int main() {
  const Session session;
  const Device device;
  const Tensor self({1, 4, 2}, {1, 3, 1, 3, 6, 4, 6, 4});
  const Tensor gamma({4}, {2, 4, 1, 2}), beta({4}, {0, 1, 0, 3});
  const Tensor out({1, 4, 2}), mean({1, 2}), rstd({1, 2});
  const int64_t n = 1, channels = 4, length = 2, groups = 2;

  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  must(aclnnGroupNormGetWorkspaceSize(self, gamma, beta, n, channels, length, groups, 3, out, mean,
                                      rstd, &bytes, &executor));
  device.run(aclnnGroupNorm, bytes, executor);

  int errors = wrong("out", out, {-1, 1, -1, 3, 0.5f, -0.5f, 4, 2});
  errors += wrong("meanOut", mean, {2, 5});
  errors += wrong("rstdOut", rstd, {0.5f, 0.5f});
  return errors;
}
