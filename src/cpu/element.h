// Goes with the old kernels: their name for the element types.
#ifndef NORMGRAD_CPU_ELEMENT_H
#define NORMGRAD_CPU_ELEMENT_H

#include "kernels/element.h"

namespace normgrad::cpu {
using namespace kernels;  // NOLINT
}

#endif
