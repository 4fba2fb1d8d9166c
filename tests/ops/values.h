// Data as it comes in practice, and as it comes when it hurts.
#ifndef TESTS_OPS_VALUES_H
#define TESTS_OPS_VALUES_H

#include "ops/problem.h"
#include "ops/random.h"

namespace ops_test {

enum class DataClass {
  kNormal,
  kOffset100,  // x = 100 sigma away from 0
  kOffset10000,
  kCancelling,  // neighbours in dy nearly cancel, along rows, columns and channels
  kTails,       // log-normal
  kExtreme,     // dy, x, w each near the top, near the bottom or in the middle of the range
  kSubnormal,
  kConstantGroup,  // x is constant in each row or channel: no variance
  kOneHot,         // dy has one element
  kSpecial,        // one NaN or infinity
  kBadStatistics,  // one statistic is 0, negative, infinite or NaN
  kZeros,
  kUnrelated,    // statistics that do not belong to x
  kScaled,       // as kExtreme, but within what fast arithmetic promises its bound for
  kOutliers,     // the first element of each group of dy, of x or of both is huge
  kMixedGroups,  // some rows or channels leave the range of f32 products, their neighbours do not
  kCount
};
const char* name(DataClass data_class);

// Fills all inputs of a problem whose layouts are set. `w` values are filled too.
void fill(Problem& problem, DataClass data_class, Random& random);

}  // namespace ops_test

#endif
