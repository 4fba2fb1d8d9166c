/* aclnnLayerNorm: with the mean and the biased variance var of every row of input, its last axes that
 * normalizedShape names,
 *
 *   rstd = 1/sqrt(var + eps),   out = (input - mean) * rstd * weight + bias */
#ifndef NORMGRAD_ACLNNOP_ACLNN_LAYER_NORM_H
#define NORMGRAD_ACLNNOP_ACLNN_LAYER_NORM_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types: each of FLOAT, FLOAT16, BF16; public formats, any strides.
 *
 * input:           rank 1 to 8.
 * normalizedShape: 1 to 8 extents, the last ones of input.
 * weightOptional:  normalizedShape, FLOAT or the type of input; null: 1.
 * biasOptional:    likewise; null: 0.
 * out:             shape of input; may be exactly the view input.
 * meanOutOptional, rstdOutOptional: the leading dimensions of input, or these and ones, or any other
 *                  shape of as many elements without gaps; null: not wanted.
 *
 * Codes, first come: 161001 a null that is not allowed; 161002 a handle that is not alive; types;
 * formats; ranks; views that leave their storage; normalizedShape; shapes.
 *
 * Rows without elements have mean 0, rstd NaN; without rows there is nothing to do. */
ACLNN_API aclnnStatus aclnnLayerNormGetWorkspaceSize(
    const aclTensor* input, const aclIntArray* normalizedShape, const aclTensor* weightOptional,
    const aclTensor* biasOptional, double eps, aclTensor* out, aclTensor* meanOutOptional,
    aclTensor* rstdOutOptional, uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnLayerNorm(void* workspace, uint64_t workspaceSize,
                                     aclOpExecutor* executor, const aclrtStream stream);

/* The same. implMode: 0, 1 or 2, else 161002; 2 demands that all tensors are FLOAT16. The results are the
 * same in each. */
ACLNN_API aclnnStatus aclnnLayerNormWithImplModeGetWorkspaceSize(
    const aclTensor* input, const aclIntArray* normalizedShape, const aclTensor* weightOptional,
    const aclTensor* biasOptional, double eps, aclTensor* out, aclTensor* meanOutOptional,
    aclTensor* rstdOutOptional, int32_t implMode, uint64_t* workspaceSize,
    aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnLayerNormWithImplMode(void* workspace, uint64_t workspaceSize,
                                                 aclOpExecutor* executor, const aclrtStream stream);

/* The same as aclnnLayerNorm. */
ACLNN_API aclnnStatus aclnnFastLayerNormGetWorkspaceSize(
    const aclTensor* input, const aclIntArray* normalizedShape, const aclTensor* weightOptional,
    const aclTensor* biasOptional, double eps, aclTensor* out, aclTensor* meanOutOptional,
    aclTensor* rstdOutOptional, uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase 2, see aclnn/aclnn_base.h. */
ACLNN_API aclnnStatus aclnnFastLayerNorm(void* workspace, uint64_t workspaceSize,
                                         aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
