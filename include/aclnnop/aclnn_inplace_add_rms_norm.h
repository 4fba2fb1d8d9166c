/* aclnnInplaceAddRmsNorm: x = x1 + x2, rstd = 1/sqrt(mean(x^2) + epsilon), x1 := x * rstd * gamma, x2 := x, with
 * means over the axes of gamma. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_INPLACE_ADD_RMS_NORM_H
#define NORMGRAD_ACLNNOP_ACLNN_INPLACE_ADD_RMS_NORM_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types: each of FLOAT, FLOAT16, BF16; public formats, any strides.
 *
 * x1Ref, x2Ref: one shape of rank 1 to 8, one type; apart from each other.
 * gamma:   the last extents of x1Ref, FLOAT or the type of x1Ref; it may begin with ones.
 * rstdOut: FLOAT, one number per row in any shape.
 *
 * Codes, first come: 161001 a null that is not allowed; 161002 a handle that is not alive; types;
 * formats; ranks; views that leave their storage; 561002 shapes. */
ACLNN_API aclnnStatus aclnnInplaceAddRmsNormGetWorkspaceSize(aclTensor* x1Ref, aclTensor* x2Ref,
                                                             const aclTensor* gamma, double epsilon,
                                                             const aclTensor* rstdOut,
                                                             uint64_t* workspaceSize,
                                                             aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnInplaceAddRmsNorm(void* workspace, uint64_t workspaceSize,
                                             aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
