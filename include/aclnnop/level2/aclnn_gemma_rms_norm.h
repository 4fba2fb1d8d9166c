/* The place where this header used to be. */
#ifndef NORMGRAD_ACLNNOP_LEVEL2_ACLNN_GEMMA_RMS_NORM_H
#define NORMGRAD_ACLNNOP_LEVEL2_ACLNN_GEMMA_RMS_NORM_H

#include "../aclnn_gemma_rms_norm.h"

#endif
