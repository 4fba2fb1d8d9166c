/* The place where this header used to be. */
#ifndef NORMGRAD_ACLNNOP_LEVEL2_ACLNN_RMS_NORM_GRAD_H
#define NORMGRAD_ACLNNOP_LEVEL2_ACLNN_RMS_NORM_GRAD_H

#include "../aclnn_rms_norm_grad.h"

#endif
