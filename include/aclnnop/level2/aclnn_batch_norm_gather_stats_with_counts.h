/* The place where this header used to be. */
#ifndef NORMGRAD_ACLNNOP_LEVEL2_ACLNN_BATCH_NORM_GATHER_STATS_WITH_COUNTS_H
#define NORMGRAD_ACLNNOP_LEVEL2_ACLNN_BATCH_NORM_GATHER_STATS_WITH_COUNTS_H

#include "../aclnn_batch_norm_gather_stats_with_counts.h"

#endif
