/* A handle: the device that operators are created for. */
#ifndef __INFINIOP_HANDLE_API_H__
#define __INFINIOP_HANDLE_API_H__

#include "../infinicore.h"

struct InfiniopHandle;
typedef struct InfiniopHandle* infiniopHandle_t;

/* handle_ptr: out, a handle for the calling thread's current device (infinirtSetDevice); it serves
 * any number of operators and threads. Null: NULL_POINTER. The current device is no CPU:
 * DEVICE_TYPE_NOT_SUPPORTED. */
__INFINI_C __export infiniStatus_t infiniopCreateHandle(infiniopHandle_t* handle_ptr);

/* handle: null is fine and does nothing; one that is not alive: BAD_PARAM. Operators created with
 * it stay usable. */
__INFINI_C __export infiniStatus_t infiniopDestroyHandle(infiniopHandle_t handle);

#endif
