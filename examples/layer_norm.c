/* LayerNorm of two rows (1 x 2) of four elements, in f32, with what its gradient takes.
 *
 * By hand: both rows have variance 1, so with eps = 3 the standard deviation is sqrt(1 + 3) = 2.
 *   row 0: mean 2, x_hat = (1 3 1 3 - 2)/2 = -0.5  0.5 -0.5  0.5, times 2 4 6 8, plus 1 =  0  3 -2  5
 *   row 1: mean 5, x_hat = (6 4 6 4 - 5)/2 =  0.5 -0.5  0.5 -0.5, times 2 4 6 8, plus 1 =  2 -1  4 -3 */
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
  const float input[] = {1, 3, 1, 3, 6, 4, 6, 4};
  const float weight[] = {2, 4, 6, 8}, bias[] = {1, 1, 1, 1};
  float output[8], x_hat[8], sigma[2];

  /* Describe once; the tensor descriptors may go right after. */
  infiniopHandle_t handle;
  infiniopLayerNormDescriptor_t op;
  infiniopTensorDescriptor_t all = tensor(3, shape), rows = tensor(2, shape),
                             row = tensor(1, shape + 2);
  must(infiniopCreateHandle(&handle));
  must(infiniopCreateLayerNormDescriptor(handle, &op, all, all, rows, all, row, row, 3));
  must(infiniopDestroyTensorDescriptor(all));
  must(infiniopDestroyTensorDescriptor(rows));
  must(infiniopDestroyTensorDescriptor(row));

  /* Compute as often as you like. */
  size_t bytes;
  must(infiniopGetLayerNormWorkspaceSize(op, &bytes));
  void* workspace = malloc(bytes);
  must(infiniopLayerNorm(op, workspace, bytes, output, x_hat, sigma, input, weight, bias, NULL));
  free(workspace);
  must(infiniopDestroyLayerNormDescriptor(op));
  must(infiniopDestroyHandle(handle));

  const float y[] = {0, 3, -2, 5, 2, -1, 4, -3};
  const float normalized[] = {-0.5f, 0.5f, -0.5f, 0.5f, 0.5f, -0.5f, 0.5f, -0.5f};
  const float deviation[] = {2, 2};
  int errors = wrong("output", output, y, 8);
  errors += wrong("x_hat", x_hat, normalized, 8);
  errors += wrong("sigma", sigma, deviation, 2);
  return errors != 0;
}
