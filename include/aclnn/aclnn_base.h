/* What every aclnn operator's header includes. An operator is two functions.
 *
 * Phase 1, aclnnXxxGetWorkspaceSize, checks its arguments, in the order of the operator's table of
 * codes, and reads no element of any tensor. Its last two arguments:
 *   workspaceSize: out, bytes of device memory that phase 2 needs; often 0. Null: 161001.
 *   executor:      out, a new executor, also when there is nothing to do. Null: 161001.
 * A failure leaves both untouched. Tensors and arrays may be destroyed after phase 1.
 *
 * Phase 2, aclnnXxx, does the work and may run in another thread:
 *   workspace:     workspaceSize bytes, any contents. Null although bytes are needed or
 *                  workspaceSize is not 0: 161001.
 *   workspaceSize: at least what phase 1 said, else 161002.
 *   executor:      of phase 1 of the same operator, else 561000. Null: 161001. It is destroyed,
 *                  also on failure, unless it was made repeatable or belongs to another operator.
 *   stream:        null: the default stream of the current context (none: 361001). Not alive:
 *                  107017.
 * A null address of a tensor that has elements is 161001 here. An output may lie exactly in place
 * of an input (same address, type, shape and strides); otherwise an output that shares memory with
 * another argument is 161002, and so is a tensor in device memory that leaves its allocation or
 * whose allocation has been freed. A failure leaves all outputs untouched. A repeatable executor
 * must not be destroyed, nor its addresses be set, while another thread is in its phase 2. */
#ifndef NORMGRAD_ACLNN_ACLNN_BASE_H
#define NORMGRAD_ACLNN_ACLNN_BASE_H

#include <cstdint>
#include <cstdlib>

#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For programs that use operators without aclInit. Nothing needs to be prepared or released, so
 * both succeed always and in any order; configPath is not read and may be null. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnInit(const char* configPath);
ACL_FUNC_VISIBILITY aclnnStatus aclnnFinalize();

#ifdef __cplusplus
}
#endif

#endif
