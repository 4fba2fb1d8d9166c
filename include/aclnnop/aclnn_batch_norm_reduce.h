/* aclnnBatchNormReduce: for every channel (axis 1, whatever the format says) the sum of x, and of its
 * squares. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_BATCH_NORM_REDUCE_H
#define NORMGRAD_ACLNNOP_ACLNN_BATCH_NORM_REDUCE_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types: each of FLOAT, FLOAT16, BF16; public formats, any strides; C channels.
 *
 * x:              rank 2 to 8.
 * sum, squareSum: out, (C).
 *
 * Codes, first come: 161001 null; 161002 a tensor that is not alive; types; formats; ranks; views that
 * leave their storage; shapes.
 *
 * Sums over nothing are 0. */
ACLNN_API aclnnStatus aclnnBatchNormReduceGetWorkspaceSize(const aclTensor* x, const aclTensor* sum,
                                                           const aclTensor* squareSum,
                                                           uint64_t* workspaceSize,
                                                           aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnBatchNormReduce(void* workspace, uint64_t workspaceSize,
                                           aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
