/* Gradients of y = (x - E[x]) / sqrt(Var[x] + eps) * weight + bias, with E and Var taken along the
 * last dimension. The forward pass kept s = input_std_deviation = sqrt(Var[x] + eps), not its
 * reciprocal, and x_hat = input_standardization = (x - E[x]) / s. With g = weight * grad_output:
 *
 *   grad_input  = (g - mean(g) - x_hat * mean(g * x_hat)) / s      means along the last dimension
 *   grad_weight = sum(grad_output * x_hat)                         sums over all rows
 *   grad_bias   = sum(grad_output) */
#ifndef __INFINIOP_LAYER_NORM_BACKWARD_API_H__
#define __INFINIOP_LAYER_NORM_BACKWARD_API_H__

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor* infiniopLayerNormBackwardDescriptor_t;

/* handle:   a live handle. Its device is no CPU: DEVICE_TYPE_NOT_SUPPORTED.
 * desc_ptr: out, the new descriptor; untouched on failure.
 * *_desc:   none but grad_bias_desc may be null (then that gradient is not computed). All of one
 *           data type of F16, F32, BF16, else BAD_TENSOR_DTYPE.
 *
 *   grad_input, grad_output,    (N1, N2, L); beyond the interface document any rank from 1 to 8.
 *   input_standardization       Last stride 1 (unless L is 1), others free
 *   grad_weight, grad_bias      (L), any stride but 0
 *   weight                      (L), any stride
 *   input_std_deviation         (N1, N2) or (N1, N2, 1): the leading dimensions; any strides
 *
 * Another shape: BAD_TENSOR_SHAPE. Other strides, or an output that overlaps itself:
 * BAD_TENSOR_STRIDES. Extents may be 0. */
__INFINI_C __export infiniStatus_t infiniopCreateLayerNormBackwardDescriptor(
    infiniopHandle_t handle, infiniopLayerNormBackwardDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t grad_input_desc, infiniopTensorDescriptor_t grad_weight_desc,
    infiniopTensorDescriptor_t grad_bias_desc, infiniopTensorDescriptor_t grad_output_desc,
    infiniopTensorDescriptor_t weight_desc, infiniopTensorDescriptor_t input_standardization_desc,
    infiniopTensorDescriptor_t input_std_deviation_desc);

/* size: out, bytes. */
__INFINI_C __export infiniStatus_t
infiniopGetLayerNormBackwardWorkspaceSize(infiniopLayerNormBackwardDescriptor_t desc, size_t* size);

/* workspace:      workspace_size bytes, any alignment and contents; null if none are needed.
 * workspace_size: at least what the function above says, else INSUFFICIENT_WORKSPACE.
 * tensors:        as described at creation; the address of element (0, ..., 0). Not null, unless
 *                 the tensor has no elements.
 *                 grad_bias is ignored if its descriptor was null.
 *                 An output may be the very same memory, with the same shape and strides, as an
 *                 input. Any other overlap of an output with another argument, and addresses that
 *                 leave or outlive their infinirtMalloc allocation: BAD_PARAM.
 * stream:         ignored; the results are there when the call returns.
 *
 * Any failure leaves the outputs untouched. Without rows grad_weight and grad_bias become 0. */
__INFINI_C __export infiniStatus_t infiniopLayerNormBackward(
    infiniopLayerNormBackwardDescriptor_t desc, void* workspace, size_t workspace_size,
    void* grad_input, void* grad_weight, void* grad_bias, const void* grad_output,
    const void* weight, const void* input_standardization, const void* input_std_deviation,
    void* stream);

/* desc: null is fine and does nothing. */
__INFINI_C __export infiniStatus_t
infiniopDestroyLayerNormBackwardDescriptor(infiniopLayerNormBackwardDescriptor_t desc);

#endif
