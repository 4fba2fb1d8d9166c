// BatchNormBackward: which argument is which, and its kernel.
#ifndef NORMGRAD_OPS_BATCH_NORM_BACKWARD_BATCH_NORM_BACKWARD_H
#define NORMGRAD_OPS_BATCH_NORM_BACKWARD_BATCH_NORM_BACKWARD_H

#include "normgrad/settings.h"
#include "ops/kernel.h"

namespace normgrad {

namespace batch_norm_backward_argument {
enum : int { kDx, kDw, kDb, kSumDy, kSumDyXmu, kDy, kX, kW, kMean, kRstd, kVar };
}

Kernel* choose_batch_norm_backward(Isa isa);

}  // namespace normgrad

#endif
