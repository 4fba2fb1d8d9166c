/* aclnnAdaLayerNormBackward: the gradients of aclnnAdaLayerNorm. With z = (input - mean) * rstd and
 * d = gradOut * weight * (1 + scale), means along each row, sums over the S rows that share a scale, or over
 * all:
 *
 *   gradInput  = rstd * (d - mean(d) - z * mean(d * z))
 *   gradScale  = sum over S of gradOut * (z * weight + bias),   gradShift = sum over S of gradOut
 *   gradWeight = sum of gradOut * (1 + scale) * z,              gradBias  = sum of gradOut * (1 + scale)
 *
 * mean and rstd are used as given; rstd comes before mean. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_ADA_LAYER_NORM_BACKWARD_H
#define NORMGRAD_ACLNNOP_ACLNN_ADA_LAYER_NORM_BACKWARD_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types: each of FLOAT, FLOAT16, BF16; public formats, any strides.
 *
 * gradOut, input:  (..., B, S, H): one shape of rank 2 to 8, one type.
 * normalizedShape: (H).
 * rstd, mean:      one number per row in any shape.
 * scale, shift:    (..., B, H) or (..., B, 1, H), the type of gradOut. shift is only looked at.
 * weightOptional, biasOptional: (H), FLOAT or the type of gradOut; null: 1, 0.
 * gradInputOut:    shape and type of gradOut; may be exactly the view gradOut or input.
 * gradScaleOut, gradShiftOut: shape of scale, the type of gradOut.
 * gradWeightOut, gradBiasOut: (H), FLOAT or the type of gradOut.
 *                  Each output may be null: not wanted.
 *
 * Codes, first come: 161001 a null that is not allowed; 161002 a handle that is not alive; types;
 * formats; ranks; views that leave their storage; normalizedShape; shapes.
 *
 * Sums over no rows are 0. */
ACLNN_API aclnnStatus aclnnAdaLayerNormBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclTensor* input, const aclIntArray* normalizedShape,
    const aclTensor* rstd, const aclTensor* mean, const aclTensor* scale, const aclTensor* shift,
    const aclTensor* weightOptional, const aclTensor* biasOptional, aclTensor* gradInputOut,
    aclTensor* gradScaleOut, aclTensor* gradShiftOut, aclTensor* gradWeightOut,
    aclTensor* gradBiasOut, uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnAdaLayerNormBackward(void* workspace, uint64_t workspaceSize,
                                                aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
