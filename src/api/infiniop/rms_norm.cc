// infiniopRMSNorm, infiniopAddRMSNorm; infiniopRMSNormBackward: the root mean square is computed from x, no eps.
#include "infiniop/ops/rms_norm.h"

#include "api/infiniop/operator.h"
#include "infiniop/ops/add_rms_norm.h"
#include "infiniop/ops/rms_norm_backward.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Arg;

namespace {

constexpr Row kForwardRows[] = {
    {"y", Arg::kY, Role::kData}, {"x", Arg::kX, Role::kData}, {"w", Arg::kW, Role::kOptional}};
constexpr Row kAddForwardRows[] = {
    {"y", Arg::kY, Role::kData},          {"residual_out", Arg::kXSum, Role::kData},
    {"a", Arg::kX, Role::kData},          {"b", Arg::kX2, Role::kData},
    {"weight", Arg::kW, Role::kOptional},
};
constexpr DataRule kForwardData{
    .min_rank = 2, .max_rank = 3, .layout = Layout::kUnitLastStrideAlways};
constexpr Spec kForward{.op = normgrad::Op::kRmsNorm,
                        .data = kForwardData,
                        .rows = kForwardRows,
                        .types = DataTypes::kAnyWeightsOfHalves,
                        .has_small_eps = true};
constexpr Spec kAddForward{.op = normgrad::Op::kRmsNorm,
                           .data = kForwardData,
                           .rows = kAddForwardRows,
                           .types = DataTypes::kAnyWeightsOfHalves,
                           .has_small_eps = true};

constexpr Row kBackwardRows[] = {
    {"grad_x", Arg::kDx, Role::kData}, {"grad_w", Arg::kDw, Role::kOther},
    {"grad_y", Arg::kDy, Role::kData}, {"x", Arg::kX, Role::kData},
    {"w", Arg::kW, Role::kOther},
};
constexpr Spec kBackward{
    .op = normgrad::Op::kRmsNormBackward,
    // The document has rank 3; others come at no cost, and the forward operator takes them.
    .data = {.min_rank = 2, .max_rank = normgrad::kMaxRank, .layout = Layout::kUnitLastStride},
    .rows = kBackwardRows};

}  // namespace

infiniStatus_t infiniopCreateRMSNormBackwardDescriptor(
    infiniopHandle_t handle, infiniopRMSNormBackwardDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t grad_x_desc, infiniopTensorDescriptor_t grad_w_desc,
    infiniopTensorDescriptor_t grad_y_desc, infiniopTensorDescriptor_t x_desc,
    infiniopTensorDescriptor_t w_desc) {
  return create_operator(
      __func__, kBackward, handle, desc_ptr,
      in_order<kBackward>(grad_x_desc, grad_w_desc, grad_y_desc, x_desc, w_desc));
}

infiniStatus_t infiniopGetRMSNormBackwardWorkspaceSize(infiniopRMSNormBackwardDescriptor_t desc,
                                                       size_t* size) {
  return get_workspace_size(__func__, kBackward, desc, size);
}

infiniStatus_t infiniopRMSNormBackward(infiniopRMSNormBackwardDescriptor_t desc, void* workspace,
                                       size_t workspace_size, void* grad_x, void* grad_w,
                                       const void* grad_y, const void* x, const void* w,
                                       void* /*stream*/) {
  return run_operator(__func__, kBackward, desc, workspace, workspace_size,
                      in_order<kBackward>(grad_x, grad_w, grad_y, x, w));
}

infiniStatus_t infiniopDestroyRMSNormBackwardDescriptor(infiniopRMSNormBackwardDescriptor_t desc) {
  return destroy_operator(__func__, kBackward, desc);
}

infiniStatus_t infiniopCreateRMSNormDescriptor(infiniopHandle_t handle,
                                               infiniopRMSNormDescriptor_t* desc_ptr,
                                               infiniopTensorDescriptor_t y_desc,
                                               infiniopTensorDescriptor_t x_desc,
                                               infiniopTensorDescriptor_t w_desc, float epsilon) {
  return create_operator(__func__, kForward, handle, desc_ptr,
                         in_order<kForward>(y_desc, x_desc, w_desc), {.eps = epsilon});
}

infiniStatus_t infiniopGetRMSNormWorkspaceSize(infiniopRMSNormDescriptor_t desc, size_t* size) {
  return get_workspace_size(__func__, kForward, desc, size);
}

infiniStatus_t infiniopRMSNorm(infiniopRMSNormDescriptor_t desc, void* workspace,
                               size_t workspace_size, void* y, const void* x, const void* w,
                               void* /*stream*/) {
  return run_operator(__func__, kForward, desc, workspace, workspace_size,
                      in_order<kForward>(y, x, w));
}

infiniStatus_t infiniopDestroyRMSNormDescriptor(infiniopRMSNormDescriptor_t desc) {
  return destroy_operator(__func__, kForward, desc);
}

infiniStatus_t infiniopCreateAddRMSNormDescriptor(
    infiniopHandle_t handle, infiniopAddRMSNormDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t y_desc, infiniopTensorDescriptor_t residual_out_desc,
    infiniopTensorDescriptor_t a_desc, infiniopTensorDescriptor_t b_desc,
    infiniopTensorDescriptor_t weight_desc, float epsilon) {
  return create_operator(
      __func__, kAddForward, handle, desc_ptr,
      in_order<kAddForward>(y_desc, residual_out_desc, a_desc, b_desc, weight_desc),
      {.eps = epsilon});
}

infiniStatus_t infiniopGetAddRMSNormWorkspaceSize(infiniopAddRMSNormDescriptor_t desc,
                                                  size_t* size) {
  return get_workspace_size(__func__, kAddForward, desc, size);
}

infiniStatus_t infiniopAddRMSNorm(infiniopAddRMSNormDescriptor_t desc, void* workspace,
                                  size_t workspace_size, void* y, void* residual_out, const void* a,
                                  const void* b, const void* weight, void* /*stream*/) {
  return run_operator(__func__, kAddForward, desc, workspace, workspace_size,
                      in_order<kAddForward>(y, residual_out, a, b, weight));
}

infiniStatus_t infiniopDestroyAddRMSNormDescriptor(infiniopAddRMSNormDescriptor_t desc) {
  return destroy_operator(__func__, kAddForward, desc);
}
