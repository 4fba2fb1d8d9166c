// The checks that phase 1 of the operators is made of, each of them once. They return 0, or the
// code of a refusal and leave its sentence; what is left out is skipped.
#ifndef NORMGRAD_API_ACLNN_CHECKS_H
#define NORMGRAD_API_ACLNN_CHECKS_H

#include <cstdint>
#include <initializer_list>
#include <span>

#include "api/aclnn/tensor.h"

// Leaves the function with a code that is not 0.
#define NORMGRAD_ACLNN_TRY(expression) \
  if (const int code_of_try = (expression); code_of_try != 0) return code_of_try

namespace normgrad::api {

// A tensor argument of phase 1.
struct Operand {
  Operand(const char* what, const aclTensor* handle, bool is_required = true)
      : name(what), tensor(handle), required(is_required), given(handle != nullptr) {}

  const char* name;
  const aclTensor* tensor;  // null: left out, or not wanted
  bool required;            // null is refused
  bool given;               // the caller passed something

  const aclTensor* operator->() const { return tensor; }
  explicit operator bool() const { return tensor != nullptr; }
  std::int64_t extent(int axis) const { return tensor->shape[static_cast<std::uint64_t>(axis)]; }
};
using Operands = std::initializer_list<Operand>;

inline Operand optional(const char* name, const aclTensor* tensor) { return {name, tensor, false}; }
// An output that is not wanted is never looked at.
inline Operand output_if(bool wanted, const char* name, const aclTensor* tensor) {
  Operand operand(name, tensor, wanted);
  if (!wanted) operand.tensor = nullptr;
  return operand;
}

// Null although required: 161001. Every other check answers 161002.
int check_not_null(Operands operands);
int check_alive(Operands operands);

// FLOAT, FLOAT16 or BF16.
int check_listed_dtype(Operands operands);
int check_same_dtype(const Operand& a, const Operand& b);
// FLOAT, or the type of `data`.
int check_float_or_dtype_of(const Operand& data, Operands operands);

// Those in which CANN's own kernels keep data are not for callers.
int check_public_format(Operands operands);
int check_same_format(const Operand& a, const Operand& b);

int check_rank(Operands operands, int min, int max = kMaxRank);
// Extents, strides and offset are not negative, and the view lies in its storage.
int check_views(Operands operands);
int check_same_shape(const Operand& a, const Operand& b);
int check_shape(Operands operands, std::span<const std::int64_t> shape);
// The extent of the channel axis is not 0.
int check_has_channels(const Operand& data, int channel_axis);
// One number for every channel of `data`.
int check_channels(Operands operands, const Operand& data, int channel_axis);

bool any_empty(Operands operands);

// What messages call them.
const char* name_of(aclDataType dtype);
const char* name_of(aclFormat format);

}  // namespace normgrad::api

#endif
