/* aclnnBatchNorm, for every channel c:
 * output = (input - m[c]) / sqrt(v[c] + eps) * weight[c] + bias[c].
 *
 * training:   m and v are mean and biased variance of the channel's n elements.
 *   saveMean   = m
 *   saveInvstd = 1/sqrt(v + eps), or v with NORMGRAD_SOC=Ascend910B
 *   runningMean := (1 - momentum) * runningMean + momentum * m
 *   runningVar  := (1 - momentum) * runningVar + momentum * v * n/(n - 1), NaN for n = 1
 *
 * inference:  m = runningMean, v = runningVar; nothing but output is written. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_BATCH_NORM_H
#define NORMGRAD_ACLNNOP_ACLNN_BATCH_NORM_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every tensor is FLOAT, FLOAT16 or BF16, in a public format and with any strides; C channels. Running and
 * saved ones are FLOAT or have the type of input, both running ones one type, both saved ones too.
 *
 * input:       rank 2 to 8. The channels are axis 1, or the last axis with format NHWC or NDHWC
 *              (Ascend910B: always axis 1). Rank 5 needs format NCDHW or NDHWC (Ascend910B: NCDHW).
 * weight:      (C); null: 1.
 * bias:        (C); null: 0.
 * runningMean: (C), updated in place in training; null: 0 in inference, not wanted in training.
 * runningVar:  (C), likewise; null: 1 in inference.
 * training, momentum, eps: see above.
 * output:      out, shape, type and format of input; may be exactly the view input.
 * saveMean:    out, (C); in inference not looked at and may be null.
 * saveInvstd:  out, (C); likewise.
 *
 * Codes, first come: 161001 a null that is not allowed; 161002 input, output or what is saved not
 * alive; then, if input is empty, success; 161002 a tensor that is not alive; types; formats;
 * ranks, views that leave their storage, shapes of the data; shapes of the rest.
 *
 * Training on an empty input makes saveMean 0 and saveInvstd NaN and updates nothing. */
ACLNN_API aclnnStatus aclnnBatchNormGetWorkspaceSize(
    const aclTensor* input, const aclTensor* weight, const aclTensor* bias, aclTensor* runningMean,
    aclTensor* runningVar, bool training, double momentum, double eps, aclTensor* output,
    aclTensor* saveMean, aclTensor* saveInvstd, uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnBatchNorm(void* workspace, uint64_t workspaceSize,
                                     aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
