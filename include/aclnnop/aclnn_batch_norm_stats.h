/* aclnnBatchNormStats: mean and 1/sqrt(biased variance + eps) of every channel (axis 1), over one
 * device. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_BATCH_NORM_STATS_H
#define NORMGRAD_ACLNNOP_ACLNN_BATCH_NORM_STATS_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every tensor is FLOAT, FLOAT16 or BF16, in a public format and with any strides; C channels.
 *
 * input:  rank 2 to 8.
 * eps:    added to the variance.
 * mean:   out, (C).
 * invstd: out, (C).
 *         Neither may share memory with another argument.
 *
 * Codes, first come: 161001 a null; 161002 a tensor that is not alive; types; formats; rank; views
 * that leave their storage; shapes.
 *
 * Of an empty input the mean is 0, invstd NaN. */
ACLNN_API aclnnStatus aclnnBatchNormStatsGetWorkspaceSize(const aclTensor* input, double eps,
                                                          aclTensor* mean, aclTensor* invstd,
                                                          uint64_t* workspaceSize,
                                                          aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnBatchNormStats(void* workspace, uint64_t workspaceSize,
                                          aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
