/* y = x / sqrt(mean(x^2) + epsilon) * w, with the mean taken along the last dimension. */
#ifndef __INFINIOP_RMS_NORM_API_H__
#define __INFINIOP_RMS_NORM_API_H__

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor* infiniopRMSNormDescriptor_t;

/* handle:   a live handle. Its device is no CPU: DEVICE_TYPE_NOT_SUPPORTED.
 * desc_ptr: out, the new descriptor; untouched on failure.
 * *_desc:   none but w_desc may be null (then nothing is scaled).
 *
 *   y, x      rank 2 or 3, one data type of F16, F32, BF16; last stride 1, others free
 *   w         (D), any stride; with y and x of 16 bits F16, BF16 or F32, with F32 F32
 *
 * epsilon:  above 0 and at most 1, else BAD_PARAM.
 * Another data type: BAD_TENSOR_DTYPE. Another shape: BAD_TENSOR_SHAPE. Other strides, or an output
 * that overlaps itself: BAD_TENSOR_STRIDES. Extents may be 0. */
__INFINI_C __export infiniStatus_t infiniopCreateRMSNormDescriptor(
    infiniopHandle_t handle, infiniopRMSNormDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t y_desc, infiniopTensorDescriptor_t x_desc,
    infiniopTensorDescriptor_t w_desc, float epsilon);

/* size: out, bytes. */
__INFINI_C __export infiniStatus_t infiniopGetRMSNormWorkspaceSize(infiniopRMSNormDescriptor_t desc,
                                                                   size_t* size);

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
__INFINI_C __export infiniStatus_t infiniopRMSNorm(infiniopRMSNormDescriptor_t desc,
                                                   void* workspace, size_t workspace_size, void* y,
                                                   const void* x, const void* w, void* stream);

/* desc: null is fine and does nothing. */
__INFINI_C __export infiniStatus_t
infiniopDestroyRMSNormDescriptor(infiniopRMSNormDescriptor_t desc);

#endif
