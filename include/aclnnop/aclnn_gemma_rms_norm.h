/* aclnnGemmaRmsNorm: rstd = 1/sqrt(mean(x^2) + epsilon), y = x * rstd * (1 + gamma), with means over the axes of
 * gamma. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_GEMMA_RMS_NORM_H
#define NORMGRAD_ACLNNOP_ACLNN_GEMMA_RMS_NORM_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types: each of FLOAT, FLOAT16, BF16; public formats, any strides.
 *
 * x:       rank 1 to 8.
 * gamma:   the last extents of x, FLOAT or the type of x.
 * yOut:    shape and type of x; may be exactly the view x.
 * rstdOut: FLOAT, one number per row in any shape.
 *
 * Codes, first come: 161001 a null that is not allowed; 161002 a handle that is not alive; types;
 * formats; ranks; views that leave their storage; 561002 shapes. */
ACLNN_API aclnnStatus aclnnGemmaRmsNormGetWorkspaceSize(const aclTensor* x, const aclTensor* gamma,
                                                        double epsilon, const aclTensor* yOut,
                                                        const aclTensor* rstdOut,
                                                        uint64_t* workspaceSize,
                                                        aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnGemmaRmsNorm(void* workspace, uint64_t workspaceSize,
                                        aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
