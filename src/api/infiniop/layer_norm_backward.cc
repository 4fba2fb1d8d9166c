// infiniopLayerNormBackward: from the normalized input and its standard deviation.
#include "infiniop/ops/layer_norm_backward.h"

#include "api/infiniop/operator.h"
#include "normgrad/layer_norm_backward.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::HandleKind;

namespace {

using Descriptor = OperatorDescriptor<HandleKind::kInfiniopLayerNormBackward>;

// The document has rank 3; others come at no cost, and the forward operator takes them.
constexpr DataRule kRule{.min_rank = 2, .max_rank = normgrad::kMaxRank, .contiguous = false};

}  // namespace

infiniStatus_t infiniopCreateLayerNormBackwardDescriptor(
    infiniopHandle_t handle, infiniopLayerNormBackwardDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t grad_input_desc, infiniopTensorDescriptor_t grad_weight_desc,
    infiniopTensorDescriptor_t grad_bias_desc, infiniopTensorDescriptor_t grad_output_desc,
    infiniopTensorDescriptor_t weight_desc, infiniopTensorDescriptor_t input_standardization_desc,
    infiniopTensorDescriptor_t input_std_deviation_desc) {
  normgrad::LayerNormBackward problem;
  return create_operator<Descriptor>(
      __func__, handle, desc_ptr, problem, kRule,
      {{"grad_input", grad_input_desc, &problem.dx, Role::kData},
       {"grad_weight", grad_weight_desc, &problem.dw, Role::kOther},
       {"grad_bias", grad_bias_desc, &problem.db, Role::kOptional},
       {"grad_output", grad_output_desc, &problem.dy, Role::kData},
       {"weight", weight_desc, &problem.w, Role::kOther},
       {"input_standardization", input_standardization_desc, &problem.x_hat, Role::kData},
       {"input_std_deviation", input_std_deviation_desc, &problem.sigma, Role::kOther}});
}

infiniStatus_t infiniopGetLayerNormBackwardWorkspaceSize(infiniopLayerNormBackwardDescriptor_t desc,
                                                         size_t* size) {
  return get_workspace_size<Descriptor>(__func__, desc, size);
}

infiniStatus_t infiniopLayerNormBackward(infiniopLayerNormBackwardDescriptor_t desc,
                                         void* workspace, size_t workspace_size, void* grad_input,
                                         void* grad_weight, void* grad_bias,
                                         const void* grad_output, const void* weight,
                                         const void* input_standardization,
                                         const void* input_std_deviation, void* /*stream*/) {
  const normgrad::LayerNormBackwardData data{.dx = grad_input,
                                             .dw = grad_weight,
                                             .db = grad_bias,
                                             .dy = grad_output,
                                             .w = weight,
                                             .x_hat = input_standardization,
                                             .sigma = input_std_deviation,
                                             .x = nullptr,
                                             .mean = nullptr,
                                             .rstd = nullptr};
  return run_operator<Descriptor>(__func__, desc, workspace, workspace_size, data);
}

infiniStatus_t infiniopDestroyLayerNormBackwardDescriptor(
    infiniopLayerNormBackwardDescriptor_t desc) {
  return destroy_operator<Descriptor>(__func__, desc);
}
