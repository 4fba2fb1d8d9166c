// Which instruction set runs: the best one that the processor has, the build holds and nobody has
// capped.
#ifndef NORMGRAD_KERNELS_ISA_H
#define NORMGRAD_KERNELS_ISA_H

#include "normgrad/settings.h"

namespace normgrad::kernels {

// The best instruction set of this processor that is built in.
Isa best_isa();

}  // namespace normgrad::kernels

#endif
