// Arrays of Python callers as tensors of the core: numpy's, and whatever has DLPack. Nothing is copied.
#ifndef NORMGRAD_PYTHON_ARRAYS_H
#define NORMGRAD_PYTHON_ARRAYS_H

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <vector>

#include "normgrad/status.h"
#include "normgrad/tensor.h"

namespace normgrad::python {

namespace nb = nanobind;
using Shape = std::vector<std::int64_t>;

// A tensor, where its elements lie, and what keeps them there.
struct Array {
  Tensor tensor;
  void* data = nullptr;
  nb::object object;  // what the caller gave, or gets
  nb::ndarray<nb::ro> view;

  Shape shape() const { return Shape(tensor.shape, tensor.shape + tensor.rank); }
};

// Of an argument: None is an absent one. TypeError for what is no array, or not in main memory.
Array input(const char* name, const nb::object& object);
// Must not be None.
Array required(const char* name, const nb::object& object);

// What a function returns: the caller's own array, if it gave one, which must be writable; else a new one of numpy's.
Array output(const char* name, const nb::object& given, DataType dtype, const Shape& shape);

// `out`: None, or as many entries as there are results, each an array or None. One result may be given as it is.
std::vector<nb::object> split_out(const nb::object& out, std::size_t results);

// Raises the exception of a failed call, with its sentence: TypeError for data types, ValueError for shapes, strides and
// the rest of what the caller gave, MemoryError, RuntimeError.
void raise_unless_ok(Status status);

}  // namespace normgrad::python

#endif
