// The gradients of LayerNorm, of two rows of four, in f32.
//
// By hand, with xh = (input - mean)*rstd = -0.5 0.5 -0.5 0.5 and 0.5 -0.5 0.5 -0.5, and g = 2*gradOut. In both rows mean(g*xh) = 0:
//   gradInput  = (g - mean(g))/2: (2 2 6 6 - 4)/2 = -1 -1 1 1,   (4 0 0 4 - 2)/2 = 1 -1 -1 1
//   gradWeight = sum(gradOut*xh): -0.5+1  0.5+0  -1.5+0  1.5-1
//   gradBias   = sum(gradOut):     1+2    1+0     3+0    3+2
#include <aclnnop/aclnn_layer_norm_backward.h>

#include "acl_example.h"

using namespace example;

int main() {
  const Session session;
  const Device device;
  const Tensor grad_out({2, 4}, {1, 1, 3, 3, 2, 0, 0, 2});
  const Tensor input({2, 4}, {1, 3, 1, 3, 6, 4, 6, 4});
  const Tensor mean({2, 1}, {2, 5}), rstd({2, 1}, {0.5f, 0.5f});
  const Tensor weight({4}, {2, 2, 2, 2}), bias({4}, {0, 0, 0, 0});
  const Tensor grad_input({2, 4}), grad_weight({4}), grad_bias({4});
  const int64_t row = 4;
  const bool wanted[] = {true, true, true};
  aclIntArray* normalized_shape = aclCreateIntArray(&row, 1);
  aclBoolArray* mask = aclCreateBoolArray(wanted, 3);

  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  must(aclnnLayerNormBackwardGetWorkspaceSize(grad_out, input, normalized_shape, mean, rstd, weight,
                                              bias, mask, grad_input, grad_weight, grad_bias,
                                              &bytes, &executor));
  device.run(aclnnLayerNormBackward, bytes, executor);
  must(aclDestroyIntArray(normalized_shape));
  must(aclDestroyBoolArray(mask));

  int errors = wrong("gradInput", grad_input, {-1, -1, 1, 1, 1, -1, -1, 1});
  errors += wrong("gradWeight", grad_weight, {0.5f, 0.5f, -1.5f, 0.5f});
  errors += wrong("gradBias", grad_bias, {3, 1, 3, 5});
  return errors;
}
