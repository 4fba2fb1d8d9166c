// torch's stable C interface, found in the libtorch that the process has loaded: nothing of torch is needed to build.
#ifndef NORMGRAD_PYTHON_TORCH_SHIM_H
#define NORMGRAD_PYTHON_TORCH_SHIM_H

#include <cstddef>
#include <cstdint>
#include <memory>

namespace normgrad::python {

using TensorHandle = struct OpaqueTensor*;
using ListHandle = struct OpaqueList*;
using LibraryHandle = struct OpaqueLibrary*;
// An argument or a result: a number, a bool, a handle; of an optional one the address of such a value, or 0.
using Value = std::uint64_t;
// Finds its arguments in the first entries, which it comes to own, and leaves its results there.
using BoxedKernel = void (*)(Value* stack, std::uint64_t arguments, std::uint64_t results);

using TorchError = std::int32_t;  // 0: none

// What is called of it, under the names without their prefixes.
struct Shim {
  TorchError (*get_dim)(TensorHandle, std::int64_t*);
  TorchError (*get_sizes)(TensorHandle, std::int64_t**);
  TorchError (*get_strides)(TensorHandle, std::int64_t**);
  TorchError (*get_dtype)(TensorHandle, std::int32_t*);
  TorchError (*get_data_ptr)(TensorHandle, void**);
  TorchError (*is_defined)(TensorHandle, bool*);
  TorchError (*delete_tensor_object)(TensorHandle);
  TorchError (*new_uninitialized_tensor)(TensorHandle*);
  TorchError (*empty_strided)(std::int64_t, const std::int64_t*, const std::int64_t*, std::int32_t,
                              std::int32_t, std::int32_t, TensorHandle*);
  TorchError (*copy_)(TensorHandle, TensorHandle, std::int32_t);
  TorchError (*library_init_impl)(const char*, const char*, const char*, std::uint32_t,
                                  LibraryHandle*);
  TorchError (*delete_library_object)(LibraryHandle);
  TorchError (*library_impl)(LibraryHandle, const char*, BoxedKernel, std::uint64_t);
  TorchError (*call_dispatcher)(const char*, const char*, Value*, std::uint64_t);
  TorchError (*list_size)(ListHandle, std::size_t*);
  TorchError (*list_get_item)(ListHandle, std::size_t, Value*);
  TorchError (*delete_list)(ListHandle);
  TorchError (*get_num_threads)(std::uint32_t*);
  const char* (
      *exception_text)();  // why the last call of this thread failed; null before torch 2.11
  // Of the C++ interface, and null if it should be gone: the level of forward-mode differentiation of this number.
  std::shared_ptr<void> (*forward_level)(std::uint64_t);
  std::int32_t f16, bf16, f32, f64, i32;  // torch's numbers of these types
  std::int32_t cpu;                       // and of this device
};

// Throws std::runtime_error if no torch is loaded, or one that is too old.
const Shim& shim();

// Of the interface that is spoken here: 2.10's.
inline constexpr std::uint64_t kInterface = std::uint64_t{2} << 56 | std::uint64_t{10} << 48;

// Throws std::runtime_error for what torch refuses; `what` was tried.
void check(TorchError error, const char* what);

}  // namespace normgrad::python

#endif
