// BatchNormBackward: which argument is which.
#ifndef NORMGRAD_OPS_BATCH_NORM_BACKWARD_BATCH_NORM_BACKWARD_H
#define NORMGRAD_OPS_BATCH_NORM_BACKWARD_BATCH_NORM_BACKWARD_H


namespace normgrad {

namespace batch_norm_backward_argument {
enum : int { kDx, kDw, kDb, kSumDy, kSumDyXmu, kDy, kX, kW, kMean, kRstd, kVar };
}

}  // namespace normgrad

#endif
