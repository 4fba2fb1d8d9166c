/* Gradients of y = x / sqrt(mean(x^2)) * w, with the mean taken along the last dimension. With
 * r = 1 / sqrt(mean(x^2)):
 *
 *   grad_x = r * (w * grad_y - x * r^2 * mean(w * grad_y * x))
 *   grad_w = sum(grad_y * x * r)                                   over all rows
 *
 * No epsilon is added: a row of zeros gives Inf or NaN as IEEE arithmetic has it. */
#ifndef __INFINIOP_RMS_NORM_BACKWARD_API_H__
#define __INFINIOP_RMS_NORM_BACKWARD_API_H__

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor* infiniopRMSNormBackwardDescriptor_t;

/* handle:   a live handle. Its device is no CPU: DEVICE_TYPE_NOT_SUPPORTED.
 * desc_ptr: out, the new descriptor; untouched on failure.
 * *_desc:   none may be null. All of one data type of F16, F32, BF16, else BAD_TENSOR_DTYPE.
 *
 *   grad_x, grad_y, x   (N1, N2, D); beyond the interface document any rank from 2 to 8.
 *                       Last stride 1 (unless D is 1), others free
 *   grad_w              (D), any stride but 0
 *   w                   (D), any stride
 *
 * Another shape: BAD_TENSOR_SHAPE. Other strides, or an output that overlaps itself:
 * BAD_TENSOR_STRIDES. Extents may be 0. */
__INFINI_C __export infiniStatus_t infiniopCreateRMSNormBackwardDescriptor(
    infiniopHandle_t handle, infiniopRMSNormBackwardDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t grad_x_desc, infiniopTensorDescriptor_t grad_w_desc,
    infiniopTensorDescriptor_t grad_y_desc, infiniopTensorDescriptor_t x_desc,
    infiniopTensorDescriptor_t w_desc);

/* size: out, bytes. */
__INFINI_C __export infiniStatus_t
infiniopGetRMSNormBackwardWorkspaceSize(infiniopRMSNormBackwardDescriptor_t desc, size_t* size);

/* workspace:      workspace_size bytes, any alignment and contents; null if none are needed.
 * workspace_size: at least what the function above says, else INSUFFICIENT_WORKSPACE.
 * tensors:        as described at creation; the address of element (0, ..., 0). Not null, unless
 *                 the tensor has no elements.
 *                 An output may be the very same memory, with the same shape and strides, as an
 *                 input. Any other overlap of an output with another argument, and addresses that
 *                 leave or outlive their infinirtMalloc allocation: BAD_PARAM.
 * stream:         ignored; the results are there when the call returns.
 *
 * Any failure leaves the outputs untouched. Without rows grad_w becomes 0. */
__INFINI_C __export infiniStatus_t infiniopRMSNormBackward(infiniopRMSNormBackwardDescriptor_t desc,
                                                           void* workspace, size_t workspace_size,
                                                           void* grad_x, void* grad_w,
                                                           const void* grad_y, const void* x,
                                                           const void* w, void* stream);

/* desc: null is fine and does nothing. */
__INFINI_C __export infiniStatus_t
infiniopDestroyRMSNormBackwardDescriptor(infiniopRMSNormBackwardDescriptor_t desc);

#endif
