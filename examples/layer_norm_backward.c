/* The gradients of LayerNorm, in f32: two rows (1 x 2) of four elements.
 *
 * By hand, with g = weight * grad_output, means along a row, sums down the rows:
 *   grad_input = (g - mean(g) - x_hat * mean(g * x_hat)) / s
 *     row 0: g = 1 2 3 8, mean(g) = 3.5,  mean(g * x_hat) = 1.5,   s = 2:    -0.5 -1.5  0.5  1.5
 *     row 1: g = 0 1 0 2, mean(g) = 0.75, mean(g * x_hat) = -0.25, s = 0.5:  -1    1   -2    2
 *   grad_weight = sum(grad_output * x_hat) = -1+0  2+1  -3+0  4-1
 *   grad_bias   = sum(grad_output)         =  1+0  2+1   3+0  4+1 */
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
  const size_t shape[] = {1, 2, 4};
  const float grad_output[] = {1, 2, 3, 4, 0, 1, 0, 1};
  const float weight[] = {1, 1, 1, 2};
  const float x_hat[] = {-1, 1, -1, 1, 1, 1, -1, -1}; /* the normalized input, */
  const float s[] = {2, 0.5f};                        /* and its standard deviation */
  float grad_input[8], grad_weight[4], grad_bias[4];

  /* Describe once; the tensor descriptors may go right after. */
  infiniopHandle_t handle;
  infiniopLayerNormBackwardDescriptor_t op;
  infiniopTensorDescriptor_t all = tensor(3, shape), row = tensor(1, shape + 2);
  infiniopTensorDescriptor_t leading = tensor(2, shape);
  must(infiniopCreateHandle(&handle));
  must(infiniopCreateLayerNormBackwardDescriptor(handle, &op, all, row, row, all, row, all,
                                                 leading));
  must(infiniopDestroyTensorDescriptor(all));
  must(infiniopDestroyTensorDescriptor(row));
  must(infiniopDestroyTensorDescriptor(leading));

  /* Compute as often as you like. */
  size_t bytes;
  must(infiniopGetLayerNormBackwardWorkspaceSize(op, &bytes));
  void* workspace = malloc(bytes);
  must(infiniopLayerNormBackward(op, workspace, bytes, grad_input, grad_weight, grad_bias,
                                 grad_output, weight, x_hat, s, NULL));
  free(workspace);
  must(infiniopDestroyLayerNormBackwardDescriptor(op));
  must(infiniopDestroyHandle(handle));

  const float dx[] = {-0.5f, -1.5f, 0.5f, 1.5f, -1, 1, -2, 2};
  const float dw[] = {-1, 3, -3, 3}, db[] = {1, 3, 3, 5};
  int errors = wrong("grad_input", grad_input, dx, 8);
  errors += wrong("grad_weight", grad_weight, dw, 4);
  errors += wrong("grad_bias", grad_bias, db, 4);
  return errors != 0;
}
