// A kernel: runs a whole operator on the instruction set that it was compiled for.
#ifndef NORMGRAD_OPS_KERNEL_H
#define NORMGRAD_OPS_KERNEL_H

#include <cstddef>

#include "normgrad/plan.h"

namespace normgrad {

using Kernel = void(const Plan& plan, void* const* data, std::byte* workspace);

}  // namespace normgrad

#endif
