/* Why the last call failed, in words. Plain C, for users of every API family. */
#ifndef NORMGRAD_LAST_ERROR_H
#define NORMGRAD_LAST_ERROR_H

#include "normgrad/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The reason for the last failure in the calling thread, as one sentence: function, argument, what
 * was given, what is allowed. Never null; "" if nothing failed yet in this thread. A success leaves
 * it as it is. The text stays valid until the next failure in this thread. With NORMGRAD_LOG=1 in
 * the environment it is also printed to stderr. */
NORMGRAD_API const char* normgradGetLastError(void);

#ifdef __cplusplus
}
#endif

#endif
