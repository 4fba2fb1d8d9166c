/* RMSNorm of a sum, as between the layers of a transformer, in f32.
 *
 * By hand: a + b = 1 -1 1 -1, whose mean square is 1. With epsilon = 0.5625, mean + epsilon = 25/16 and
 *   y = (a + b)*(4/5)*weight = (4/5)*(5 -10 15 -20) = 4 -8 12 -16 */
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
  const size_t shape[] = {1, 4};
  const float a[] = {0, -2, 1, 0}, b[] = {1, 1, 0, -1}, weight[] = {5, 10, 15, 20};
  float y[4], residual[4];

  infiniopHandle_t handle;
  infiniopAddRMSNormDescriptor_t op;
  infiniopTensorDescriptor_t all = tensor(2, shape), row = tensor(1, shape + 1);
  must(infiniopCreateHandle(&handle));
  must(infiniopCreateAddRMSNormDescriptor(handle, &op, all, all, all, all, row, 0.5625f));
  must(infiniopDestroyTensorDescriptor(all));
  must(infiniopDestroyTensorDescriptor(row));

  size_t bytes;
  must(infiniopGetAddRMSNormWorkspaceSize(op, &bytes));
  void* workspace = malloc(bytes);
  must(infiniopAddRMSNorm(op, workspace, bytes, y, residual, a, b, weight, NULL));
  free(workspace);
  must(infiniopDestroyAddRMSNormDescriptor(op));
  must(infiniopDestroyHandle(handle));

  const float sum[] = {1, -1, 1, -1};
  int errors = wrong("residual_out", residual, sum, 4);
  /* 4/5 is no f32: to the last digit but one. */
  for (int i = 0; i < 4; ++i) {
    const float expected = (i % 2 ? -4.0f : 4.0f) * (float)(i + 1);
    const float off = (y[i] - expected) / expected;
    printf("y[%d] %g\n", i, y[i]);
    errors += off > 2e-7f || off < -2e-7f;
  }
  return errors != 0;
}
