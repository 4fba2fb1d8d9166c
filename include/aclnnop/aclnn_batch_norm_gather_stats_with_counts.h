/* aclnnBatchNormGatherStatsWithCounts: the statistics of a batch that is spread over W devices,
 * from those of its parts. Per channel c, with sums over the devices w:
 *
 *   N         = sum(counts[w])
 *   meanAll   = sum(counts[w] * mean[w,c]) / N
 *   S         = sum(counts[w] * (1/invstd[w,c]^2 - eps + (mean[w,c] - meanAll)^2))
 *   invstdAll = 1/sqrt(S/N + eps)
 *   runningMean := (1 - momentum) * runningMean + momentum * meanAll
 *   runningVar  := (1 - momentum) * runningVar + momentum * S/(N - 1) */
#ifndef NORMGRAD_ACLNNOP_ACLNN_BATCH_NORM_GATHER_STATS_WITH_COUNTS_H
#define NORMGRAD_ACLNNOP_ACLNN_BATCH_NORM_GATHER_STATS_WITH_COUNTS_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every tensor is FLOAT, FLOAT16 or BF16, in a public format and with any strides; C channels.
 *
 * input:       rank 2 to 8; only tells C, its axis 1.
 * mean:        (W, C).
 * invstd:      (W, C), 1/sqrt(biased variance + eps).
 * runningMean: in and out, (C); may be null.
 * runningVar:  in and out, (C); may be null. Both are updated, or, if either is null, none.
 * momentum:    the share of the new value.
 * eps:         what invstd contains.
 * counts:      (W): the elements per channel of each device.
 * meanAll:     out, (C).
 * invstdAll:   out, (C).
 *              Neither these nor the running ones may share memory with another argument.
 *
 * Codes, first come: 161001 a null that is not allowed; 161002 a tensor that is not alive; types;
 * formats; ranks; views that leave their storage; shapes.
 *
 * With W = 0 meanAll becomes 0, invstdAll NaN, and the running ones stay as they are. */
ACLNN_API aclnnStatus aclnnBatchNormGatherStatsWithCountsGetWorkspaceSize(
    const aclTensor* input, const aclTensor* mean, const aclTensor* invstd, aclTensor* runningMean,
    aclTensor* runningVar, double momentum, double eps, const aclTensor* counts, aclTensor* meanAll,
    aclTensor* invstdAll, uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnBatchNormGatherStatsWithCounts(void* workspace, uint64_t workspaceSize,
                                                          aclOpExecutor* executor,
                                                          const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
