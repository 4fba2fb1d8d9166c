// aclTensor: made, asked, changed, destroyed.
#include "api/aclnn/tensor.h"

#include "api/aclnn/checks.h"
#include "api/aclnn/handles.h"
#include "runtime/sizes.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace

namespace {

int check_dims(const char* name, const std::int64_t* dims, std::uint64_t size) {
  if (dims == nullptr && size > 0) return refuse_null_pointer(name);
  if (size <= Dims::kMax) return 0;
  return refuse(kAclnnInvalid, "%s has %llu dimensions, but at most %llu are possible", name,
                static_cast<unsigned long long>(size), static_cast<unsigned long long>(Dims::kMax));
}

// Row-major. An extent of 0 counts as 1, so that the strides of an empty tensor are not all 0; a
// stride that does not fit belongs to a tensor that the operators refuse for its size.
Dims contiguous_strides(const Dims& shape) {
  Dims strides(shape.begin(), shape.size());
  normgrad::Checked stride = 1;
  for (std::uint64_t d = shape.size(); d-- > 0;) {
    strides.begin()[d] = stride.ok() ? stride.value() : INT64_MAX;
    stride = stride * std::max<std::int64_t>(shape[d], 1);
  }
  return strides;
}

// What the caller says about a view; the parts are made before any of them is stored.
struct Description {
  const std::int64_t* shape;
  std::uint64_t rank;
  aclDataType dtype;
  const std::int64_t* strides;
  std::int64_t offset;
  aclFormat format;
  const std::int64_t* storage;
  std::uint64_t storage_rank;
};

int create(const Description& given, void* address, aclTensor& tensor) {
  NORMGRAD_ACLNN_TRY(check_dims("viewDims", given.shape, given.rank));
  NORMGRAD_ACLNN_TRY(check_dims("storageDims", given.storage, given.storage_rank));
  tensor.shape = Dims(given.shape, given.rank);
  tensor.strides =
      given.strides == nullptr ? contiguous_strides(tensor.shape) : Dims(given.strides, given.rank);
  tensor.storage = Dims(given.storage, given.storage_rank);
  tensor.offset = given.offset;
  tensor.address = address;
  tensor.dtype = given.dtype;
  tensor.format = given.format;
  return 0;
}

// Creates a second tensor in which nulls stand for the first one's parts, and moves it there.
int change(Description given, void* address, aclTensor& tensor) {
  const bool keeps_shape = given.shape == nullptr;
  const bool keeps_storage = given.storage == nullptr;
  if (keeps_shape) {
    if (given.strides != nullptr && given.rank != tensor.shape.size()) {
      return refuse(
          kAclnnInvalid,
          "stride has %llu elements (viewDimsNum), but the shape that tensor keeps has %llu",
          static_cast<unsigned long long>(given.rank),
          static_cast<unsigned long long>(tensor.shape.size()));
    }
    given.shape = tensor.shape.begin();
    given.rank = tensor.shape.size();
    if (given.strides == nullptr) given.strides = tensor.strides.begin();
  }
  if (keeps_storage) {
    given.storage = tensor.storage.begin();
    given.storage_rank = tensor.storage.size();
  }
  aclTensor changed;
  const int code = create(given, address == nullptr ? tensor.address : address, changed);
  if (code == 0) tensor = std::move(changed);
  return code;
}

int get_dims(const char* function, const aclTensor* tensor, const char* name,
             Dims aclTensor::*member, int64_t** dims, uint64_t* size) {
  return aclnn_entry(function, [&] {
    NORMGRAD_ACLNN_TRY(check_handle("tensor", tensor));
    if (dims == nullptr) return refuse_null_pointer(name);
    if (size == nullptr) return refuse(kAclnnNullPointer, "%sNum is null", name);
    const Dims& values = tensor->*member;
    auto copy = std::make_unique<int64_t[]>(values.size());
    std::copy(values.begin(), values.end(), copy.get());
    *dims = copy.release();
    *size = values.size();
    return 0;
  });
}

template <class T>
int get(const char* function, const aclTensor* tensor, const char* name, const T aclTensor::*member,
        T* value) {
  return aclnn_entry(function, [&] {
    NORMGRAD_ACLNN_TRY(check_handle("tensor", tensor));
    if (value == nullptr) return refuse_null_pointer(name);
    *value = tensor->*member;
    return 0;
  });
}

}  // namespace

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                           const int64_t* stride, int64_t offset, aclFormat format,
                           const int64_t* storageDims, uint64_t storageDimsNum, void* tensorData) {
  return create_handle<aclTensor>(__func__, [&](aclTensor& tensor) {
    return create(
        {viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum},
        tensorData, tensor);
  });
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
  return destroy_handle(__func__, "tensor", tensor);
}

aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims, uint64_t viewDimsNum,
                          aclDataType dataType, const int64_t* stride, int64_t offset,
                          aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum,
                          void* addr) {
  return aclnn_entry(__func__, [&] {
    NORMGRAD_ACLNN_TRY(check_handle("tensor", tensor));
    return change(
        {viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum},
        addr, *tensor);
  });
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
  return get_dims(__func__, tensor, "viewDims", &aclTensor::shape, viewDims, viewDimsNum);
}

aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims,
                               uint64_t* storageDimsNum) {
  return get_dims(__func__, tensor, "storageDims", &aclTensor::storage, storageDims,
                  storageDimsNum);
}

aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue,
                              uint64_t* stridesNum) {
  return get_dims(__func__, tensor, "strides", &aclTensor::strides, stridesValue, stridesNum);
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
  return get(__func__, tensor, "offset", &aclTensor::offset, offset);
}

aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
  return get(__func__, tensor, "format", &aclTensor::format, format);
}

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
  return get(__func__, tensor, "dataType", &aclTensor::dtype, dataType);
}

aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
  return get(__func__, tensor, "addr", &aclTensor::address, addr);
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
  return aclnn_entry(__func__, [&] {
    NORMGRAD_ACLNN_TRY(check_handle("tensor", tensor));
    tensor->address = addr;
    return 0;
  });
}
