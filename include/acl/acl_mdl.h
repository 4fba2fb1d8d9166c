/* Models. This library runs none; the file is here because programs include it. */
#ifndef ACL_ACL_MDL_H_
#define ACL_ACL_MDL_H_

#include "acl_base_rt.h"

#endif
