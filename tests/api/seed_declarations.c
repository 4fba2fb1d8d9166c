/* The interface documents' prototypes, spelled as they spell them. A prototype that differs from
 * our headers' does not compile; compiled as C99 here and as C++17 by seed_declarations.cc. */
#include <infiniop.h>

/* Document 000 */
infiniStatus_t infiniopBatchNormBackward(infiniopBatchNormBackwardDescriptor_t desc,
                                         void* workspace, size_t workspace_size, void* grad_input,
                                         void* grad_weight, void* grad_bias, const void* input,
                                         const void* grad_output, const void* weight,
                                         const void* running_mean, const void* running_var,
                                         void* stream);

infiniStatus_t infiniopCreateBatchNormBackwardDescriptor(
    infiniopHandle_t handle, infiniopBatchNormBackwardDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t grad_input_desc, infiniopTensorDescriptor_t grad_weight_desc,
    infiniopTensorDescriptor_t grad_bias_desc, infiniopTensorDescriptor_t input_desc,
    infiniopTensorDescriptor_t grad_output_desc, infiniopTensorDescriptor_t weight_desc,
    infiniopTensorDescriptor_t running_mean_desc, infiniopTensorDescriptor_t running_var_desc);

infiniStatus_t infiniopGetBatchNormBackwardWorkspaceSize(infiniopBatchNormBackwardDescriptor_t desc,
                                                         size_t* size);

infiniopStatus_t infiniopDestroyBatchNormBackwardDescriptor(
    infiniopBatchNormBackwardDescriptor_t desc);

/* Document 001 */
infiniStatus_t infiniopLayerNormBackward(infiniopLayerNormBackwardDescriptor_t desc,
                                         void* workspace, size_t workspace_size, void* grad_input,
                                         void* grad_weight, void* grad_bias,
                                         const void* grad_output, const void* weight,
                                         const void* input_standardization,
                                         const void* input_std_deviation, void* stream);

infiniStatus_t infiniopCreateLayerNormBackwardDescriptor(
    infiniopHandle_t handle, infiniopLayerNormBackwardDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t grad_input_desc, infiniopTensorDescriptor_t grad_weight_desc,
    infiniopTensorDescriptor_t grad_bias_desc, infiniopTensorDescriptor_t grad_output_desc,
    infiniopTensorDescriptor_t weight_desc, infiniopTensorDescriptor_t input_standardization_desc,
    infiniopTensorDescriptor_t input_std_deviation_desc);

infiniStatus_t infiniopGetLayerNormBackwardWorkspaceSize(infiniopLayerNormBackwardDescriptor_t desc,
                                                         size_t* size);

infiniopStatus_t infiniopDestroyLayerNormBackwardDescriptor(
    infiniopLayerNormBackwardDescriptor_t desc);

/* Document 003 */
infiniStatus_t infiniopRMSNormBackward(infiniopRMSNormBackwardDescriptor_t desc, void* workspace,
                                       size_t workspace_size, void* grad_x, void* grad_w,
                                       const void* grad_y, const void* x, const void* w,
                                       void* stream);

infiniStatus_t infiniopCreateRMSNormBackwardDescriptor(
    infiniopHandle_t handle, infiniopRMSNormBackwardDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t grad_x_desc, infiniopTensorDescriptor_t grad_w_desc,
    infiniopTensorDescriptor_t grad_y_desc, infiniopTensorDescriptor_t x_desc,
    infiniopTensorDescriptor_t w_desc);

infiniStatus_t infiniopGetRMSNormBackwardWorkspaceSize(infiniopRMSNormBackwardDescriptor_t desc,
                                                       size_t* size);

infiniopStatus_t infiniopDestroyRMSNormBackwardDescriptor(infiniopRMSNormBackwardDescriptor_t desc);
