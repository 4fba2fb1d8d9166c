#include "api/operator_table.h"

#include <cstdlib>

namespace api_test {

std::size_t Operator::find(const char* argument) const {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (std::string(arguments[i].name) == argument) return i;
  }
  std::abort();
}

const Operator& batch_norm() {
  static const Operator op{
      "BatchNormBackward",
      1,
      {{"grad_input", Form::kData, true},
       {"grad_weight", Form::kVector, true},
       {"grad_bias", Form::kVector, true},
       {"input", Form::kData, false},
       {"grad_output", Form::kData, false},
       {"weight", Form::kVector, false},
       {"running_mean", Form::kVector, false},
       {"running_var", Form::kVector, false}},
      [](infiniopHandle_t handle, InfiniopDescriptor** desc, const infiniopTensorDescriptor_t* t) {
        return infiniopCreateBatchNormBackwardDescriptor(handle, desc, t[0], t[1], t[2], t[3], t[4],
                                                         t[5], t[6], t[7]);
      },
      infiniopGetBatchNormBackwardWorkspaceSize,
      [](InfiniopDescriptor* desc, void* workspace, std::size_t size, void* const* p) {
        return infiniopBatchNormBackward(desc, workspace, size, p[0], p[1], p[2], p[3], p[4], p[5],
                                         p[6], p[7], nullptr);
      },
      infiniopDestroyBatchNormBackwardDescriptor,
      Layout::kContiguous,
      3,
      3};
  return op;
}

const Operator& layer_norm() {
  static const Operator op{
      "LayerNormBackward",
      2,
      {{"grad_input", Form::kData, true},
       {"grad_weight", Form::kVector, true},
       {"grad_bias", Form::kVector, true, true},
       {"grad_output", Form::kData, false},
       {"weight", Form::kVector, false},
       {"input_standardization", Form::kData, false},
       {"input_std_deviation", Form::kPerRow, false}},
      [](infiniopHandle_t handle, InfiniopDescriptor** desc, const infiniopTensorDescriptor_t* t) {
        return infiniopCreateLayerNormBackwardDescriptor(handle, desc, t[0], t[1], t[2], t[3], t[4],
                                                         t[5], t[6]);
      },
      infiniopGetLayerNormBackwardWorkspaceSize,
      [](InfiniopDescriptor* desc, void* workspace, std::size_t size, void* const* p) {
        return infiniopLayerNormBackward(desc, workspace, size, p[0], p[1], p[2], p[3], p[4], p[5],
                                         p[6], nullptr);
      },
      infiniopDestroyLayerNormBackwardDescriptor};
  return op;
}

const Operator& rms_norm() {
  static const Operator op{
      "RMSNormBackward",
      2,
      {{"grad_x", Form::kData, true},
       {"grad_w", Form::kVector, true},
       {"grad_y", Form::kData, false},
       {"x", Form::kData, false},
       {"w", Form::kVector, false}},
      [](infiniopHandle_t handle, InfiniopDescriptor** desc, const infiniopTensorDescriptor_t* t) {
        return infiniopCreateRMSNormBackwardDescriptor(handle, desc, t[0], t[1], t[2], t[3], t[4]);
      },
      infiniopGetRMSNormBackwardWorkspaceSize,
      [](InfiniopDescriptor* desc, void* workspace, std::size_t size, void* const* p) {
        return infiniopRMSNormBackward(desc, workspace, size, p[0], p[1], p[2], p[3], p[4],
                                       nullptr);
      },
      infiniopDestroyRMSNormBackwardDescriptor,
      Layout::kUnitLast,
      2};
  return op;
}

const Operator& batch_norm_forward() {
  static const Operator op{
      "BatchNorm",
      1,
      {{"output", Form::kData, true},
       {"running_mean", Form::kVector, true},
       {"running_var", Form::kVector, true},
       {"input", Form::kData, false},
       {"weight", Form::kVector, false},
       {"bias", Form::kVector, false}},
      [](infiniopHandle_t handle, InfiniopDescriptor** desc, const infiniopTensorDescriptor_t* t) {
        return infiniopCreateBatchNormDescriptor(handle, desc, t[0], t[1], t[2], t[3], t[4], t[5],
                                                 0.25f, 1e-5f);
      },
      infiniopGetBatchNormWorkspaceSize,
      [](InfiniopDescriptor* desc, void* workspace, std::size_t size, void* const* p) {
        return infiniopBatchNorm(desc, workspace, size, p[0], p[1], p[2], p[3], p[4], p[5],
                                 nullptr);
      },
      infiniopDestroyBatchNormDescriptor,
      Layout::kContiguous,
      3,
      3};
  return op;
}

const Operator& layer_norm_forward() {
  static const Operator op{
      "LayerNorm",
      2,
      {{"output", Form::kData, true},
       {"input_standardization", Form::kData, true},
       {"input_std_deviation", Form::kPerRow, true},
       {"input", Form::kData, false},
       {"weight", Form::kVector, false},
       {"bias", Form::kVector, false, true}},
      [](infiniopHandle_t handle, InfiniopDescriptor** desc, const infiniopTensorDescriptor_t* t) {
        return infiniopCreateLayerNormDescriptor(handle, desc, t[0], t[1], t[2], t[3], t[4], t[5],
                                                 1e-5f);
      },
      infiniopGetLayerNormWorkspaceSize,
      [](InfiniopDescriptor* desc, void* workspace, std::size_t size, void* const* p) {
        return infiniopLayerNorm(desc, workspace, size, p[0], p[1], p[2], p[3], p[4], p[5],
                                 nullptr);
      },
      infiniopDestroyLayerNormDescriptor,
      Layout::kAny};
  return op;
}

const Operator& rms_norm_forward() {
  static const Operator op{
      "RMSNorm",
      2,
      {{"y", Form::kData, true}, {"x", Form::kData, false}, {"w", Form::kVector, false, true}},
      [](infiniopHandle_t handle, InfiniopDescriptor** desc, const infiniopTensorDescriptor_t* t) {
        return infiniopCreateRMSNormDescriptor(handle, desc, t[0], t[1], t[2], 1e-6f);
      },
      infiniopGetRMSNormWorkspaceSize,
      [](InfiniopDescriptor* desc, void* workspace, std::size_t size, void* const* p) {
        return infiniopRMSNorm(desc, workspace, size, p[0], p[1], p[2], nullptr);
      },
      infiniopDestroyRMSNormDescriptor,
      Layout::kUnitLastAlways,
      2,
      3,
      true};
  return op;
}

const Operator& add_rms_norm() {
  static const Operator op{
      "AddRMSNorm",
      2,
      {{"y", Form::kData, true},
       {"residual_out", Form::kData, true},
       {"a", Form::kData, false},
       {"b", Form::kData, false},
       {"weight", Form::kVector, false, true}},
      [](infiniopHandle_t handle, InfiniopDescriptor** desc, const infiniopTensorDescriptor_t* t) {
        return infiniopCreateAddRMSNormDescriptor(handle, desc, t[0], t[1], t[2], t[3], t[4],
                                                  1e-6f);
      },
      infiniopGetAddRMSNormWorkspaceSize,
      [](InfiniopDescriptor* desc, void* workspace, std::size_t size, void* const* p) {
        return infiniopAddRMSNorm(desc, workspace, size, p[0], p[1], p[2], p[3], p[4], nullptr);
      },
      infiniopDestroyAddRMSNormDescriptor,
      Layout::kUnitLastAlways,
      2,
      3,
      true};
  return op;
}

const std::vector<const Operator*>& operators() {
  static const std::vector<const Operator*> all{
      &batch_norm(),         &layer_norm(),       &rms_norm(),    &batch_norm_forward(),
      &layer_norm_forward(), &rms_norm_forward(), &add_rms_norm()};
  return all;
}

}  // namespace api_test
