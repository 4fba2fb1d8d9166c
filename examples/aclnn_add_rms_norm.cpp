// RmsNorm of a sum, as between the layers of a transformer, in f32.
//
// By hand: x = x1 + x2 = 1 -1 1 -1, whose mean square is 1, so with eps = 3 rstd = 1/sqrt(1 + 3) = 1/2 and
//   y = x/2 * (2 4 6 8) = 1 -2 3 -4
#include <aclnnop/aclnn_add_rms_norm.h>

#include "acl_example.h"

using namespace example;

int main() {
  const Session session;
  const Device device;
  const Tensor x1({1, 4}, {0, -2, 1, 0}), x2({1, 4}, {1, 1, 0, -1});
  const Tensor gamma({4}, {2, 4, 6, 8});
  const Tensor y({1, 4}), rstd({1, 1}), x({1, 4});

  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  must(aclnnAddRmsNormGetWorkspaceSize(x1, x2, gamma, 3, y, rstd, x, &bytes, &executor));
  device.run(aclnnAddRmsNorm, bytes, executor);

  int errors = wrong("y", y, {1, -2, 3, -4});
  errors += wrong("rstd", rstd, {0.5f});
  errors += wrong("x", x, {1, -1, 1, -1});
  return errors;
}
