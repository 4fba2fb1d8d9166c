#include "torch/tensors.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <stdexcept>
#include <string>

namespace normgrad::python {
namespace {

DataType type_of(std::int32_t torch_type) {
  const Shim& torch = shim();
  if (torch_type == torch.f32) return DataType::kF32;
  if (torch_type == torch.bf16) return DataType::kBF16;
  if (torch_type == torch.f16) return DataType::kF16;
  if (torch_type == torch.f64) return DataType::kF64;
  if (torch_type == torch.i32) return DataType::kI32;
  return DataType::kOther;
}

std::int32_t torch_type(DataType dtype) {
  const Shim& torch = shim();
  switch (dtype) {
    case DataType::kF16:
      return torch.f16;
    case DataType::kBF16:
      return torch.bf16;
    case DataType::kF32:
      return torch.f32;
    case DataType::kF64:
      return torch.f64;
    case DataType::kI32:
      return torch.i32;
    default:
      throw std::runtime_error(
          "normgrad: results can have the types f16, bf16, f32 and f64, but one has that of an "
          "argument, which is another");
  }
}

// Where malloc has no piece that fits, a result is fresh memory, and to take that from the system page by page takes longer
// than to compute what goes there. Only a hint, and only for pages that lie within the result: nothing else grows.
void ask_for_large_pages([[maybe_unused]] const TorchTensor& tensor) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t kPage = std::uintptr_t{2} << 20;
  const std::int64_t elements = tensor.elements();
  if (elements < std::int64_t{1} << 19) return;  // f32 that fill a page; f64, statistics, are few
  const std::int64_t bytes = elements * (tensor.dtype() == DataType::kF32 ? 4 : 2);
  const auto begin = reinterpret_cast<std::uintptr_t>(tensor.data());
  const std::uintptr_t first = (begin + kPage - 1) / kPage * kPage;
  const std::uintptr_t last = (begin + static_cast<std::uintptr_t>(bytes)) / kPage * kPage;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

TorchTensor new_strided(std::int32_t torch_type, int rank, const std::int64_t* sizes,
                        const std::int64_t* strides) {
  TensorHandle handle = nullptr;
  check(shim().empty_strided(rank, sizes, strides, torch_type, shim().cpu, 0, &handle),
        "make a tensor");
  TorchTensor out(handle);
  ask_for_large_pages(out);
  return out;
}

// The strides of a tensor without gaps whose dimensions lie in memory in the order `order`, the outermost first.
void set_dense_strides(int rank, const std::int64_t* sizes, const int* order,
                       std::int64_t* strides) {
  std::int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    strides[order[i]] = stride;
    stride *= std::max(sizes[order[i]], std::int64_t{1});
  }
}

TorchTensor new_row_major(std::int32_t torch_type, int rank, const std::int64_t* sizes) {
  if (rank > kMostDims) {
    throw std::runtime_error("normgrad: a tensor has " + std::to_string(rank) +
                             " dimensions, but 64 are the most");
  }
  int order[kMostDims];
  std::int64_t strides[kMostDims];
  for (int d = 0; d < rank; ++d) order[d] = d;
  set_dense_strides(rank, sizes, order, strides);
  return new_strided(torch_type, rank, sizes, strides);
}

}  // namespace

TorchTensor::TorchTensor(TensorHandle owned) : handle_(owned) {
  const Shim& torch = shim();
  bool defined = false;
  check(torch.is_defined(handle_, &defined), "look at a tensor");
  if (!defined) return;
  std::int64_t *sizes = nullptr, *strides = nullptr;
  check(torch.get_dtype(handle_, &torch_type_) | torch.get_dim(handle_, &rank_) |
            torch.get_sizes(handle_, &sizes) | torch.get_strides(handle_, &strides),
        "describe a tensor");
  data_type_ = type_of(torch_type_);
  sizes_ = sizes;
  strides_ = strides;
}

TorchTensor::~TorchTensor() {
  if (handle_ != nullptr) shim().delete_tensor_object(handle_);
}

void TorchTensor::swap(TorchTensor& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(data_type_, other.data_type_);
  std::swap(torch_type_, other.torch_type_);
  std::swap(rank_, other.rank_);
  std::swap(sizes_, other.sizes_);
  std::swap(strides_, other.strides_);
}

std::int64_t TorchTensor::elements() const {
  std::int64_t count = 1;
  for (int d = 0; d < rank(); ++d) count *= sizes_[d];
  return count;
}

bool TorchTensor::is_contiguous() const {
  std::int64_t stride = 1;
  for (int d = rank() - 1; d >= 0; --d) {
    if (sizes_[d] != 1 && strides_[d] != stride) return elements() == 0;
    stride *= sizes_[d];
  }
  return true;
}

void* TorchTensor::data() const {
  void* address = nullptr;
  if (present()) check(shim().get_data_ptr(handle_, &address), "give a tensor's address");
  return address;
}

TorchTensor TorchTensor::contiguous() && {
  if (!present() || is_contiguous()) return std::move(*this);
  TorchTensor copy = row_major_like();
  check(shim().copy_(copy.handle_, handle_, 0), "copy a tensor");
  return copy;
}

TorchTensor TorchTensor::row_major_like() const {
  return new_row_major(torch_type_, rank(), sizes_);
}

// By torch's rule for what strides mean, also where they leave gaps: none is less than the extent of what lies within it.
// Where extents of 1 leave it open, a tensor is row-major.
bool TorchTensor::is_channels_last() const {
  if (rank() != 4 && rank() != 5) return false;
  if (is_contiguous() || strides_[1] == 0) return false;
  std::int64_t within = 0;
  for (int i = 0; i < rank(); ++i) {
    const int d = i == 0 ? 1 : i == rank() - 1 ? 0 : rank() - i;  // 1, the last ... 2, 0
    if (sizes_[d] == 0 || strides_[d] < within) return false;
    if (d == 0 && within == strides_[1]) return false;
    within = strides_[d] * sizes_[d];
  }
  return true;
}

TorchTensor TorchTensor::of_few_dims() && {
  return rank() > kMaxRank ? std::move(*this).contiguous() : std::move(*this);
}

TorchTensor TorchTensor::in_order() && {
  const int last = rank() - 1;
  const bool across = last >= 0 && sizes_[last] > 1 && strides_[last] != 1 && !is_channels_last();
  return across ? std::move(*this).contiguous() : std::move(*this).of_few_dims();
}

TorchTensor TorchTensor::like() const {
  if (!is_channels_last()) return row_major_like();
  int order[5] = {0, 2, 3, 4, 1};
  order[rank() - 1] = 1;
  std::int64_t strides[5];
  set_dense_strides(rank(), sizes_, order, strides);
  return new_strided(torch_type_, rank(), sizes_, strides);
}

Value TorchTensor::release() {
  if (handle_ == nullptr) return undefined();
  const TensorHandle handle = handle_;
  handle_ = nullptr;
  return reinterpret_cast<Value>(handle);
}

TorchTensor new_tensor(DataType dtype, const std::int64_t* sizes, int rank) {
  return new_row_major(torch_type(dtype), rank, sizes);
}

TorchTensor new_vector(DataType dtype, std::int64_t size) { return new_tensor(dtype, &size, 1); }

Value undefined() {
  TensorHandle handle = nullptr;
  check(shim().new_uninitialized_tensor(&handle), "make an undefined tensor");
  return reinterpret_cast<Value>(handle);
}

TorchTensor Arguments::optional_tensor() {
  auto* const value = reinterpret_cast<Value*>(*next_++);
  if (value == nullptr) return {};
  const auto handle = reinterpret_cast<TensorHandle>(*value);
  delete value;
  return TorchTensor(handle);
}

double Arguments::number() { return std::bit_cast<double>(*next_++); }

double Arguments::optional_number(double absent) {
  auto* const value = reinterpret_cast<Value*>(*next_++);
  if (value == nullptr) return absent;
  const auto number = std::bit_cast<double>(*value);
  delete value;
  return number;
}

Arguments::Numbers Arguments::numbers() {
  const auto list = reinterpret_cast<ListHandle>(*next_++);
  Numbers out{};
  std::size_t size = 0;
  TorchError error = shim().list_size(list, &size);
  for (std::size_t i = 0; i < std::min<std::size_t>(size, std::size(out.at)); ++i) {
    Value value = 0;
    error |= shim().list_get_item(list, i, &value);
    out.at[i] = static_cast<std::int64_t>(value);
  }
  out.count = static_cast<int>(size);
  check(error | shim().delete_list(list), "read a list");
  return out;
}

Arguments::Flags Arguments::flags() {
  const auto list = reinterpret_cast<ListHandle>(*next_++);
  Flags out{};
  std::size_t size = 0;
  TorchError error = shim().list_size(list, &size);
  for (std::size_t i = 0; i < std::min<std::size_t>(size, 4); ++i) {
    Value value = 0;
    error |= shim().list_get_item(list, i, &value);
    out.at[i] = (value & 1) != 0;
  }
  check(error | shim().delete_list(list), "read a list");
  return out;
}

Tensor described(const char* name, const TorchTensor& tensor) {
  Tensor out;
  if (!tensor.present()) return out;
  out.dtype = tensor.dtype();
  out.name = name;
  if (tensor.rank() > kMaxRank) {
    out.rank = 3;
    out.shape[0] = tensor.size(0), out.shape[1] = tensor.size(1), out.shape[2] = 1;
    for (int d = 2; d < tensor.rank(); ++d) out.shape[2] *= tensor.size(d);
    out.strides[2] = 1, out.strides[1] = out.shape[2], out.strides[0] = out.shape[1] * out.shape[2];
    return out;
  }
  out.rank = tensor.rank();
  for (int d = 0; d < out.rank; ++d) {
    out.shape[d] = tensor.size(d);
    out.strides[d] = tensor.stride(d);
  }
  return out;
}

bool has_rows(const TorchTensor& tensor, int columns) {
  std::int64_t stride = 1;
  for (int d = tensor.rank() - 1; d >= std::max(0, tensor.rank() - columns); --d) {
    if (tensor.size(d) != 1 && tensor.stride(d) != stride) return tensor.elements() == 0;
    stride *= tensor.size(d);
  }
  return true;
}

Tensor described_as_rows(const char* name, const TorchTensor& tensor, int columns, bool flat) {
  Tensor out;
  if (!tensor.present()) return out;
  out.dtype = tensor.dtype();
  out.name = name;
  const int leading = tensor.rank() - columns;
  std::int64_t rows = 1, length = 1;
  for (int d = 0; d < leading; ++d) rows *= tensor.size(d);
  for (int d = leading; d < tensor.rank(); ++d) length *= tensor.size(d);
  out.rank = flat ? 2 : leading + 1;
  if (flat) {
    out.shape[0] = rows;
    out.strides[0] = length;
  } else {
    for (int d = 0; d < leading; ++d) {
      out.shape[d] = tensor.size(d);
      out.strides[d] = tensor.stride(d);
    }
  }
  out.shape[out.rank - 1] = length;
  out.strides[out.rank - 1] = 1;
  return out;
}

Tensor described_as_vector(const char* name, const TorchTensor& tensor) {
  Tensor out;
  if (!tensor.present()) return out;
  out.dtype = tensor.dtype();
  out.name = name;
  out.rank = 1;
  out.shape[0] = tensor.elements();
  out.strides[0] = tensor.rank() == 1 ? tensor.stride(0) : 1;
  return out;
}

}  // namespace normgrad::python
