// BatchNormElemtBackward: which argument is which, and its kernel.
#ifndef NORMGRAD_OPS_BATCH_NORM_ELEMT_BACKWARD_BATCH_NORM_ELEMT_BACKWARD_H
#define NORMGRAD_OPS_BATCH_NORM_ELEMT_BACKWARD_BATCH_NORM_ELEMT_BACKWARD_H

#include "normgrad/settings.h"
#include "ops/kernel.h"

namespace normgrad {

namespace batch_norm_elemt_backward_argument {
enum : int { kDx, kDy, kX, kW, kMean, kRstd, kSumDy, kSumDyXmu, kCounts };
}

Kernel* choose_batch_norm_elemt_backward(Isa isa);

}  // namespace normgrad

#endif
