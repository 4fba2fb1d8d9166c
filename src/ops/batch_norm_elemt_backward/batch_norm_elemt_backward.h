// BatchNormElemtBackward: which argument is which.
#ifndef NORMGRAD_OPS_BATCH_NORM_ELEMT_BACKWARD_BATCH_NORM_ELEMT_BACKWARD_H
#define NORMGRAD_OPS_BATCH_NORM_ELEMT_BACKWARD_BATCH_NORM_ELEMT_BACKWARD_H


namespace normgrad {

namespace batch_norm_elemt_backward_argument {
enum : int { kDx, kDy, kX, kW, kMean, kRstd, kSumDy, kSumDyXmu, kCounts };
}

}  // namespace normgrad

#endif
