/* The place where this header used to be. */
#ifndef NORMGRAD_ACLNNOP_LEVEL2_ACLNN_INPLACE_ADD_RMS_NORM_H
#define NORMGRAD_ACLNNOP_LEVEL2_ACLNN_INPLACE_ADD_RMS_NORM_H

#include "../aclnn_inplace_add_rms_norm.h"

#endif
