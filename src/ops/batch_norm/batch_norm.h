// BatchNorm: which argument is which, and its kernel.
#ifndef NORMGRAD_OPS_BATCH_NORM_BATCH_NORM_H
#define NORMGRAD_OPS_BATCH_NORM_BATCH_NORM_H

#include "normgrad/settings.h"
#include "ops/kernel.h"

namespace normgrad {

namespace batch_norm_argument {
enum : int { kY, kMean, kRstd, kVar, kRunningMean, kRunningVar, kX, kW, kB };
}

Kernel* choose_batch_norm(Isa isa);

}  // namespace normgrad

#endif
