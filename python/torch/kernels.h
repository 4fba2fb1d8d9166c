// torch's norm operators on the CPU, with the schemas of aten, run by the core.
#ifndef NORMGRAD_PYTHON_TORCH_KERNELS_H
#define NORMGRAD_PYTHON_TORCH_KERNELS_H

#include <nanobind/nanobind.h>

namespace normgrad::python {

// put_kernels_in(namespace) and take_kernels_out(namespace), for normgrad.torch alone.
void add_torch_functions(nanobind::module_& module);

}  // namespace normgrad::python

#endif
