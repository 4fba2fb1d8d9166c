/* aclnnBatchNormReduceBackward: the sums over one device that BatchNorm's backward pass needs. Per
 * channel c (axis 1, whatever the format says), over all other axes:
 *
 *   sumDy      = sum(gradOut)
 *   sumDyXmu   = sum(gradOut * (input - mean[c]))
 *   gradWeight = sumDyXmu * invstd[c]
 *   gradBias   = sumDy
 *
 * Devices add up sumDy and sumDyXmu; aclnnBatchNormElemtBackward takes the totals. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_BATCH_NORM_BACKWARD_REDUCE_H
#define NORMGRAD_ACLNNOP_ACLNN_BATCH_NORM_BACKWARD_REDUCE_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every tensor is FLOAT, FLOAT16 or BF16, in any public format and with any strides; C channels.
 *
 * gradOut:    rank 2 to 8, shape, type and format of input.
 * input:      rank 2 to 8, C > 0.
 * mean:       (C).
 * invstd:     (C), 1/sqrt(variance + eps).
 * weight:     (C); may be null. It has no part in the results.
 * inputG:     are sumDy and sumDyXmu wanted?
 * weightG:    is gradWeight wanted?
 * biasG:      is gradBias wanted?
 * sumDy, sumDyXmu, gradWeight, gradBias:
 *             out, (C), each of its own type. One that is not wanted is not looked at and may be
 *             null.
 *             None may share memory with another argument.
 *
 * Codes, first come: 161001 a null that is not allowed; 161002 a tensor that is not alive; types;
 * formats; ranks; views that leave their storage; C = 0; shapes of the outputs; shapes of the rest.
 *
 * With gradOut, input, mean or invstd empty the wanted outputs become 0 (Ascend950) or stay
 * untouched (Ascend910B). */
ACLNN_API aclnnStatus aclnnBatchNormReduceBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclTensor* input, const aclTensor* mean,
    const aclTensor* invstd, const aclTensor* weight, const bool inputG, const bool weightG,
    const bool biasG, aclTensor* sumDy, aclTensor* sumDyXmu, aclTensor* gradWeight,
    aclTensor* gradBias, uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnBatchNormReduceBackward(void* workspace, uint64_t workspaceSize,
                                                   aclOpExecutor* executor,
                                                   const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
