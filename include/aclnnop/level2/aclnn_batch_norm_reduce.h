/* The place where this header used to be. */
#ifndef NORMGRAD_ACLNNOP_LEVEL2_ACLNN_BATCH_NORM_REDUCE_H
#define NORMGRAD_ACLNNOP_LEVEL2_ACLNN_BATCH_NORM_REDUCE_H

#include "../aclnn_batch_norm_reduce.h"

#endif
