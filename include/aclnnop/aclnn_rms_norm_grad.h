/* aclnnRmsNormGrad: the gradients of aclnnRmsNorm. With g = dy * gamma and xh = x * rstd, means along each row,
 * the sum over all rows:
 *
 *   dx = rstd * (g - xh * mean(g * xh)),   dgamma = sum(dy * xh)
 *
 * rstd is used as given. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_RMS_NORM_GRAD_H
#define NORMGRAD_ACLNNOP_ACLNN_RMS_NORM_GRAD_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types: each of FLOAT, FLOAT16, BF16; public formats, any strides.
 *
 * dy, x:     one shape of rank 2 to 8, one type.
 * rstd:      FLOAT, one number per row in any shape.
 * gamma:     the last extents of x, FLOAT or the type of dy.
 * dxOut:     shape and type of dy; may be exactly the view dy or x.
 * dgammaOut: FLOAT, as many elements as gamma.
 *
 * Codes, first come: 161001 a null that is not allowed; 161002 a handle that is not alive; types;
 * formats; ranks; views that leave their storage; 561002 shapes.
 *
 * Without rows dgammaOut becomes 0. */
ACLNN_API aclnnStatus aclnnRmsNormGradGetWorkspaceSize(
    const aclTensor* dy, const aclTensor* x, const aclTensor* rstd, const aclTensor* gamma,
    const aclTensor* dxOut, const aclTensor* dgammaOut, uint64_t* workspaceSize,
    aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnRmsNormGrad(void* workspace, uint64_t workspaceSize,
                                       aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
