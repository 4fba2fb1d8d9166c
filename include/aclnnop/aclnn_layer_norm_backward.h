/* aclnnLayerNormBackward: the gradients of aclnnLayerNorm. With xh = (input - mean) * rstd and
 * g = gradOut * weight, means along each row, sums over all rows:
 *
 *   gradInput  = rstd * (g - mean(g) - xh * mean(g * xh))
 *   gradWeight = sum(gradOut * xh)
 *   gradBias   = sum(gradOut)
 *
 * mean and rstd are used as given. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_LAYER_NORM_BACKWARD_H
#define NORMGRAD_ACLNNOP_ACLNN_LAYER_NORM_BACKWARD_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types: each of FLOAT, FLOAT16, BF16; public formats, any strides.
 *
 * gradOut:         shape and type of input.
 * input:           rank 1 to 8.
 * normalizedShape: 1 to 8 extents, the last ones of input.
 * mean, rstd:      one number per row in any shape.
 * weightOptional:  normalizedShape, FLOAT or the type of input; null: 1.
 * biasOptional:    is only looked at; null is fine.
 * outputMask:      3 values: whether gradInputOut, gradWeightOut, gradBiasOut are wanted. One that is not
 *                  is never looked at.
 * gradInputOut:    shape of input; may be exactly the view gradOut or input.
 * gradWeightOut, gradBiasOut: as many elements as normalizedShape has.
 *
 * Codes, first come: 161001 null gradOut, input, mean, rstd, normalizedShape, outputMask; 161002 a length
 * of outputMask other than 3; 161001 a wanted output that is null; 161002 a handle that is not alive;
 * types; formats; ranks; views that leave their storage; normalizedShape; shapes.
 *
 * Without rows gradWeightOut and gradBiasOut become 0. */
ACLNN_API aclnnStatus aclnnLayerNormBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclTensor* input, const aclIntArray* normalizedShape,
    const aclTensor* mean, const aclTensor* rstd, const aclTensor* weightOptional,
    const aclTensor* biasOptional, const aclBoolArray* outputMask, aclTensor* gradInputOut,
    aclTensor* gradWeightOut, aclTensor* gradBiasOut, uint64_t* workspaceSize,
    aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnLayerNormBackward(void* workspace, uint64_t workspaceSize,
                                             aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
