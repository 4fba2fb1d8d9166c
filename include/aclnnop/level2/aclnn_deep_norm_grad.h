/* The place where this header used to be. */
#ifndef NORMGRAD_ACLNNOP_LEVEL2_ACLNN_DEEP_NORM_GRAD_H
#define NORMGRAD_ACLNNOP_LEVEL2_ACLNN_DEEP_NORM_GRAD_H

#include "../aclnn_deep_norm_grad.h"

#endif
