/* Types of the model interface. This library runs no models; the file is here because programs
 * include it. */
#ifndef ACL_ACL_BASE_MDL_H_
#define ACL_ACL_BASE_MDL_H_

#include "acl_base_rt.h"

#endif
