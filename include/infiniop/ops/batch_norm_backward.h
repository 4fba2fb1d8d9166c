/* Gradients of y = (x - E[x]) / sqrt(Var[x]) * weight + bias, with E and Var taken per channel over
 * batch and length, n = N * L elements:
 *
 *   x_hat       = (input - running_mean) / sqrt(running_var)
 *   grad_bias   = sum(grad_output)
 *   grad_weight = sum(grad_output * x_hat)
 *   grad_input  = weight / sqrt(running_var)
 *                 * (grad_output - grad_bias / n - x_hat * grad_weight / n)
 *
 * running_mean and running_var are used as given and never recomputed. For the gradient of a
 * training step pass the mean and the biased variance (the mean of squared deviations) of this very
 * input; if the forward pass added an epsilon to the variance, pass the sum. No epsilon is added
 * here: variance 0 gives Inf or NaN as IEEE arithmetic has it. */
#ifndef __INFINIOP_BATCH_NORM_BACKWARD_API_H__
#define __INFINIOP_BATCH_NORM_BACKWARD_API_H__

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor* infiniopBatchNormBackwardDescriptor_t;

/* handle:   a live handle. Its device is no CPU: DEVICE_TYPE_NOT_SUPPORTED.
 * desc_ptr: out, the new descriptor; untouched on failure.
 * *_desc:   none may be null. All of one data type of F16, F32, BF16, else BAD_TENSOR_DTYPE.
 *
 *   grad_input, input, grad_output      (N, C, L), row-major contiguous: strides (C*L, L, 1);
 *                                       the stride of an extent of 1 does not matter
 *   grad_weight, grad_bias              (C), any stride but 0
 *   weight, running_mean, running_var   (C), any stride
 *
 * Another shape: BAD_TENSOR_SHAPE. Other strides, or an output that overlaps itself:
 * BAD_TENSOR_STRIDES. Extents may be 0. */
__INFINI_C __export infiniStatus_t infiniopCreateBatchNormBackwardDescriptor(
    infiniopHandle_t handle, infiniopBatchNormBackwardDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t grad_input_desc, infiniopTensorDescriptor_t grad_weight_desc,
    infiniopTensorDescriptor_t grad_bias_desc, infiniopTensorDescriptor_t input_desc,
    infiniopTensorDescriptor_t grad_output_desc, infiniopTensorDescriptor_t weight_desc,
    infiniopTensorDescriptor_t running_mean_desc, infiniopTensorDescriptor_t running_var_desc);

/* size: out, bytes. */
__INFINI_C __export infiniStatus_t
infiniopGetBatchNormBackwardWorkspaceSize(infiniopBatchNormBackwardDescriptor_t desc, size_t* size);

/* workspace:      workspace_size bytes, any alignment and contents; null if none are needed.
 * workspace_size: at least what the function above says, else INSUFFICIENT_WORKSPACE.
 * tensors:        as described at creation; the address of element (0, 0, 0). Not null, unless
 *                 the tensor has no elements.
 *                 An output may be the very same memory, with the same shape and strides, as an
 *                 input. Any other overlap of an output with another argument, and addresses that
 *                 leave or outlive their infinirtMalloc allocation: BAD_PARAM.
 * stream:         ignored; the results are there when the call returns.
 *
 * Any failure leaves the outputs untouched. With N or L 0 grad_weight and grad_bias become 0. */
__INFINI_C __export infiniStatus_t infiniopBatchNormBackward(
    infiniopBatchNormBackwardDescriptor_t desc, void* workspace, size_t workspace_size,
    void* grad_input, void* grad_weight, void* grad_bias, const void* input,
    const void* grad_output, const void* weight, const void* running_mean, const void* running_var,
    void* stream);

/* desc: null is fine and does nothing. */
__INFINI_C __export infiniStatus_t
infiniopDestroyBatchNormBackwardDescriptor(infiniopBatchNormBackwardDescriptor_t desc);

#endif
