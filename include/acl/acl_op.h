/* Single operators of the model interface. This library has the aclnn operators instead; the file
 * is here because programs include it. */
#ifndef ACL_ACL_OP_H_
#define ACL_ACL_OP_H_

#include "acl_base_rt.h"

#endif
