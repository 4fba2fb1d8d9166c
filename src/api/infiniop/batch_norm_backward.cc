// infiniopBatchNormBackward: the training gradient, statistics as given, no eps.
#include "infiniop/ops/batch_norm_backward.h"

#include "api/infiniop/operator.h"
#include "normgrad/batch_norm_backward.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::HandleKind;

namespace {

using Descriptor = OperatorDescriptor<HandleKind::kInfiniopBatchNormBackward>;

constexpr DataRule kRule{.min_rank = 3, .max_rank = 3, .contiguous = true};

}  // namespace

infiniStatus_t infiniopCreateBatchNormBackwardDescriptor(
    infiniopHandle_t handle, infiniopBatchNormBackwardDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t grad_input_desc, infiniopTensorDescriptor_t grad_weight_desc,
    infiniopTensorDescriptor_t grad_bias_desc, infiniopTensorDescriptor_t input_desc,
    infiniopTensorDescriptor_t grad_output_desc, infiniopTensorDescriptor_t weight_desc,
    infiniopTensorDescriptor_t running_mean_desc, infiniopTensorDescriptor_t running_var_desc) {
  normgrad::BatchNormBackward problem;
  return create_operator<Descriptor>(
      __func__, handle, desc_ptr, problem, kRule,
      {{"grad_input", grad_input_desc, &problem.dx, Role::kData},
       {"grad_weight", grad_weight_desc, &problem.dw, Role::kOther},
       {"grad_bias", grad_bias_desc, &problem.db, Role::kOther},
       {"input", input_desc, &problem.x, Role::kData},
       {"grad_output", grad_output_desc, &problem.dy, Role::kData},
       {"weight", weight_desc, &problem.w, Role::kOther},
       {"running_mean", running_mean_desc, &problem.mean, Role::kOther},
       {"running_var", running_var_desc, &problem.var, Role::kOther}});
}

infiniStatus_t infiniopGetBatchNormBackwardWorkspaceSize(infiniopBatchNormBackwardDescriptor_t desc,
                                                         size_t* size) {
  return get_workspace_size<Descriptor>(__func__, desc, size);
}

infiniStatus_t infiniopBatchNormBackward(infiniopBatchNormBackwardDescriptor_t desc,
                                         void* workspace, size_t workspace_size, void* grad_input,
                                         void* grad_weight, void* grad_bias, const void* input,
                                         const void* grad_output, const void* weight,
                                         const void* running_mean, const void* running_var,
                                         void* /*stream*/) {
  const normgrad::BatchNormBackwardData data{.dx = grad_input,
                                             .dw = grad_weight,
                                             .db = grad_bias,
                                             .dy = grad_output,
                                             .x = input,
                                             .w = weight,
                                             .mean = running_mean,
                                             .rstd = nullptr,
                                             .var = running_var};
  return run_operator<Descriptor>(__func__, desc, workspace, workspace_size, data);
}

infiniStatus_t infiniopDestroyBatchNormBackwardDescriptor(
    infiniopBatchNormBackwardDescriptor_t desc) {
  return destroy_operator<Descriptor>(__func__, desc);
}
