/* Training: output = (x - E[x]) / sqrt(Var[x] + eps) * weight + bias, with E and the biased Var taken over
 * the first and the last dimension. In place:
 *
 *   running_mean = (1 - momentum) * running_mean + momentum * E[x]
 *   running_var  = (1 - momentum) * running_var + momentum * Var[x] * n / (n - 1)       n = N * L
 *
 * These moving averages are not what BatchNormBackward asks for: batch_norm_backward.h. */
#ifndef __INFINIOP_BATCH_NORM_API_H__
#define __INFINIOP_BATCH_NORM_API_H__

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor* infiniopBatchNormDescriptor_t;

/* handle:   a live handle. Its device is no CPU: DEVICE_TYPE_NOT_SUPPORTED.
 * desc_ptr: out, the new descriptor; untouched on failure.
 * *_desc:   none may be null. All of one data type of F16, F32, BF16, else BAD_TENSOR_DTYPE.
 *
 *   output, input               (N, C, L), row-major without gaps
 *   running_mean, running_var   (C), any stride but 0
 *   weight, bias                (C), any stride
 *
 * eps:      not negative, else BAD_PARAM.
 * Another shape: BAD_TENSOR_SHAPE. Other strides, or an output that overlaps itself:
 * BAD_TENSOR_STRIDES. Extents may be 0; then the running ones stay as they are. */
__INFINI_C __export infiniStatus_t infiniopCreateBatchNormDescriptor(
    infiniopHandle_t handle, infiniopBatchNormDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t output_desc, infiniopTensorDescriptor_t running_mean_desc,
    infiniopTensorDescriptor_t running_var_desc, infiniopTensorDescriptor_t input_desc,
    infiniopTensorDescriptor_t weight_desc, infiniopTensorDescriptor_t bias_desc, float momentum,
    float eps);

/* size: out, bytes. */
__INFINI_C __export infiniStatus_t
infiniopGetBatchNormWorkspaceSize(infiniopBatchNormDescriptor_t desc, size_t* size);

/* workspace:      workspace_size bytes, any alignment and contents; null if none are needed.
 * workspace_size: at least what the function above says, else INSUFFICIENT_WORKSPACE.
 * tensors:        as described at creation; the address of element (0, ..., 0). Not null, unless
 *                 the tensor has no elements, or its descriptor was null.
 *                 An output may be the very same memory, with the same shape and strides, as an
 *                 input. Any other overlap of an output with another argument, and addresses that
 *                 leave or outlive their infinirtMalloc allocation: BAD_PARAM.
 * stream:         ignored; the results are there when the call returns.
 *
 * Any failure leaves the outputs untouched. */
__INFINI_C __export infiniStatus_t infiniopBatchNorm(infiniopBatchNormDescriptor_t desc,
                                                     void* workspace, size_t workspace_size,
                                                     void* output, void* running_mean,
                                                     void* running_var, const void* input,
                                                     const void* weight, const void* bias,
                                                     void* stream);

/* desc: null is fine and does nothing. */
__INFINI_C __export infiniStatus_t
infiniopDestroyBatchNormDescriptor(infiniopBatchNormDescriptor_t desc);

#endif
