/* aclnnGroupNorm: for every sample and group of C/group channels, with the mean and the biased variance var of
 * their C/group * HxW elements,
 *
 *   rstd = 1/sqrt(var + eps),   out = (self - mean) * rstd * gamma[c] + beta[c] */
#ifndef NORMGRAD_ACLNNOP_ACLNN_GROUP_NORM_H
#define NORMGRAD_ACLNNOP_ACLNN_GROUP_NORM_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types: each of FLOAT, FLOAT16, BF16; public formats, any strides.
 *
 * self:        (N, C, ...), rank 2 to 8; N, C and the product of the rest are the numbers N, C, HxW.
 * gamma, beta: as many elements as channels, FLOAT or the type of self; null: 1, 0.
 * group:       positive, divides C.
 * eps:         positive.
 * out:         shape and type of self; may be exactly the view self.
 * meanOut, rstdOut: out, (N, group) or any other shape of as many elements without gaps; one type, FLOAT or
 *              that of self.
 *
 * Codes, first come: 161001 a null that is not allowed; 161002 a tensor that is not alive; types;
 * formats; ranks; views that leave their storage; eps; group, N, C, HxW; shapes.
 *
 * Without elements meanOut becomes 0 and rstdOut NaN. */
ACLNN_API aclnnStatus aclnnGroupNormGetWorkspaceSize(const aclTensor* self, const aclTensor* gamma,
                                                     const aclTensor* beta, int64_t N, int64_t C,
                                                     int64_t HxW, int64_t group, double eps,
                                                     aclTensor* out, aclTensor* meanOut,
                                                     aclTensor* rstdOut, uint64_t* workspaceSize,
                                                     aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnGroupNorm(void* workspace, uint64_t workspaceSize,
                                     aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
