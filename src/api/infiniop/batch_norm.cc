// infiniopBatchNorm, in training; infiniopBatchNormBackward: the training gradient, statistics as given, no eps.
#include "infiniop/ops/batch_norm.h"

#include "api/infiniop/operator.h"
#include "infiniop/ops/batch_norm_backward.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Arg;

namespace {

constexpr Row kForwardRows[] = {
    {"output", Arg::kY, Role::kData},
    {"running_mean", Arg::kRunningMean, Role::kOther},
    {"running_var", Arg::kRunningVar, Role::kOther},
    {"input", Arg::kX, Role::kData},
    {"weight", Arg::kW, Role::kOther},
    {"bias", Arg::kB, Role::kOther},
};
constexpr Spec kForward{.op = normgrad::Op::kBatchNorm,
                        .data = {.min_rank = 3, .max_rank = 3, .layout = Layout::kContiguous},
                        .rows = kForwardRows};

constexpr Row kBackwardRows[] = {
    {"grad_input", Arg::kDx, Role::kData},      {"grad_weight", Arg::kDw, Role::kOther},
    {"grad_bias", Arg::kDb, Role::kOther},      {"input", Arg::kX, Role::kData},
    {"grad_output", Arg::kDy, Role::kData},     {"weight", Arg::kW, Role::kOther},
    {"running_mean", Arg::kMean, Role::kOther}, {"running_var", Arg::kVar, Role::kOther},
};
constexpr Spec kBackward{.op = normgrad::Op::kBatchNormBackward,
                         .data = {.min_rank = 3, .max_rank = 3, .layout = Layout::kContiguous},
                         .rows = kBackwardRows};

}  // namespace

infiniStatus_t infiniopCreateBatchNormBackwardDescriptor(
    infiniopHandle_t handle, infiniopBatchNormBackwardDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t grad_input_desc, infiniopTensorDescriptor_t grad_weight_desc,
    infiniopTensorDescriptor_t grad_bias_desc, infiniopTensorDescriptor_t input_desc,
    infiniopTensorDescriptor_t grad_output_desc, infiniopTensorDescriptor_t weight_desc,
    infiniopTensorDescriptor_t running_mean_desc, infiniopTensorDescriptor_t running_var_desc) {
  return create_operator(
      __func__, kBackward, handle, desc_ptr,
      in_order<kBackward>(grad_input_desc, grad_weight_desc, grad_bias_desc, input_desc,
                          grad_output_desc, weight_desc, running_mean_desc, running_var_desc));
}

infiniStatus_t infiniopGetBatchNormBackwardWorkspaceSize(infiniopBatchNormBackwardDescriptor_t desc,
                                                         size_t* size) {
  return get_workspace_size(__func__, kBackward, desc, size);
}

infiniStatus_t infiniopBatchNormBackward(infiniopBatchNormBackwardDescriptor_t desc,
                                         void* workspace, size_t workspace_size, void* grad_input,
                                         void* grad_weight, void* grad_bias, const void* input,
                                         const void* grad_output, const void* weight,
                                         const void* running_mean, const void* running_var,
                                         void* /*stream*/) {
  return run_operator(__func__, kBackward, desc, workspace, workspace_size,
                      in_order<kBackward>(grad_input, grad_weight, grad_bias, input, grad_output,
                                          weight, running_mean, running_var));
}

infiniStatus_t infiniopDestroyBatchNormBackwardDescriptor(
    infiniopBatchNormBackwardDescriptor_t desc) {
  return destroy_operator(__func__, kBackward, desc);
}

infiniStatus_t infiniopCreateBatchNormDescriptor(
    infiniopHandle_t handle, infiniopBatchNormDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t output_desc, infiniopTensorDescriptor_t running_mean_desc,
    infiniopTensorDescriptor_t running_var_desc, infiniopTensorDescriptor_t input_desc,
    infiniopTensorDescriptor_t weight_desc, infiniopTensorDescriptor_t bias_desc, float momentum,
    float eps) {
  return create_operator(__func__, kForward, handle, desc_ptr,
                         in_order<kForward>(output_desc, running_mean_desc, running_var_desc,
                                            input_desc, weight_desc, bias_desc),
                         {.eps = eps, .momentum = momentum});
}

infiniStatus_t infiniopGetBatchNormWorkspaceSize(infiniopBatchNormDescriptor_t desc, size_t* size) {
  return get_workspace_size(__func__, kForward, desc, size);
}

infiniStatus_t infiniopBatchNorm(infiniopBatchNormDescriptor_t desc, void* workspace,
                                 size_t workspace_size, void* output, void* running_mean,
                                 void* running_var, const void* input, const void* weight,
                                 const void* bias, void* /*stream*/) {
  return run_operator(__func__, kForward, desc, workspace, workspace_size,
                      in_order<kForward>(output, running_mean, running_var, input, weight, bias));
}

infiniStatus_t infiniopDestroyBatchNormDescriptor(infiniopBatchNormDescriptor_t desc) {
  return destroy_operator(__func__, kForward, desc);
}
