// infiniopRMSNormBackward: the root mean square is computed from x, no eps.
#include "api/infiniop/operator.h"
#include "infiniop/ops/rms_norm_backward.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Arg;

namespace {

constexpr Row kRows[] = {
    {"grad_x", Arg::kDx, Role::kData}, {"grad_w", Arg::kDw, Role::kOther},
    {"grad_y", Arg::kDy, Role::kData}, {"x", Arg::kX, Role::kData},
    {"w", Arg::kW, Role::kOther},
};
constexpr Spec kBackward{
    .op = normgrad::Op::kRmsNormBackward,
    .kind = normgrad::HandleKind::kInfiniopRmsNormBackward,
    // The document has rank 3; others come at no cost, and the forward operator takes them.
    .data = {.min_rank = 2, .max_rank = normgrad::kMaxRank, .contiguous = false},
    .rows = kRows};

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
