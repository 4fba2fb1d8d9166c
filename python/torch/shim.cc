#include "torch/shim.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace normgrad::python {
namespace {

class Library {
 public:
  Library() : handle_(dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD)) {
    if (handle_ == nullptr) {
      throw std::runtime_error("torch is not loaded: import torch before normgrad.torch");
    }
  }

  template <class Function>
  void find(const char* name, Function& function) const {
    find_if_there(name, function);
    if (function != nullptr) return;
    throw std::runtime_error(std::string("this torch has no ") + name +
                             "; normgrad.torch needs version 2.10 or later");
  }
  template <class Function>
  void find_if_there(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
  }
  std::int32_t number(const char* name) const {
    std::int32_t (*function)() = nullptr;
    find(name, function);
    return function();
  }

 private:
  void* handle_;  // torch stays loaded as long as the process runs
};

Shim loaded() {
  const Library torch;
  Shim out{};
  torch.find("aoti_torch_get_dim", out.get_dim);
  torch.find("aoti_torch_get_sizes", out.get_sizes);
  torch.find("aoti_torch_get_strides", out.get_strides);
  torch.find("aoti_torch_get_dtype", out.get_dtype);
  torch.find("aoti_torch_get_data_ptr", out.get_data_ptr);
  torch.find("aoti_torch_is_defined", out.is_defined);
  torch.find("aoti_torch_delete_tensor_object", out.delete_tensor_object);
  torch.find("aoti_torch_new_uninitialized_tensor", out.new_uninitialized_tensor);
  torch.find("aoti_torch_empty_strided", out.empty_strided);
  torch.find("aoti_torch_copy_", out.copy_);
  torch.find("aoti_torch_library_init_impl", out.library_init_impl);
  torch.find("aoti_torch_delete_library_object", out.delete_library_object);
  torch.find("torch_library_impl", out.library_impl);
  torch.find("torch_call_dispatcher", out.call_dispatcher);
  torch.find("torch_list_size", out.list_size);
  torch.find("torch_list_get_item", out.list_get_item);
  torch.find("torch_delete_list", out.delete_list);
  torch.find("torch_get_num_threads", out.get_num_threads);
  torch.find_if_there("torch_exception_get_what_without_backtrace", out.exception_text);
  torch.find_if_there("_ZN5torch8autograd14ForwardADLevel14try_get_by_idxEm", out.forward_level);
  out.f16 = torch.number("aoti_torch_dtype_float16");
  out.bf16 = torch.number("aoti_torch_dtype_bfloat16");
  out.f32 = torch.number("aoti_torch_dtype_float32");
  out.f64 = torch.number("aoti_torch_dtype_float64");
  out.i32 = torch.number("aoti_torch_dtype_int32");
  out.cpu = torch.number("aoti_torch_device_type_cpu");
  return out;
}

}  // namespace

const Shim& shim() {
  static const Shim instance = loaded();
  return instance;
}

void check(TorchError error, const char* what) {
  if (error == 0) return;
  const char* const text = shim().exception_text != nullptr ? shim().exception_text() : nullptr;
  if (text != nullptr && *text != '\0') throw std::runtime_error(text);
  throw std::runtime_error(std::string("normgrad: torch failed to ") + what);
}

}  // namespace normgrad::python
