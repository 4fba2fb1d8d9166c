#include "arrays.h"

#include <nanobind/stl/string.h>

#include <string>

#include "normgrad/last_error.h"

namespace normgrad::python {
namespace {

using nb::literals::operator""_a;

std::string type_name(const nb::object& object) {
  return nb::cast<std::string>(nb::str(object.type().attr("__name__")));
}

[[noreturn]] void raise_type_error(const std::string& sentence) {
  throw nb::type_error(sentence.c_str());
}

bool is_numpys(const nb::object& object) {
  return nb::isinstance(object, nb::module_::import_("numpy").attr("ndarray"));
}

// ml_dtypes.bfloat16, of which neither DLPack nor the buffer protocol knows. What its bits are instead.
bool is_bfloat_of_numpy(const nb::object& array) {
  return nb::cast<std::string>(nb::str(array.attr("dtype").attr("name"))) == "bfloat16";
}

// Why numpy could not give the memory of an array of its own.
[[noreturn]] void refuse_numpys(const char* name, const nb::object& array) {
  const auto text = [](const nb::object& object) { return nb::cast<std::string>(nb::str(object)); };
  const auto itemsize = nb::cast<std::int64_t>(array.attr("itemsize"));
  for (const nb::handle stride : array.attr("strides")) {
    if (itemsize == 0 || nb::cast<std::int64_t>(stride) % itemsize == 0) continue;
    throw nb::value_error((std::string(name) + " has strides of " + text(array.attr("strides")) +
                           " bytes, but elements of " + std::to_string(itemsize) +
                           ": they must be multiples of these")
                              .c_str());
  }
  raise_type_error(std::string(name) + " is an array of " + text(array.attr("dtype")) +
                   ", but must be of float16, bfloat16 or float32, in this machine's byte order");
}

// What __dlpack__ gives: asked for here, so that its own error is told, and a capsule that was used before is refused.
nb::object capsule_of(const char* name, const nb::object& object) {
  nb::object capsule;
  try {
    const nb::object give = object.attr("__dlpack__");
    try {
      capsule = give("max_version"_a = nb::make_tuple(1, 1));
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_TypeError)) throw;
      capsule = give();  // from before there were versions
    }
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;  // KeyboardInterrupt
    const std::string sentence =
        std::string(name) + " is of type " + type_name(object) +
        ", whose __dlpack__ failed: " + nb::cast<std::string>(nb::str(error.value()));
    nb::raise_from(error, PyExc_TypeError, "%s", sentence.c_str());
  }
  if (!PyCapsule_IsValid(capsule.ptr(), "dltensor") &&
      !PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    raise_type_error(std::string(name) + " is of type " + type_name(object) +
                     ", whose __dlpack__ gives no capsule, or one that was used before");
  }
  return capsule;
}

DataType dtype_of(const nb::dlpack::dtype& dtype, bool is_bfloat) {
  using Code = nb::dlpack::dtype_code;
  if (dtype.lanes != 1) return DataType::kOther;
  if (is_bfloat) return DataType::kBF16;
  const auto code = static_cast<Code>(dtype.code);
  if (code == Code::Float && dtype.bits == 16) return DataType::kF16;
  if (code == Code::Float && dtype.bits == 32) return DataType::kF32;
  if (code == Code::Float && dtype.bits == 64) return DataType::kF64;
  if (code == Code::Bfloat && dtype.bits == 16) return DataType::kBF16;
  if (code == Code::Int && dtype.bits == 32) return DataType::kI32;
  return DataType::kOther;
}

bool import(const nb::object& object, nb::ndarray<nb::ro>& view, bool writable) {
  if (!writable) return nb::try_cast(object, view);
  nb::ndarray<> writable_view;
  if (!nb::try_cast(object, writable_view)) return false;
  view = nb::ndarray<nb::ro>(writable_view);
  return true;
}

Array imported(const char* name, const nb::object& object, bool writable) {
  Array out;
  out.object = object;
  const bool is_array = is_numpys(object);
  const bool is_bfloat = is_array && is_bfloat_of_numpy(object);
  if (is_array && nb::hasattr(object, "filled")) {
    raise_type_error(std::string(name) +
                     " is a masked array, and masks are not supported: fill it");
  }
  if (nb::hasattr(object, "is_neg") && nb::cast<bool>(object.attr("is_neg")())) {
    raise_type_error(std::string(name) +
                     " is a tensor whose negation is still to be done: call resolve_neg() before");
  }
  nb::object bits = object;
  if (is_bfloat) {
    bits = object.attr("view")("uint16");
  } else if (!is_array && nb::hasattr(object, "__dlpack__")) {
    bits = capsule_of(name, object);
  }
  if (!import(bits, out.view, writable)) {
    PyErr_Clear();
    if (writable && nb::try_cast(bits, out.view)) {
      throw nb::value_error((std::string(name) + " is read-only, but must be written to").c_str());
    }
    PyErr_Clear();
    if (is_array) refuse_numpys(name, object);
    raise_type_error(std::string(name) + " is of type " + type_name(object) +
                     ", but must be an array: numpy's, or one that has __dlpack__");
  }
  const nb::ndarray<nb::ro>& view = out.view;
  if (view.device_type() != nb::device::cpu::value) {
    raise_type_error(std::string(name) + " does not lie in main memory");
  }
  if (view.ndim() > static_cast<std::size_t>(kMaxRank)) {
    throw nb::value_error((std::string(name) + " has " + std::to_string(view.ndim()) +
                           " dimensions, but at most 8 are allowed")
                              .c_str());
  }
  out.tensor.dtype = dtype_of(view.dtype(), is_bfloat);
  out.tensor.name = name;
  out.tensor.rank = static_cast<int>(view.ndim());
  for (int d = 0; d < out.tensor.rank; ++d) {
    const auto at = static_cast<std::size_t>(d);
    out.tensor.shape[d] = static_cast<std::int64_t>(view.shape(at));
    out.tensor.strides[d] = view.stride(at);
  }
  out.data = const_cast<void*>(view.data());
  return out;
}

nb::object numpy_dtype(const char* name, DataType dtype) {
  switch (dtype) {
    case DataType::kF16:
      return nb::str("float16");
    case DataType::kF32:
      return nb::str("float32");
    case DataType::kF64:
      return nb::str("float64");
    default:
      break;
  }
  try {
    return nb::module_::import_("ml_dtypes").attr("bfloat16");
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    raise_type_error(
        std::string(name) +
        " would be a bfloat16 array of numpy, for which the package ml_dtypes is needed: "
        "install it, or give the result's place as out=");
  }
}

}  // namespace

Array input(const char* name, const nb::object& object) {
  return object.is_none() ? Array() : imported(name, object, false);
}

Array required(const char* name, const nb::object& object) {
  if (object.is_none()) raise_type_error(std::string(name) + " is missing");
  return imported(name, object, false);
}

Array output(const char* name, const nb::object& given, DataType dtype, const Shape& shape) {
  if (!given.is_none()) return imported(name, given, true);
  nb::list extents;
  for (const std::int64_t extent : shape) extents.append(extent);
  const nb::object numpy = nb::module_::import_("numpy");
  return imported(name, numpy.attr("empty")(nb::tuple(extents), numpy_dtype(name, dtype)), true);
}

std::vector<nb::object> split_out(const nb::object& out, std::size_t results) {
  std::vector<nb::object> places(results, nb::none());
  if (out.is_none()) return places;
  if (!nb::isinstance<nb::tuple>(out) && !nb::isinstance<nb::list>(out)) {
    if (results == 1) return {out};
    raise_type_error("out is of type " + type_name(out) + ", but must be a tuple of " +
                     std::to_string(results) + " arrays, or None for those that are to be made");
  }
  if (nb::len(out) != results) {
    throw nb::value_error(("out has " + std::to_string(nb::len(out)) + " entries, but there are " +
                           std::to_string(results) + " results")
                              .c_str());
  }
  for (std::size_t i = 0; i < results; ++i) places[i] = out[i];
  return places;
}

void raise_unless_ok(Status status) {
  const char* sentence = normgradGetLastError();
  switch (status) {
    case Status::kOk:
      return;
    case Status::kBadDtype:
      throw nb::type_error(sentence);
    case Status::kOutOfMemory:
      PyErr_SetString(PyExc_MemoryError, sentence);
      throw nb::python_error();
    case Status::kInternal:
    case Status::kSmallWorkspace:
    case Status::kExchangeFailed:
      PyErr_SetString(PyExc_RuntimeError, sentence);
      throw nb::python_error();
    default:
      throw nb::value_error(sentence);
  }
}

}  // namespace normgrad::python
