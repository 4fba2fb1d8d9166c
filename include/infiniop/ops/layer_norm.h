/* y = (x - E[x]) / s * weight + bias with s = sqrt(Var[x] + eps), E and the biased Var taken along the
 * last dimension. Kept for the gradient (layer_norm_backward.h):
 *
 *   input_standardization = (x - E[x]) / s,   input_std_deviation = s */
#ifndef __INFINIOP_LAYER_NORM_API_H__
#define __INFINIOP_LAYER_NORM_API_H__

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor* infiniopLayerNormDescriptor_t;

/* handle:   a live handle. Its device is no CPU: DEVICE_TYPE_NOT_SUPPORTED.
 * desc_ptr: out, the new descriptor; untouched on failure.
 * *_desc:   none but bias_desc may be null (then 0 is added). All of one data type of F16, F32, BF16,
 *           else BAD_TENSOR_DTYPE.
 *
 *   output, input_standardization, input   any rank from 1 to 8, any strides
 *   input_std_deviation                    the leading dimensions, or these and a 1; any strides
 *   weight, bias                           the last dimension, any stride
 *
 * eps:      not negative, else BAD_PARAM.
 * Another shape: BAD_TENSOR_SHAPE. An output that overlaps itself: BAD_TENSOR_STRIDES. Extents may
 * be 0. */
__INFINI_C __export infiniStatus_t infiniopCreateLayerNormDescriptor(
    infiniopHandle_t handle, infiniopLayerNormDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t output_desc, infiniopTensorDescriptor_t input_standardization_desc,
    infiniopTensorDescriptor_t input_std_deviation_desc, infiniopTensorDescriptor_t input_desc,
    infiniopTensorDescriptor_t weight_desc, infiniopTensorDescriptor_t bias_desc, float eps);

/* size: out, bytes. */
__INFINI_C __export infiniStatus_t
infiniopGetLayerNormWorkspaceSize(infiniopLayerNormDescriptor_t desc, size_t* size);

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
__INFINI_C __export infiniStatus_t infiniopLayerNorm(infiniopLayerNormDescriptor_t desc,
                                                     void* workspace, size_t workspace_size,
                                                     void* output, void* input_standardization,
                                                     void* input_std_deviation, const void* input,
                                                     const void* weight, const void* bias,
                                                     void* stream);

/* desc: null is fine and does nothing. */
__INFINI_C __export infiniStatus_t
infiniopDestroyLayerNormDescriptor(infiniopLayerNormDescriptor_t desc);

#endif
