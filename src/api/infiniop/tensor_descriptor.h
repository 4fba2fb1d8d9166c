// What a caller said about a tensor, unchecked; and its translation into the operators' terms.
#ifndef NORMGRAD_API_INFINIOP_TENSOR_DESCRIPTOR_H
#define NORMGRAD_API_INFINIOP_TENSOR_DESCRIPTOR_H

#include <cstddef>

#include "infiniop/tensor_descriptor.h"
#include "normgrad/status.h"
#include "normgrad/tensor.h"
#include "runtime/handle_registry.h"
#include "runtime/retirement.h"

struct InfiniopTensorDescriptor {
  static constexpr normgrad::HandleKind kKind = normgrad::HandleKind::kInfiniopTensor;
  static constexpr std::size_t kMaxDims = 64;  // far more than any operator takes

  infiniDtype_t dtype;
  std::size_t ndim;
  std::size_t shape[kMaxDims];
  std::ptrdiff_t strides[kMaxDims];
  normgrad::Retirement retirement;
};

namespace normgrad::api {

const char* name_of(infiniDtype_t dtype);

// kBadShape if the operators' tensors have no room for its rank or extents. `name` is a string
// literal.
Status to_tensor(const InfiniopTensorDescriptor& descriptor, const char* name, Tensor* tensor);

}  // namespace normgrad::api

#endif
