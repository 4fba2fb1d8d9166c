// Which instruction set runs: the best one that the processor has, the build holds and nobody has
// capped.
#ifndef NORMGRAD_CPU_ISA_H
#define NORMGRAD_CPU_ISA_H

#include "normgrad/settings.h"

namespace normgrad::cpu {

// The best instruction set of this processor that is built in.
Isa best_isa();

}  // namespace normgrad::cpu

#endif
