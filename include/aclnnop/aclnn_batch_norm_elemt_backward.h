/* aclnnBatchNormElemtBackward: gradInput from sums that were added up over all devices
 * (aclnnBatchNormReduceBackward). Per channel c (axis 1, whatever the format says):
 *
 *   n         = sum(counter)
 *   gradInput = ((gradOut - sumDy[c]/n) - (input - mean[c]) * invstd[c]^2 * sumDyXmu[c]/n)
 *               * invstd[c] * weight[c] */
#ifndef NORMGRAD_ACLNNOP_ACLNN_BATCH_NORM_ELEMT_BACKWARD_H
#define NORMGRAD_ACLNNOP_ACLNN_BATCH_NORM_ELEMT_BACKWARD_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every tensor is FLOAT, FLOAT16 or BF16 (counter: FLOAT, FLOAT16 or INT32), in a public format and
 * with any strides; C channels.
 *
 * gradOut:   shape and type of input.
 * input:     rank 2 to 8, C > 0.
 * mean:      (C).
 * invstd:    (C), 1/sqrt(variance + eps).
 * weight:    (C); null: 1.
 * sumDy:     (C).
 * sumDyXmu:  (C).
 * counter:   rank 0 to 8: the elements per channel of each device. All of it is added up.
 * gradInput: out, shape and type of input; may be exactly the view gradOut or input.
 *
 * Codes, first come: 161001 a null that is not allowed; 161002 a tensor that is not alive; types;
 * formats; ranks; views that leave their storage; C = 0; shapes.
 *
 * With an empty input or counter there is nothing to do. */
ACLNN_API aclnnStatus aclnnBatchNormElemtBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclTensor* input, const aclTensor* mean,
    const aclTensor* invstd, const aclTensor* weight, const aclTensor* sumDy,
    const aclTensor* sumDyXmu, aclTensor* counter, aclTensor* gradInput, uint64_t* workspaceSize,
    aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnBatchNormElemtBackward(void* workspace, uint64_t workspaceSize,
                                                  aclOpExecutor* executor,
                                                  const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
