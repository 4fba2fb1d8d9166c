/* aclnnSyncBatchNormGatherStats: the statistics of W devices from their sums (aclnnBatchNormReduce). With
 * N = sum(sampleCount), for every channel
 *
 *   batchMean = sum(totalSum)/N,   var = sum(totalSquareSum)/N - batchMean^2
 *   batchInvstd = 1/sqrt(var + eps)
 *   mean := (1 - momentum)*mean + momentum*batchMean
 *   variance := (1 - momentum)*variance + momentum*var*N/(N - 1)
 *
 * The difference loses digits where the mean is far from 0; aclnnBatchNormGatherStatsWithCounts does not. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_SYNC_BATCH_NORM_GATHER_STATS_H
#define NORMGRAD_ACLNNOP_ACLNN_SYNC_BATCH_NORM_GATHER_STATS_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types: each of FLOAT, FLOAT16, BF16; sampleCount FLOAT, FLOAT16 or INT32; public formats, any strides.
 *
 * totalSum, totalSquareSum: (W, C), W > 0.
 * sampleCount:    (W), elements per channel of each device.
 * mean, variance: (C), the running statistics, updated in place.
 * batchMean, batchInvstd: out, (C).
 *
 * Codes, first come: 161001 null; 161002 a tensor that is not alive; types; formats; ranks; views that
 * leave their storage; W = 0; shapes.
 *
 * Without channels there is nothing to do. */
ACLNN_API aclnnStatus aclnnSyncBatchNormGatherStatsGetWorkspaceSize(
    const aclTensor* totalSum, const aclTensor* totalSquareSum, const aclTensor* sampleCount,
    aclTensor* mean, aclTensor* variance, float momentum, float eps, aclTensor* batchMean,
    aclTensor* batchInvstd, uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnSyncBatchNormGatherStats(void* workspace, uint64_t workspaceSize,
                                                    aclOpExecutor* executor,
                                                    const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
