/* residual_out = a + b, y = (a + b) / sqrt(mean((a + b)^2) + epsilon) * weight, with the mean taken along
 * the last dimension. y comes from the sum before it is rounded to residual_out. */
#ifndef __INFINIOP_ADD_RMS_NORM_API_H__
#define __INFINIOP_ADD_RMS_NORM_API_H__

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor* infiniopAddRMSNormDescriptor_t;

/* handle:   a live handle. Its device is no CPU: DEVICE_TYPE_NOT_SUPPORTED.
 * desc_ptr: out, the new descriptor; untouched on failure.
 * *_desc:   none but weight_desc may be null (then nothing is scaled).
 *
 *   y, residual_out, a, b   rank 2 or 3, one data type of F16, F32, BF16; last stride 1, others free
 *   weight                  (D), any stride; with the others of 16 bits F16, BF16 or F32, with F32 F32
 *
 * epsilon:  above 0 and at most 1, else BAD_PARAM.
 * Another data type: BAD_TENSOR_DTYPE. Another shape: BAD_TENSOR_SHAPE. Other strides, or an output
 * that overlaps itself: BAD_TENSOR_STRIDES. Extents may be 0. */
__INFINI_C __export infiniStatus_t infiniopCreateAddRMSNormDescriptor(
    infiniopHandle_t handle, infiniopAddRMSNormDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t y_desc, infiniopTensorDescriptor_t residual_out_desc,
    infiniopTensorDescriptor_t a_desc, infiniopTensorDescriptor_t b_desc,
    infiniopTensorDescriptor_t weight_desc, float epsilon);

/* size: out, bytes. */
__INFINI_C __export infiniStatus_t
infiniopGetAddRMSNormWorkspaceSize(infiniopAddRMSNormDescriptor_t desc, size_t* size);

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
__INFINI_C __export infiniStatus_t infiniopAddRMSNorm(infiniopAddRMSNormDescriptor_t desc,
                                                      void* workspace, size_t workspace_size,
                                                      void* y, void* residual_out, const void* a,
                                                      const void* b, const void* weight,
                                                      void* stream);

/* desc: null is fine and does nothing. */
__INFINI_C __export infiniStatus_t
infiniopDestroyAddRMSNormDescriptor(infiniopAddRMSNormDescriptor_t desc);

#endif
