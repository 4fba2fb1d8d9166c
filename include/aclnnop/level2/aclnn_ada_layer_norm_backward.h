/* The place where this header used to be. */
#ifndef NORMGRAD_ACLNNOP_LEVEL2_ACLNN_ADA_LAYER_NORM_BACKWARD_H
#define NORMGRAD_ACLNNOP_LEVEL2_ACLNN_ADA_LAYER_NORM_BACKWARD_H

#include "../aclnn_ada_layer_norm_backward.h"

#endif
