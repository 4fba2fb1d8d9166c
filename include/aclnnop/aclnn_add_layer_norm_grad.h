/* aclnnAddLayerNormGrad: the gradients of aclnnAddLayerNorm. With x = x1 + x2, xh = (x - mean) * rstd and
 * g = dy * gamma, means along each row, sums over all rows:
 *
 *   dx     = rstd * (g - mean(g) - xh * mean(g * xh)) + dsum       that of x1, and of x2
 *   dgamma = sum(dy * xh),   dbeta = sum(dy)
 *
 * mean and rstd are used as given; rstd comes before mean. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_ADD_LAYER_NORM_GRAD_H
#define NORMGRAD_ACLNNOP_ACLNN_ADD_LAYER_NORM_GRAD_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types: each of FLOAT, FLOAT16, BF16; public formats, any strides.
 *
 * dy, x1, x2:   one shape of rank 1 to 8, one type.
 * rstd, mean:   FLOAT, one number per row in any shape.
 * gamma:        the last extents of x1, FLOAT or the type of dy.
 * dsumOptional: shape and type of dy; null: 0.
 * dxOut:        shape and type of dy; may be exactly the view of an input.
 * dgammaOut, dbetaOut: FLOAT, as many elements as gamma.
 *
 * Codes, first come: 161001 a null that is not allowed; 161002 a handle that is not alive; types;
 * formats; ranks; views that leave their storage; 561002 shapes.
 *
 * Without rows dgammaOut and dbetaOut become 0. */
ACLNN_API aclnnStatus aclnnAddLayerNormGradGetWorkspaceSize(
    const aclTensor* dy, const aclTensor* x1, const aclTensor* x2, const aclTensor* rstd,
    const aclTensor* mean, const aclTensor* gamma, const aclTensor* dsumOptional,
    const aclTensor* dxOut, const aclTensor* dgammaOut, const aclTensor* dbetaOut,
    uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnAddLayerNormGrad(void* workspace, uint64_t workspaceSize,
                                            aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
