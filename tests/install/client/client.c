/* A first program with BatchNormBackward, as somebody would write it who has only the installed
 * headers. One channel: input 1 3 1 3, so mean 2, variance 1, x_hat -1 1 -1 1; with dy = 4 0 0 0
 * follow grad_bias = 4, grad_weight = -4, grad_input = dy - 1 + x_hat. */
#include <infiniop.h>
#include <infinirt.h>
#include <normgrad/last_error.h>
#include <stdio.h>
#include <stdlib.h>

static void check(infiniStatus_t status) {
  if (status == INFINI_STATUS_SUCCESS) return;
  fprintf(stderr, "error %d: %s\n", (int)status, normgradGetLastError());
  exit(1);
}

static infiniopBatchNormBackwardDescriptor_t create(void) {
  const size_t data_shape[3] = {2, 1, 2}, vector_shape[1] = {1};
  infiniopHandle_t handle;
  infiniopTensorDescriptor_t data, vector;
  infiniopBatchNormBackwardDescriptor_t desc;
  check(infiniopCreateHandle(&handle));
  check(infiniopCreateTensorDescriptor(&data, 3, data_shape, NULL, INFINI_DTYPE_F32));
  check(infiniopCreateTensorDescriptor(&vector, 1, vector_shape, NULL, INFINI_DTYPE_F32));
  check(infiniopCreateBatchNormBackwardDescriptor(handle, &desc, data, vector, vector, data, data,
                                                  vector, vector, vector));
  check(infiniopDestroyTensorDescriptor(data));
  check(infiniopDestroyTensorDescriptor(vector));
  check(infiniopDestroyHandle(handle));
  return desc;
}

int main(void) {
  const float input[4] = {1, 3, 1, 3}, grad_output[4] = {4, 0, 0, 0};
  const float weight = 1, mean = 2, var = 1;
  float grad_input[4], grad_weight, grad_bias;
  infiniopBatchNormBackwardDescriptor_t desc = create();
  void* workspace;
  size_t size;

  check(infiniopGetBatchNormBackwardWorkspaceSize(desc, &size));
  check(infinirtMalloc(&workspace, size));
  check(infiniopBatchNormBackward(desc, workspace, size, grad_input, &grad_weight, &grad_bias,
                                  input, grad_output, &weight, &mean, &var, NULL));
  check(infinirtFree(workspace));
  check(infiniopDestroyBatchNormBackwardDescriptor(desc));

  printf("grad_input %g %g %g %g, grad_weight %g, grad_bias %g\n", grad_input[0], grad_input[1],
         grad_input[2], grad_input[3], grad_weight, grad_bias);
  return grad_input[0] == 2 && grad_input[1] == 0 && grad_input[2] == -2 && grad_input[3] == 0 &&
                 grad_weight == -4 && grad_bias == 4
             ? 0
             : 1;
}
