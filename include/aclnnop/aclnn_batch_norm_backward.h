/* aclnnBatchNormBackward: the gradients of aclnnBatchNorm.
 *
 * training:   x_hat = (input - saveMean[c]) * saveInvstd[c]
 *   gradBias   = sum(gradOut)
 *   gradWeight = sum(gradOut * x_hat)
 *   gradInput  = weight[c] * saveInvstd[c] * (gradOut - gradBias/n - x_hat * gradWeight/n)
 *
 * inference:  r = 1/sqrt(runningVar[c] + eps)
 *   gradBias   = sum(gradOut)
 *   gradWeight = sum(gradOut * (input - runningMean[c])) * r
 *   gradInput  = gradOut * weight[c] * r
 *
 * with sums over the n elements of channel c. Statistics are taken as given. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_BATCH_NORM_BACKWARD_H
#define NORMGRAD_ACLNNOP_ACLNN_BATCH_NORM_BACKWARD_H

#include <array>

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every tensor is FLOAT, FLOAT16 or BF16, in a public format and with any strides; C channels.
 *
 * gradOut:     rank 2 to 8, shape, type and format of input.
 * input:       rank 2 to 8. The channels are axis 1, or the last axis with format NHWC or NDHWC
 *              (Ascend910B: always axis 1).
 *              Rank 5 needs format NCDHW or NDHWC (Ascend910B: any).
 * weight:      (C); null: 1.
 * runningMean: (C), used in inference; null: 0.
 * runningVar:  (C), used in inference; null: 1.
 * saveMean:    (C), used in training; null: 0. In inference it may also be (0).
 * saveInvstd:  (C), used in training: 1/sqrt(variance + eps), and eps is not added again. With
 *              NORMGRAD_SOC=Ascend910B it is the variance, to which eps is added. Null: 1. In
 *              inference it may also be (0).
 * training:    the saved statistics are those of input, and the gradient goes through them; else
 *              the running ones are constants.
 * eps:         see above.
 * outputMask:  three values: are gradInput, gradWeight, gradBias wanted?
 * gradInput:   out, shape, type and format of gradOut; may be exactly the view gradOut or input.
 * gradWeight:  out, (C).
 * gradBias:    out, (C).
 *              An output that is not wanted is not looked at and may be null.
 *
 * Types: weight and the statistics are FLOAT or of gradOut's type; the two running statistics have
 * one type, and so have the two saved ones, and gradWeight and gradBias. With a weight the latter
 * are FLOAT or of its type.
 *
 * Codes, first come: 161001 gradOut or input null; 161002 one of them not alive; then, if one is
 * empty, success with nothing to do; 161001 outputMask null or of length 0; 161002 another length
 * but 3; 161001 a wanted output null; 161002 a tensor that is not alive; types; formats; ranks,
 * views that leave their storage, shapes of the data; shapes of the rest. */
ACLNN_API aclnnStatus aclnnBatchNormBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclTensor* input, const aclTensor* weight,
    const aclTensor* runningMean, const aclTensor* runningVar, const aclTensor* saveMean,
    const aclTensor* saveInvstd, bool training, double eps, const aclBoolArray* outputMask,
    aclTensor* gradInput, aclTensor* gradWeight, aclTensor* gradBias, uint64_t* workspaceSize,
    aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnBatchNormBackward(void* workspace, uint64_t workspaceSize,
                                             aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
