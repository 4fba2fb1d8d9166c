// infiniopLayerNorm, which keeps what its gradient needs, and infiniopLayerNormBackward, from the normalized input and its
// standard deviation.
#include "infiniop/ops/layer_norm.h"

#include "api/infiniop/operator.h"
#include "infiniop/ops/layer_norm_backward.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Arg;

namespace {

constexpr Row kForwardRows[] = {
    {"output", Arg::kY, Role::kData},
    {"input_standardization", Arg::kXHat, Role::kData},
    {"input_std_deviation", Arg::kSigma, Role::kOther},
    {"input", Arg::kX, Role::kData},
    {"weight", Arg::kW, Role::kOther},
    {"bias", Arg::kB, Role::kOptional},
};
constexpr Spec kForward{
    .op = normgrad::Op::kLayerNorm,
    .data = {.min_rank = 1, .max_rank = normgrad::kMaxRank, .layout = Layout::kAny},
    .rows = kForwardRows};

constexpr Row kBackwardRows[] = {
    {"grad_input", Arg::kDx, Role::kData},
    {"grad_weight", Arg::kDw, Role::kOther},
    {"grad_bias", Arg::kDb, Role::kOptional},
    {"grad_output", Arg::kDy, Role::kData},
    {"weight", Arg::kW, Role::kOther},
    {"input_standardization", Arg::kXHat, Role::kData},
    {"input_std_deviation", Arg::kSigma, Role::kOther},
};
constexpr Spec kBackward{
    .op = normgrad::Op::kLayerNormBackward,
    // The document has rank 3; others come at no cost, and the forward operator takes them.
    .data = {.min_rank = 1, .max_rank = normgrad::kMaxRank, .layout = Layout::kUnitLastStride},
    .rows = kBackwardRows};

}  // namespace

infiniStatus_t infiniopCreateLayerNormBackwardDescriptor(
    infiniopHandle_t handle, infiniopLayerNormBackwardDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t grad_input_desc, infiniopTensorDescriptor_t grad_weight_desc,
    infiniopTensorDescriptor_t grad_bias_desc, infiniopTensorDescriptor_t grad_output_desc,
    infiniopTensorDescriptor_t weight_desc, infiniopTensorDescriptor_t input_standardization_desc,
    infiniopTensorDescriptor_t input_std_deviation_desc) {
  return create_operator(
      __func__, kBackward, handle, desc_ptr,
      in_order<kBackward>(grad_input_desc, grad_weight_desc, grad_bias_desc, grad_output_desc,
                          weight_desc, input_standardization_desc, input_std_deviation_desc));
}

infiniStatus_t infiniopGetLayerNormBackwardWorkspaceSize(infiniopLayerNormBackwardDescriptor_t desc,
                                                         size_t* size) {
  return get_workspace_size(__func__, kBackward, desc, size);
}

infiniStatus_t infiniopLayerNormBackward(infiniopLayerNormBackwardDescriptor_t desc,
                                         void* workspace, size_t workspace_size, void* grad_input,
                                         void* grad_weight, void* grad_bias,
                                         const void* grad_output, const void* weight,
                                         const void* input_standardization,
                                         const void* input_std_deviation, void* /*stream*/) {
  return run_operator(__func__, kBackward, desc, workspace, workspace_size,
                      in_order<kBackward>(grad_input, grad_weight, grad_bias, grad_output, weight,
                                          input_standardization, input_std_deviation));
}

infiniStatus_t infiniopDestroyLayerNormBackwardDescriptor(
    infiniopLayerNormBackwardDescriptor_t desc) {
  return destroy_operator(__func__, kBackward, desc);
}

infiniStatus_t infiniopCreateLayerNormDescriptor(
    infiniopHandle_t handle, infiniopLayerNormDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t output_desc, infiniopTensorDescriptor_t input_standardization_desc,
    infiniopTensorDescriptor_t input_std_deviation_desc, infiniopTensorDescriptor_t input_desc,
    infiniopTensorDescriptor_t weight_desc, infiniopTensorDescriptor_t bias_desc, float eps) {
  return create_operator(
      __func__, kForward, handle, desc_ptr,
      in_order<kForward>(output_desc, input_standardization_desc, input_std_deviation_desc,
                         input_desc, weight_desc, bias_desc),
      {.eps = eps});
}

infiniStatus_t infiniopGetLayerNormWorkspaceSize(infiniopLayerNormDescriptor_t desc, size_t* size) {
  return get_workspace_size(__func__, kForward, desc, size);
}

infiniStatus_t infiniopLayerNorm(infiniopLayerNormDescriptor_t desc, void* workspace,
                                 size_t workspace_size, void* output, void* input_standardization,
                                 void* input_std_deviation, const void* input, const void* weight,
                                 const void* bias, void* /*stream*/) {
  return run_operator(
      __func__, kForward, desc, workspace, workspace_size,
      in_order<kForward>(output, input_standardization, input_std_deviation, input, weight, bias));
}

infiniStatus_t infiniopDestroyLayerNormDescriptor(infiniopLayerNormDescriptor_t desc) {
  return destroy_operator(__func__, kForward, desc);
}
