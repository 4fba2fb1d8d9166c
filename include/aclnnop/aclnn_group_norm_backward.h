/* aclnnGroupNormBackward: the gradients of aclnnGroupNorm. With xh = (input - mean) * rstd and g = gradOut *
 * gamma[c], means over the elements of a sample's group, sums over those of a channel in all samples:
 *
 *   gradInput    = rstd * (g - mean(g) - xh * mean(g * xh))
 *   gradGamma[c] = sum(gradOut * xh),   gradBeta[c] = sum(gradOut)
 *
 * mean and rstd are used as given. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_GROUP_NORM_BACKWARD_H
#define NORMGRAD_ACLNNOP_ACLNN_GROUP_NORM_BACKWARD_H

#ifdef __cplusplus
#include <array>
#endif

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types: each of FLOAT, FLOAT16, BF16; public formats, any strides.
 *
 * gradOut:    as many elements as input, in its shape or, without gaps, any other; its type.
 * input:      (N, C, ...), rank 2 to 8; N, C and the product of the rest are the numbers N, C, HxW.
 * mean, rstd: (N, group) or any other shape of as many elements; one type, FLOAT or that of input.
 * gamma:      as many elements as channels, FLOAT or the type of input; null: 1.
 * group:      positive, divides C.
 * outputMask: 3 values: whether gradInput, gradGammaOut, gradBetaOut are wanted. One that is not is never
 *             looked at.
 * gradInput:  out, shape and type of input; may be exactly the view gradOut or input.
 * gradGammaOut, gradBetaOut: out, as many elements as channels; one type, FLOAT or that of input.
 *
 * Codes, first come: 161001 null gradOut, input, mean, rstd; 161002 outputMask null, not alive or of another
 * length than 3, a wanted output that is null; a tensor that is not alive; types; formats; ranks; views that
 * leave their storage; group, N, C, HxW; shapes.
 *
 * Without elements gradGammaOut and gradBetaOut become 0 (Ascend910B: nothing is written). */
ACLNN_API aclnnStatus aclnnGroupNormBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclTensor* input, const aclTensor* mean, const aclTensor* rstd,
    const aclTensor* gamma, int64_t N, int64_t C, int64_t HxW, int64_t group,
    const aclBoolArray* outputMask, aclTensor* gradInput, aclTensor* gradGammaOut,
    aclTensor* gradBetaOut, uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnGroupNormBackward(void* workspace, uint64_t workspaceSize,
                                             aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
