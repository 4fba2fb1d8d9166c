/* The place where this header used to be. */
#ifndef NORMGRAD_ACLNNOP_LEVEL2_ACLNN_SYNC_BATCH_NORM_GATHER_STATS_H
#define NORMGRAD_ACLNNOP_LEVEL2_ACLNN_SYNC_BATCH_NORM_GATHER_STATS_H

#include "../aclnn_sync_batch_norm_gather_stats.h"

#endif
