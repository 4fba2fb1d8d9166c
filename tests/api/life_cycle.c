/* The life of an operator in plain C99: the calls of a first program, each of them checked. */
#include <infiniop.h>
#include <infinirt.h>
#include <normgrad/last_error.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS 6
#define COLUMNS 4

static void check(infiniStatus_t status, const char* call) {
  if (status == INFINI_STATUS_SUCCESS) return;
  fprintf(stderr, "%s returned %d: %s\n", call, (int)status, normgradGetLastError());
  exit(1);
}
#define CHECK(call) check(call, #call)

static infiniopTensorDescriptor_t tensor(size_t ndim, const size_t* shape) {
  infiniopTensorDescriptor_t desc = NULL;
  CHECK(infiniopCreateTensorDescriptor(&desc, ndim, shape, NULL, INFINI_DTYPE_F32));
  return desc;
}

static infiniopRMSNormBackwardDescriptor_t create(void) {
  const size_t shape[3] = {2, ROWS / 2, COLUMNS};
  infiniopTensorDescriptor_t data = tensor(3, shape);
  infiniopTensorDescriptor_t weight = tensor(1, shape + 2);
  infiniopRMSNormBackwardDescriptor_t desc = NULL;
  infiniopHandle_t handle = NULL;
  CHECK(infiniopCreateHandle(&handle));
  CHECK(infiniopCreateRMSNormBackwardDescriptor(handle, &desc, data, weight, data, data, weight));
  CHECK(infiniopDestroyTensorDescriptor(data));
  CHECK(infiniopDestroyTensorDescriptor(weight));
  CHECK(infiniopDestroyHandle(handle));
  return desc;
}

static float* device_copy(const float* values, size_t count) {
  void* device = NULL;
  CHECK(infinirtMalloc(&device, count * sizeof(float)));
  CHECK(infinirtMemcpy(device, values, count * sizeof(float), INFINIRT_MEMCPY_H2D));
  return (float*)device;
}

/* With all of x = 2, w = 1 and dy = 1 in every row: r = 1/2, dx = r * (1 - x * r^2 * mean(x)) = 0,
 * and dw = rows * x * r = 6. */
int main(void) {
  float x[ROWS * COLUMNS], ones[ROWS * COLUMNS], grad_x[ROWS * COLUMNS], grad_w[COLUMNS];
  infiniopRMSNormBackwardDescriptor_t desc;
  float *device_x, *device_ones, *device_grad_x, *device_grad_w;
  void* workspace = NULL;
  size_t workspace_size = 0;
  int i;

  CHECK(infinirtInit());
  CHECK(infinirtSetDevice(INFINI_DEVICE_CPU, 0));
  desc = create();
  for (i = 0; i < ROWS * COLUMNS; ++i) {
    x[i] = 2.0f;
    ones[i] = 1.0f;
  }
  device_x = device_copy(x, ROWS * COLUMNS);
  device_ones = device_copy(ones, ROWS * COLUMNS);
  device_grad_x = device_copy(ones, ROWS * COLUMNS);
  device_grad_w = device_copy(ones, COLUMNS);

  CHECK(infiniopGetRMSNormBackwardWorkspaceSize(desc, &workspace_size));
  CHECK(infinirtMalloc(&workspace, workspace_size));
  CHECK(infiniopRMSNormBackward(desc, workspace, workspace_size, device_grad_x, device_grad_w,
                                device_ones, device_x, device_ones, NULL));
  CHECK(infinirtDeviceSynchronize());
  CHECK(infinirtMemcpy(grad_x, device_grad_x, sizeof(grad_x), INFINIRT_MEMCPY_D2H));
  CHECK(infinirtMemcpy(grad_w, device_grad_w, sizeof(grad_w), INFINIRT_MEMCPY_D2H));
  for (i = 0; i < ROWS * COLUMNS; ++i) {
    if (grad_x[i] != 0.0f || grad_w[i % COLUMNS] != 6.0f) {
      fprintf(stderr, "element %d: grad_x %g, grad_w %g\n", i, grad_x[i], grad_w[i % COLUMNS]);
      return 1;
    }
  }

  CHECK(infinirtFree(workspace));
  CHECK(infinirtFree(device_grad_w));
  CHECK(infinirtFree(device_grad_x));
  CHECK(infinirtFree(device_ones));
  CHECK(infinirtFree(device_x));
  CHECK(infiniopDestroyRMSNormBackwardDescriptor(desc));
  puts("ok");
  return 0;
}
