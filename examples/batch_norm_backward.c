/* The gradients of BatchNorm in a training step, in f32: batch 2, 2 channels, length 2.
 *
 * By hand, with n = 4 elements per channel and x_hat = (x - mean) / sqrt(var):
 *   channel 0: x = 1 3 3 1, mean 2, var 1:   x_hat = -1 1  1 -1, grad_output = 1 2 5 4
 *   channel 1: x = 0 8 0 8, mean 4, var 16:  x_hat = -1 1 -1  1, grad_output = 1 3 2 6
 *   grad_bias   = sum(grad_output)         = 12  12
 *   grad_weight = sum(grad_output * x_hat) =  2   6
 *   grad_input  = weight / sqrt(var) * (grad_output - grad_bias / n - x_hat * grad_weight / n)
 *     channel 0: 1/1 * (grad_output - 3 - x_hat * 0.5) = -1.5  -1.5   1.5   1.5
 *     channel 1: 2/4 * (grad_output - 3 - x_hat * 1.5) = -0.25 -0.75  0.25  0.75 */
#include <infiniop.h>
#include <normgrad/last_error.h>
#include <stdio.h>
#include <stdlib.h>

static void must(infiniStatus_t status) {
  if (status == INFINI_STATUS_SUCCESS) return;
  fprintf(stderr, "status %d: %s\n", (int)status, normgradGetLastError());
  exit(1);
}

static infiniopTensorDescriptor_t tensor(size_t ndim, const size_t* shape) {
  infiniopTensorDescriptor_t desc;
  must(infiniopCreateTensorDescriptor(&desc, ndim, shape, NULL, INFINI_DTYPE_F32));
  return desc;
}

static int wrong(const char* name, const float* got, const float* expected, size_t n) {
  int count = 0;
  printf("%-12s", name);
  for (size_t i = 0; i < n; ++i) {
    printf(" %6g", got[i]);
    if (got[i] != expected[i]) {
      printf(" (wrong: by hand %g)", expected[i]);
      ++count;
    }
  }
  printf("\n");
  return count;
}

int main(void) {
  const size_t shape[] = {2, 2, 2};
  const float input[] = {1, 3, 0, 8, 3, 1, 0, 8};
  const float grad_output[] = {1, 2, 1, 3, 5, 4, 2, 6};
  const float weight[] = {1, 2}, mean[] = {2, 4}, var[] = {1, 16};
  float grad_input[8], grad_weight[2], grad_bias[2];

  /* Describe once; the tensor descriptors may go right after. */
  infiniopHandle_t handle;
  infiniopBatchNormBackwardDescriptor_t op;
  infiniopTensorDescriptor_t all = tensor(3, shape), channels = tensor(1, shape + 1);
  must(infiniopCreateHandle(&handle));
  must(infiniopCreateBatchNormBackwardDescriptor(handle, &op, all, channels, channels, all, all,
                                                 channels, channels, channels));
  must(infiniopDestroyTensorDescriptor(all));
  must(infiniopDestroyTensorDescriptor(channels));

  /* Compute as often as you like. */
  size_t bytes;
  must(infiniopGetBatchNormBackwardWorkspaceSize(op, &bytes));
  void* workspace = malloc(bytes);
  must(infiniopBatchNormBackward(op, workspace, bytes, grad_input, grad_weight, grad_bias, input,
                                 grad_output, weight, mean, var, NULL));
  free(workspace);
  must(infiniopDestroyBatchNormBackwardDescriptor(op));
  must(infiniopDestroyHandle(handle));

  const float dx[] = {-1.5f, -1.5f, -0.25f, -0.75f, 1.5f, 1.5f, 0.25f, 0.75f};
  const float dw[] = {2, 6}, db[] = {12, 12};
  int errors = wrong("grad_input", grad_input, dx, 8);
  errors += wrong("grad_weight", grad_weight, dw, 2);
  errors += wrong("grad_bias", grad_bias, db, 2);
  return errors != 0;
}
