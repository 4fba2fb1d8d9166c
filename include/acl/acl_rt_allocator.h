/* Allocators registered by the caller. This library always uses its own; the file is here because
 * programs include it. */
#ifndef ACL_ACL_RT_ALLOCATOR_H_
#define ACL_ACL_RT_ALLOCATOR_H_

#include "acl_base_rt.h"

#endif
