/* aclnnDeepNorm: aclnnLayerNorm of alpha * x + gx over the axes of gamma:
 *
 *   rstd = 1/sqrt(var + epsilon),   y = (alpha * x + gx - mean) * rstd * gamma + beta
 *
 * beta comes before gamma, y last. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_DEEP_NORM_H
#define NORMGRAD_ACLNNOP_ACLNN_DEEP_NORM_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types: each of FLOAT, FLOAT16, BF16; public formats, any strides.
 *
 * x, gx:       one shape of rank 2 to 8, one type.
 * beta, gamma: the last extents of x, FLOAT or the type of x.
 * meanOut, rstdOut: FLOAT, one number per row in any shape.
 * yOut:        shape and type of x; may be exactly the view x or gx.
 *
 * Codes, first come: 161001 a null that is not allowed; 161002 a handle that is not alive; types;
 * formats; ranks; views that leave their storage; 561002 shapes. */
ACLNN_API aclnnStatus aclnnDeepNormGetWorkspaceSize(
    const aclTensor* x, const aclTensor* gx, const aclTensor* beta, const aclTensor* gamma,
    double alpha, double epsilon, const aclTensor* meanOut, const aclTensor* rstdOut,
    const aclTensor* yOut, uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnDeepNorm(void* workspace, uint64_t workspaceSize,
                                    aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
