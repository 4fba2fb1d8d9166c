/* Compiling single operators of the model interface. This library has the aclnn operators instead; the
 * file, and the library's name libacl_op_compiler.so, are here because programs include and link them
 * without calling any function. */
#ifndef ACL_ACL_OP_COMPILER_H_
#define ACL_ACL_OP_COMPILER_H_

#include "acl_base.h"
#include "acl_op.h"

#endif
