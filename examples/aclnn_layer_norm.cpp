// LayerNorm of two rows of four, in f32.
//
// By hand: both rows have variance 1, so with eps = 3 rstd = 1/sqrt(1 + 3) = 1/2.
//   row 0: mean 2, (1 3 1 3 - 2)/2 = -0.5  0.5 -0.5  0.5, times 2 4 6 8, plus 1 =  0  3 -2  5
//   row 1: mean 5, (6 4 6 4 - 5)/2 =  0.5 -0.5  0.5 -0.5, times 2 4 6 8, plus 1 =  2 -1  4 -3
#include <aclnnop/aclnn_layer_norm.h>

#include "acl_example.h"

using namespace example;

int main() {
  const Session session;
  const Device device;
  const Tensor input({2, 4}, {1, 3, 1, 3, 6, 4, 6, 4});
  const Tensor weight({4}, {2, 4, 6, 8}), bias({4}, {1, 1, 1, 1});
  const Tensor output({2, 4}), mean({2, 1}), rstd({2, 1});
  const int64_t row = 4;
  aclIntArray* normalized_shape = aclCreateIntArray(&row, 1);

  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  must(aclnnLayerNormGetWorkspaceSize(input, normalized_shape, weight, bias, 3, output, mean, rstd,
                                      &bytes, &executor));
  device.run(aclnnLayerNorm, bytes, executor);
  must(aclDestroyIntArray(normalized_shape));

  int errors = wrong("output", output, {0, 3, -2, 5, 2, -1, 4, -3});
  errors += wrong("mean", mean, {2, 5});
  errors += wrong("rstd", rstd, {0.5f, 0.5f});
  return errors;
}
