// BatchNorm: which argument is which, and its kernel.
#ifndef NORMGRAD_OPS_BATCH_NORM_BATCH_NORM_H
#define NORMGRAD_OPS_BATCH_NORM_BATCH_NORM_H

#include "normgrad/batch_norm.h"
#include "normgrad/settings.h"
#include "ops/kernel.h"

namespace normgrad {

namespace batch_norm_argument {
enum : int {
  kY,
  kMean,
  kRstd,
  kVar,
  kRunningMean,
  kRunningVar,
  kX,
  kW,
  kB,
  kSum,  // from here on: BatchNormOfPart's
  kSquares,
  kMeanRest
};
}

// What SyncBatchNorm has of BatchNorm beyond the contract, so that a batch in parts loses no digit
// that the batch in one piece has. (C), f64, in memory of its own that nobody needs to check.
struct BatchNormOfPart {
  Tensor sum, squares;  // out, in training: sum(x), sum((x - mean)^2); not written without elements
  Tensor mean_rest;     // with given statistics: what rounding left of the mean; absent: 0
};
Status make_plan(const BatchNorm& problem, const BatchNormOfPart& further, Plan* plan);

Kernel* choose_batch_norm(Isa isa);

}  // namespace normgrad

#endif
