// torch's tensors as those of the core, and the arguments of a kernel.
#ifndef NORMGRAD_PYTHON_TORCH_TENSORS_H
#define NORMGRAD_PYTHON_TORCH_TENSORS_H

#include <cstdint>
#include <utility>

#include "normgrad/tensor.h"
#include "torch/shim.h"

namespace normgrad::python {

// Tensors of torch can have more, with which little of torch itself works: calls with those are left to it.
inline constexpr int kMostDims = 64;

// Owns a reference, or is absent. What it says of the tensor is read once.
class TorchTensor {
 public:
  TorchTensor() = default;
  explicit TorchTensor(TensorHandle owned);  // an undefined tensor is an absent one
  TorchTensor(TorchTensor&& other) noexcept { swap(other); }
  TorchTensor& operator=(TorchTensor&& other) noexcept {
    swap(other);
    return *this;
  }
  TorchTensor(const TorchTensor&) = delete;
  TorchTensor& operator=(const TorchTensor&) = delete;
  ~TorchTensor();

  bool present() const { return data_type_ != DataType::kNone; }
  DataType dtype() const { return data_type_; }
  int rank() const { return static_cast<int>(rank_); }
  std::int64_t size(int d) const { return sizes_[d]; }
  std::int64_t stride(int d) const { return strides_[d]; }
  std::int64_t channels() const { return rank_ > 1 ? sizes_[1] : 0; }  // the core refuses none
  std::int64_t elements() const;
  bool is_contiguous() const;
  void* data() const;

  // A row-major copy, or this one, if it is row-major.
  TorchTensor contiguous() &&;
  // This one, or a row-major copy where it has more dimensions than the core takes.
  TorchTensor of_few_dims() &&;
  // For BatchNorm, whose results are laid out as by like(): as of_few_dims, and also a copy where it lies across what is
  // written. Training forward of (32, 64, 1024) in the order (N, L, C), one thread: 10.2 ms without the copy, 5.4 with it.
  TorchTensor in_order() &&;
  // New, with the same extents, row-major.
  TorchTensor row_major_like() const;
  // New, with the same extents: channels-last where torch takes this one for such, else row-major.
  TorchTensor like() const;

  Value release();  // for a result

 private:
  void swap(TorchTensor& other) noexcept;
  bool is_channels_last() const;

  TensorHandle handle_ = nullptr;
  DataType data_type_ = DataType::kNone;
  std::int32_t torch_type_ = 0;  // torch's number of it: there are more than the core has
  std::int64_t rank_ = 0;
  const std::int64_t *sizes_ = nullptr, *strides_ = nullptr;
};

// A new row-major tensor. Throws for a type that is not one of the core's, and for more than kMostDims dimensions.
TorchTensor new_tensor(DataType dtype, const std::int64_t* sizes, int rank);
TorchTensor new_vector(DataType dtype, std::int64_t size);
// What stands for a result that was not asked for.
Value undefined();

// A kernel's arguments, read in their order. All of them, and before anything that can throw: so what is on the stack has an
// owner.
class Arguments {
 public:
  explicit Arguments(Value* stack) : next_(stack) {}

  TorchTensor tensor() { return TorchTensor(reinterpret_cast<TensorHandle>(*next_++)); }
  TorchTensor optional_tensor();
  double number();
  double optional_number(double absent);
  bool flag() { return (*next_++ & 1) != 0; }
  struct Numbers {
    int count;
    std::int64_t at[kMostDims];  // the first of them
  };
  Numbers numbers();
  struct Flags {
    bool at[4];
  };
  Flags flags();

 private:
  Value* next_;
};

// The tensors below, as the core wants them. `name` is a literal.

// With all its dimensions; of a row-major one with more than 8, all behind the channels as one.
Tensor described(const char* name, const TorchTensor& tensor);
// With the last `columns` dimensions as one, and, if `flat`, all others as one.
Tensor described_as_rows(const char* name, const TorchTensor& tensor, int columns, bool flat);
// As a vector.
Tensor described_as_vector(const char* name, const TorchTensor& tensor);
// Whether its last dimensions are one of stride 1.
bool has_rows(const TorchTensor& tensor, int columns);

}  // namespace normgrad::python

#endif
