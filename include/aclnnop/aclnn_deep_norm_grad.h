/* aclnnDeepNormGrad: the gradients of aclnnDeepNorm. With s = alpha * x + gx - mean, g = dy * gamma, means
 * along each row, sums over all rows:
 *
 *   dgx    = rstd * (g - mean(g) - s * rstd^2 * mean(g * s)),   dx = alpha * dgx
 *   dbeta  = sum(dy),   dgamma = sum(dy * s * rstd)
 *
 * mean and rstd are used as given. dx comes from dgx before it is rounded. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_DEEP_NORM_GRAD_H
#define NORMGRAD_ACLNNOP_ACLNN_DEEP_NORM_GRAD_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types: each of FLOAT, FLOAT16, BF16; public formats, any strides.
 *
 * dy, x, gx:   one shape of rank 2 to 8, one type.
 * gamma:       the last extents of x, FLOAT or the type of dy.
 * mean, rstd:  FLOAT, one number per row in any shape.
 * dxOut, dgxOut: shape and type of dy; may be exactly the view of an input.
 * dbetaOut, dgammaOut: FLOAT, as many elements as gamma.
 *
 * Codes, first come: 161001 a null that is not allowed; 161002 a handle that is not alive; types;
 * formats; ranks; views that leave their storage; 561002 shapes.
 *
 * Without rows dbetaOut and dgammaOut become 0. */
ACLNN_API aclnnStatus aclnnDeepNormGradGetWorkspaceSize(
    const aclTensor* dy, const aclTensor* x, const aclTensor* gx, const aclTensor* gamma,
    const aclTensor* mean, const aclTensor* rstd, double alpha, const aclTensor* dxOut,
    const aclTensor* dgxOut, const aclTensor* dbetaOut, const aclTensor* dgammaOut,
    uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnDeepNormGrad(void* workspace, uint64_t workspaceSize,
                                        aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
