/* What a mistake looks like: rows have 5 elements, but the weight has 4. The call returns a code
 * and writes nothing; the sentence says which argument it was, what was given and what is allowed.
 */
#include <infiniop.h>
#include <normgrad/last_error.h>
#include <stdio.h>

int main(void) {
  const size_t shape[] = {1, 2, 5}, weights = 4;
  infiniopHandle_t handle = NULL;
  infiniopTensorDescriptor_t all = NULL, row = NULL, weight = NULL;
  infiniopRMSNormBackwardDescriptor_t op = NULL;
  if (infiniopCreateHandle(&handle) != INFINI_STATUS_SUCCESS ||
      infiniopCreateTensorDescriptor(&all, 3, shape, NULL, INFINI_DTYPE_F32) != 0 ||
      infiniopCreateTensorDescriptor(&row, 1, shape + 2, NULL, INFINI_DTYPE_F32) != 0 ||
      infiniopCreateTensorDescriptor(&weight, 1, &weights, NULL, INFINI_DTYPE_F32) != 0) {
    fprintf(stderr, "unexpected: %s\n", normgradGetLastError());
    return 1;
  }

  infiniStatus_t status =
      infiniopCreateRMSNormBackwardDescriptor(handle, &op, all, row, all, all, weight);
  printf("status %d: %s\n", (int)status, normgradGetLastError());

  infiniopDestroyTensorDescriptor(all);
  infiniopDestroyTensorDescriptor(row);
  infiniopDestroyTensorDescriptor(weight);
  infiniopDestroyHandle(handle);
  if (status != INFINI_STATUS_BAD_TENSOR_SHAPE || op != NULL) {
    fprintf(stderr, "expected status %d and no descriptor\n", (int)INFINI_STATUS_BAD_TENSOR_SHAPE);
    return 1;
  }
  return 0;
}
