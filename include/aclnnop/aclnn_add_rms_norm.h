/* aclnnAddRmsNorm: x = x1 + x2, rstd = 1/sqrt(mean(x^2) + epsilon), y = x * rstd * gamma, with means over the axes
 * of gamma. y comes from the sum before it is rounded to xOut. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_ADD_RMS_NORM_H
#define NORMGRAD_ACLNNOP_ACLNN_ADD_RMS_NORM_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types: each of FLOAT, FLOAT16, BF16; public formats, any strides.
 *
 * x1, x2:  one shape of rank 1 to 8, one type.
 * gamma:   the last extents of x1, FLOAT or the type of x1; it may begin with ones.
 * yOut, xOut: shape and type of x1; either may be exactly the view x1 or x2. xOut may be null if rstdOut is.
 * rstdOut: FLOAT, one number per row in any shape; null: not wanted.
 *
 * Codes, first come: 161001 a null that is not allowed; 161002 a handle that is not alive; types;
 * formats; ranks; views that leave their storage; 561002 shapes. */
ACLNN_API aclnnStatus aclnnAddRmsNormGetWorkspaceSize(const aclTensor* x1, const aclTensor* x2,
                                                      const aclTensor* gamma, double epsilon,
                                                      aclTensor* yOut, aclTensor* rstdOut,
                                                      aclTensor* xOut, uint64_t* workspaceSize,
                                                      aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnAddRmsNorm(void* workspace, uint64_t workspaceSize,
                                      aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
