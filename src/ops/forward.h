// The kernels of the forward passes: each runs a whole operator on the instruction set that it was compiled for.
#ifndef NORMGRAD_OPS_FORWARD_H
#define NORMGRAD_OPS_FORWARD_H

#include "normgrad/settings.h"
#include "ops/plan.h"

namespace normgrad {

using Kernel = void(const PlanBody& plan, void* const* data, std::byte* workspace);

Kernel* choose_batch_norm(Isa isa);

}  // namespace normgrad

#endif
