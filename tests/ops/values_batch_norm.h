// Values of what only BatchNorm's forward and SyncBatchNorm have: running statistics, sums and
// counts over devices, statistics of parts.
#ifndef TESTS_OPS_VALUES_BATCH_NORM_H
#define TESTS_OPS_VALUES_BATCH_NORM_H

#include "ops/values.h"

namespace ops_test {

void fill_running(Problem& problem, Random& random);

// Sums and counts of this device and others, or any, if unrelated. dy, x and mean are filled.
void fill_sums(Problem& problem, bool unrelated, Random& random);

// All inputs of GatherStats.
void fill_parts(Problem& problem, DataClass data_class, Random& random);

}  // namespace ops_test

#endif
