// Questions about where the elements of tensors lie: how many, which bytes, do two of them share
// any.
#ifndef NORMGRAD_RUNTIME_LAYOUT_H
#define NORMGRAD_RUNTIME_LAYOUT_H

#include <cstdint>

#include "normgrad/export.h"
#include "normgrad/tensor.h"

namespace normgrad {

// Bytes from the address of element (0, ..., 0) that a tensor touches: [begin, end).
struct ByteRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// A tensor of a call.
struct Argument {
  Tensor tensor;
  ByteRange range;
  bool is_output = false;
};

constexpr std::int64_t size_of(DataType dtype) {
  switch (dtype) {
    case DataType::kF16:
    case DataType::kBF16:
      return 2;
    case DataType::kF32:
    case DataType::kI32:
      return 4;
    case DataType::kF64:
      return 8;
    case DataType::kNone:
    case DataType::kOther:
      break;
  }
  return 0;
}

const char* name_of(DataType dtype);

// "(2, 3, 4)", for messages.
struct ShapeText {
  char text[kMaxRank * 22 + 4];
};
NORMGRAD_API ShapeText text_of(int rank, const std::int64_t* extents);
inline ShapeText shape_of(const Tensor& tensor) { return text_of(tensor.rank, tensor.shape); }
inline ShapeText strides_of(const Tensor& tensor) { return text_of(tensor.rank, tensor.strides); }

bool same_shape(const Tensor& a, const Tensor& b);
bool is_empty(const Tensor& tensor);

// False if the number of elements or any byte offset does not fit into an int64.
bool measure(const Tensor& tensor, std::int64_t* elements, ByteRange* range);

// Do two index tuples of the tensor lead to the same element?
bool overlaps_itself(const Tensor& tensor);

// The same elements at the same index tuples.
bool same_view(const Tensor& a, const void* a_data, const Tensor& b, const void* b_data);

// Do the two share a byte? Exact for all layouts met in practice (interleaved ones too); a pair
// that would take very long to decide is answered with yes.
bool share_memory(const Argument& a, const void* a_data, const Argument& b, const void* b_data);

// Drops dims of extent 1 and joins neighbours that are contiguous to each other in all `count`
// layouts. Returns the new rank; the order of elements stays the same.
int collapse(int rank, std::int64_t* extents, std::int64_t (*strides)[kMaxRank], int count);

}  // namespace normgrad

#endif
