#include "api/infiniop/tensor_descriptor.h"

#include <algorithm>
#include <iterator>

#include "api/guard.h"
#include "api/infini_status.h"
#include "api/live_handle.h"
#include "runtime/sizes.h"

namespace normgrad::api {
namespace {

// The checks have passed, so it is none but these; make_plan would refuse another.
DataType to_data_type(infiniDtype_t dtype) {
  if (dtype == INFINI_DTYPE_F16) return DataType::kF16;
  if (dtype == INFINI_DTYPE_BF16) return DataType::kBF16;
  return dtype == INFINI_DTYPE_F32 ? DataType::kF32 : DataType::kOther;
}

// Row-major. An extent of 0 counts as 1, so that the strides of an empty tensor are not all 0.
Status set_contiguous_strides(InfiniopTensorDescriptor& descriptor) {
  Checked stride = 1;
  for (std::size_t d = descriptor.ndim; d-- > 0;) {
    descriptor.strides[d] = stride.value();
    const std::size_t extent = std::max<std::size_t>(descriptor.shape[d], 1);
    if (d > 0 && extent > INT64_MAX) return fail(Status::kBadShape, "shape[%zu] is %zu", d, extent);
    if (d > 0) stride = stride * static_cast<std::int64_t>(extent);
    if (!stride.ok()) {
      return fail(Status::kBadShape,
                  "shape has so many elements that contiguous strides do not fit into 64 bits");
    }
  }
  return Status::kOk;
}

Status create(infiniopTensorDescriptor_t* desc_ptr, std::size_t ndim, const std::size_t* shape,
              const std::ptrdiff_t* strides, infiniDtype_t dtype) {
  constexpr std::size_t kMaxDims = InfiniopTensorDescriptor::kMaxDims;
  if (desc_ptr == nullptr) return null_pointer("desc_ptr");
  if (ndim > kMaxDims) {
    return fail(Status::kBadParam, "ndim is %zu, but must be at most %zu", ndim, kMaxDims);
  }
  if (shape == nullptr && ndim > 0) return null_pointer("shape");
  auto descriptor = std::make_unique<InfiniopTensorDescriptor>();
  descriptor->dtype = dtype;
  descriptor->ndim = ndim;
  std::copy_n(shape, ndim, descriptor->shape);
  if (strides != nullptr) std::copy_n(strides, ndim, descriptor->strides);
  const Status status = strides == nullptr ? set_contiguous_strides(*descriptor) : Status::kOk;
  if (status == Status::kOk) publish(std::move(descriptor), desc_ptr);
  return status;
}

}  // namespace

const char* name_of(infiniDtype_t dtype) {
  constexpr const char* kNames[] = {"INVALID", "BYTE", "BOOL", "I8",  "I16",  "I32", "I64",
                                    "U8",      "U16",  "U32",  "U64", "F8",   "F16", "F32",
                                    "F64",     "C16",  "C32",  "C64", "C128", "BF16"};
  const auto number = static_cast<unsigned>(dtype);
  return number < std::size(kNames) ? kNames[number] : "unknown";
}

Status to_tensor(const InfiniopTensorDescriptor& descriptor, const char* name, Tensor* tensor) {
  if (descriptor.ndim > kMaxRank) {
    return fail(Status::kBadShape, "%s has %zu dimensions, but must have at most %d", name,
                descriptor.ndim, kMaxRank);
  }
  tensor->name = name;
  tensor->dtype = to_data_type(descriptor.dtype);
  tensor->rank = static_cast<int>(descriptor.ndim);
  for (std::size_t d = 0; d < descriptor.ndim; ++d) {
    if (descriptor.shape[d] > INT64_MAX) {
      return fail(Status::kBadShape,
                  "%s has extent %zu in dimension %zu: more than memory can hold", name,
                  descriptor.shape[d], d);
    }
    tensor->shape[d] = static_cast<std::int64_t>(descriptor.shape[d]);
    tensor->strides[d] = descriptor.strides[d];
  }
  return Status::kOk;
}

}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace

infiniStatus_t infiniopCreateTensorDescriptor(infiniopTensorDescriptor_t* desc_ptr, size_t ndim,
                                              const size_t* shape, const ptrdiff_t* strides,
                                              infiniDtype_t dtype) {
  return to_infini(
      guarded(__func__, [&] { return create(desc_ptr, ndim, shape, strides, dtype); }));
}

infiniStatus_t infiniopDestroyTensorDescriptor(infiniopTensorDescriptor_t desc) {
  return to_infini(
      guarded(__func__, [&] { return destroy<InfiniopTensorDescriptor>("desc", desc); }));
}
