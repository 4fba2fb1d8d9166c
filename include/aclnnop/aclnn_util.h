/* Marks the operators, which are visible outside their library. */
#ifndef NORMGRAD_ACLNNOP_ACLNN_UTIL_H
#define NORMGRAD_ACLNNOP_ACLNN_UTIL_H

#define ACLNN_API __attribute__((visibility("default")))

#endif
