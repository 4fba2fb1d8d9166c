/* All operators of libopapi_nn. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_OPS_NN_H
#define NORMGRAD_ACLNNOP_ACLNN_OPS_NN_H

#include "aclnn_ada_layer_norm.h"
#include "aclnn_ada_layer_norm_backward.h"
#include "aclnn_ada_layer_norm_v2.h"
#include "aclnn_add_layer_norm.h"
#include "aclnn_add_layer_norm_grad.h"
#include "aclnn_add_rms_norm.h"
#include "aclnn_add_rms_norm_cast.h"
#include "aclnn_batch_norm.h"
#include "aclnn_batch_norm_backward.h"
#include "aclnn_batch_norm_backward_reduce.h"
#include "aclnn_batch_norm_elemt.h"
#include "aclnn_batch_norm_elemt_backward.h"
#include "aclnn_batch_norm_gather_stats_with_counts.h"
#include "aclnn_batch_norm_reduce.h"
#include "aclnn_batch_norm_stats.h"
#include "aclnn_deep_norm.h"
#include "aclnn_deep_norm_grad.h"
#include "aclnn_fast_batch_norm_backward.h"
#include "aclnn_gemma_rms_norm.h"
#include "aclnn_group_norm.h"
#include "aclnn_group_norm_backward.h"
#include "aclnn_inplace_add_rms_norm.h"
#include "aclnn_layer_norm.h"
#include "aclnn_layer_norm_backward.h"
#include "aclnn_rms_norm.h"
#include "aclnn_rms_norm_grad.h"
#include "aclnn_sync_batch_norm_gather_stats.h"

#endif
