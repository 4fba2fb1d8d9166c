// Every aclnn header, in the language standard that this file is compiled with; and the function
// pointers whose types programs spell out.
#include <memory>

#include "aclnn/acl_meta.h"
#include "aclnn/aclnn_base.h"
#include "aclnn/normgrad_errors.h"
#include "aclnnop/aclnn_ops_nn.h"
#include "aclnnop/aclnn_util.h"
#include "aclnnop/level2/aclnn_batch_norm.h"
#include "aclnnop/level2/aclnn_batch_norm_backward.h"
#include "aclnnop/level2/aclnn_batch_norm_backward_reduce.h"
#include "aclnnop/level2/aclnn_batch_norm_elemt.h"
#include "aclnnop/level2/aclnn_batch_norm_elemt_backward.h"
#include "aclnnop/level2/aclnn_batch_norm_gather_stats_with_counts.h"
#include "aclnnop/level2/aclnn_batch_norm_stats.h"
#include "aclnnop/level2/aclnn_fast_batch_norm_backward.h"

static_assert(OK == ACLNN_SUCCESS && OK == ACL_SUCCESS, "success is 0 under all three names");

std::unique_ptr<aclTensor, aclnnStatus (*)(const aclTensor*)> tensor(nullptr, aclDestroyTensor);
std::unique_ptr<aclIntArray, aclnnStatus (*)(const aclIntArray*)> array(nullptr,
                                                                        aclDestroyIntArray);
aclnnStatus (*phase_two)(void*, uint64_t, aclOpExecutor*, aclrtStream) = aclnnBatchNormBackward;
std::array<int, 2> array_is_included = {{1, 2}};
