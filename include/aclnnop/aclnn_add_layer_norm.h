/* aclnnAddLayerNorm: x = x1 + x2 + bias, and aclnnLayerNorm of x over the axes of gamma:
 *
 *   rstd = 1/sqrt(var(x) + epsilon),   y = (x - mean) * rstd * gamma + beta
 *
 * y comes from the sum before it is rounded to xOut. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_ADD_LAYER_NORM_H
#define NORMGRAD_ACLNNOP_ACLNN_ADD_LAYER_NORM_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types: each of FLOAT, FLOAT16, BF16; public formats, any strides.
 *
 * x1, x2:          one shape of rank 1 to 8, one type; or one is FLOAT: then all others are FLOAT, too.
 * gamma, beta:     the last extents of x1, FLOAT or the type of x1.
 * biasOptional:    the shape of gamma or of x1; null: 0.
 * additionalOutput: whether xOut is wanted; else it is never looked at.
 * yOut, xOut:      shape and type of x1; either may be exactly the view x1 or x2.
 * meanOut, rstdOut: FLOAT, one number per row in any shape.
 *
 * Codes, first come: 161001 a null that is not allowed; 161002 a handle that is not alive; types;
 * formats; ranks; views that leave their storage; 561002 shapes.
 *
 * Rows without elements have mean 0, rstd NaN; without rows there is nothing to do. */
ACLNN_API aclnnStatus aclnnAddLayerNormGetWorkspaceSize(
    const aclTensor* x1, const aclTensor* x2, const aclTensor* gamma, const aclTensor* beta,
    const aclTensor* biasOptional, double epsilon, bool additionalOutput, const aclTensor* yOut,
    const aclTensor* meanOut, const aclTensor* rstdOut, const aclTensor* xOut,
    uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnAddLayerNorm(void* workspace, uint64_t workspaceSize,
                                        aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
