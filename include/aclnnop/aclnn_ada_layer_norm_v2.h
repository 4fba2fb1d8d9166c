/* aclnnAdaLayerNormV2: aclnnLayerNorm along the last axis, modulated by what S rows have in common:
 *
 *   z = (x - mean)/sqrt(var + epsilon) * weight + bias,   out = z * (1 + scale) + shift */
#ifndef NORMGRAD_ACLNNOP_ACLNN_ADA_LAYER_NORM_V2_H
#define NORMGRAD_ACLNNOP_ACLNN_ADA_LAYER_NORM_V2_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types: each of FLOAT, FLOAT16, BF16; public formats, any strides.
 *
 * x:            (..., B, S, H): rank 2 to 8.
 * scale, shift: (..., B, H) or (..., B, 1, H), the type of x; also (H), or the shape of x.
 * weightOptional, biasOptional: (H), FLOAT or the type of x; null: 1, 0.
 * out:          shape and type of x; may be exactly the view x.
 * meanOutOptional, rstdOutOptional: one number per row in any shape; null: not wanted.
 *
 * Codes, first come: 161001 a null that is not allowed; 161002 a handle that is not alive; types;
 * formats; ranks; views that leave their storage; shapes. */
ACLNN_API aclnnStatus aclnnAdaLayerNormV2GetWorkspaceSize(
    const aclTensor* x, const aclTensor* scale, const aclTensor* shift,
    const aclTensor* weightOptional, const aclTensor* biasOptional, double epsilon, aclTensor* out,
    aclTensor* meanOutOptional, aclTensor* rstdOutOptional, uint64_t* workspaceSize,
    aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnAdaLayerNormV2(void* workspace, uint64_t workspaceSize,
                                          aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
