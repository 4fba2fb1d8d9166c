/* The place where this header used to be. */
#ifndef NORMGRAD_ACLNNOP_LEVEL2_ACLNN_GROUP_NORM_H
#define NORMGRAD_ACLNNOP_LEVEL2_ACLNN_GROUP_NORM_H

#include "../aclnn_group_norm.h"

#endif
