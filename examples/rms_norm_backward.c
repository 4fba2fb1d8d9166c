/* The gradients of RMSNorm, in f32: two rows (1 x 2) of five elements.
 *
 * By hand, with g = w * grad_y. The squares of both rows of x add up to 20, so r = 1/sqrt(20/5) = 1/2.
 *   grad_x = r * (g - x * r^2 * mean(g * x))
 *     row 0: g = 4 -2 3 1 5, mean(g * x) = 20/5 = 4:  (g - x) / 2    =  0.5 -0.5  1 -1  2.5
 *     row 1: g = 1  1 4 0 3, mean(g * x) = 10/5 = 2:  (g - x/2) / 2  =  0.5 -0.5  2  0  1
 *   grad_w = sum(grad_y * x * r)  =  6+0  1+2  0.75+0  1.5+0  0+3 */
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
  const size_t shape[] = {1, 2, 5};
  const float grad_y[] = {4, -2, 1.5f, 1, 5, 1, 1, 2, 0, 3};
  const float x[] = {3, -1, 1, 3, 0, 0, 4, 0, 0, 2};
  const float w[] = {1, 1, 2, 1, 1};
  float grad_x[10], grad_w[5];

  /* Describe once; the tensor descriptors may go right after. */
  infiniopHandle_t handle;
  infiniopRMSNormBackwardDescriptor_t op;
  infiniopTensorDescriptor_t all = tensor(3, shape), row = tensor(1, shape + 2);
  must(infiniopCreateHandle(&handle));
  must(infiniopCreateRMSNormBackwardDescriptor(handle, &op, all, row, all, all, row));
  must(infiniopDestroyTensorDescriptor(all));
  must(infiniopDestroyTensorDescriptor(row));

  /* Compute as often as you like. */
  size_t bytes;
  must(infiniopGetRMSNormBackwardWorkspaceSize(op, &bytes));
  void* workspace = malloc(bytes);
  must(infiniopRMSNormBackward(op, workspace, bytes, grad_x, grad_w, grad_y, x, w, NULL));
  free(workspace);
  must(infiniopDestroyRMSNormBackwardDescriptor(op));
  must(infiniopDestroyHandle(handle));

  const float dx[] = {0.5f, -0.5f, 1, -1, 2.5f, 0.5f, -0.5f, 2, 0, 1};
  const float dw[] = {6, 3, 0.75f, 1.5f, 3};
  int errors = wrong("grad_x", grad_x, dx, 10);
  errors += wrong("grad_w", grad_w, dw, 5);
  return errors != 0;
}
