#include "torch/kernels.h"

#include <nanobind/stl/string.h>

#include <map>
#include <memory>
#include <string>

#include "torch/kernel.h"

namespace normgrad::python {
namespace {

std::map<std::string, LibraryHandle>& libraries() {
  static auto* const instance = new std::map<std::string, LibraryHandle>;
  return *instance;
}

void take_kernels_out(const std::string& space) {
  const auto found = libraries().find(space);
  if (found == libraries().end()) return;
  const LibraryHandle library = found->second;
  libraries().erase(found);
  check(shim().delete_library_object(library), "take kernels out");
}

void put_kernels_in(const std::string& space) {
  if (libraries().count(space) != 0) return;
  LibraryHandle opened = nullptr;
  check(shim().library_init_impl(space.c_str(), "CPU", "normgrad", 0, &opened), "open a library");
  const auto close = [](LibraryHandle library) { shim().delete_library_object(library); };
  std::unique_ptr<OpaqueLibrary, decltype(close)> library(opened, close);
  const bool is_aten = space == "aten";
  for (const Kernels& kernels :
       {row_norms(), batch_norms(), is_aten ? row_norms_of_aten() : row_norms_of_normgrad(),
        is_aten ? batch_norms_of_aten() : batch_norms_of_normgrad()}) {
    for (std::size_t i = 0; i < kernels.count; ++i) {
      const auto& [op, kernel] = kernels.begin[i];
      check(shim().library_impl(library.get(), op, kernel, kInterface), op);
    }
  }
  libraries()[space] = library.get();
  library.release();
}

}  // namespace

void add_torch_functions(nanobind::module_& module) {
  module.def("put_kernels_in", &put_kernels_in);
  module.def("take_kernels_out", &take_kernels_out);
}

}  // namespace normgrad::python
