/* aclnnBatchNormElemt: output = (input - mean[c]) * invstd[c] * weight[c] + bias[c], for every
 * channel c (axis 1, whatever the format says), with statistics gathered over all devices. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_BATCH_NORM_ELEMT_H
#define NORMGRAD_ACLNNOP_ACLNN_BATCH_NORM_ELEMT_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types: each of FLOAT, FLOAT16, BF16; public formats, any strides; C channels.
 *
 * input:  rank 2 to 8, C > 0.
 * weight: (C); null: 1.
 * bias:   (C); null: 0.
 * mean:   (C).
 * invstd: (C), 1/sqrt(variance + eps).
 * eps:    makes no difference: invstd contains it.
 * output: out, shape and type of input; may be exactly the view input.
 *
 * Codes, first come: 161001 a null that is not allowed; 161002 a tensor that is not alive; types;
 * formats; ranks; views that leave their storage; C = 0; shapes.
 *
 * With an empty input there is nothing to do. */
ACLNN_API aclnnStatus aclnnBatchNormElemtGetWorkspaceSize(
    const aclTensor* input, const aclTensor* weight, const aclTensor* bias, aclTensor* mean,
    aclTensor* invstd, double eps, aclTensor* output, uint64_t* workspaceSize,
    aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnBatchNormElemt(void* workspace, uint64_t workspaceSize,
                                          aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
