// infiniopRMSNormBackward: the root mean square is computed from x, no eps.
#include "infiniop/ops/rms_norm_backward.h"

#include "api/infiniop/operator.h"
#include "normgrad/rms_norm_backward.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::HandleKind;

namespace {

using Descriptor = OperatorDescriptor<HandleKind::kInfiniopRmsNormBackward>;

// The document has rank 3; others come at no cost, and the forward operator takes them.
constexpr DataRule kRule{.min_rank = 2, .max_rank = normgrad::kMaxRank, .contiguous = false};

}  // namespace

infiniStatus_t infiniopCreateRMSNormBackwardDescriptor(
    infiniopHandle_t handle, infiniopRMSNormBackwardDescriptor_t* desc_ptr,
    infiniopTensorDescriptor_t grad_x_desc, infiniopTensorDescriptor_t grad_w_desc,
    infiniopTensorDescriptor_t grad_y_desc, infiniopTensorDescriptor_t x_desc,
    infiniopTensorDescriptor_t w_desc) {
  normgrad::RmsNormBackward problem;
  return create_operator<Descriptor>(__func__, handle, desc_ptr, problem, kRule,
                                     {{"grad_x", grad_x_desc, &problem.dx, Role::kData},
                                      {"grad_w", grad_w_desc, &problem.dw, Role::kOther},
                                      {"grad_y", grad_y_desc, &problem.dy, Role::kData},
                                      {"x", x_desc, &problem.x, Role::kData},
                                      {"w", w_desc, &problem.w, Role::kOther}});
}

infiniStatus_t infiniopGetRMSNormBackwardWorkspaceSize(infiniopRMSNormBackwardDescriptor_t desc,
                                                       size_t* size) {
  return get_workspace_size<Descriptor>(__func__, desc, size);
}

infiniStatus_t infiniopRMSNormBackward(infiniopRMSNormBackwardDescriptor_t desc, void* workspace,
                                       size_t workspace_size, void* grad_x, void* grad_w,
                                       const void* grad_y, const void* x, const void* w,
                                       void* /*stream*/) {
  const normgrad::RmsNormBackwardData data{
      .dx = grad_x, .dw = grad_w, .dy = grad_y, .w = w, .x = x, .rstd = nullptr};
  return run_operator<Descriptor>(__func__, desc, workspace, workspace_size, data);
}

infiniStatus_t infiniopDestroyRMSNormBackwardDescriptor(infiniopRMSNormBackwardDescriptor_t desc) {
  return destroy_operator<Descriptor>(__func__, desc);
}
