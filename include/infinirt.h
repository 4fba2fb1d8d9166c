/* The InfiniCore runtime: devices, memory, streams, events. This library's one device is the CPU:
 * its "device memory" is host memory, and work is done when the call that asks for it returns.
 *
 * The current device belongs to the calling thread and is (INFINI_DEVICE_CPU, 0) at first. What
 * works on the current device (memory, streams, events, graphs, infinirtDeviceSynchronize) returns
 * DEVICE_TYPE_NOT_SUPPORTED while that is not a CPU. A required pointer that is null: NULL_POINTER.
 * A failing call writes nothing through its pointers. All functions may be called from any thread.
 * Codes are written here without their prefix INFINI_STATUS_. */
#ifndef __INFINIRT_API_H__
#define __INFINIRT_API_H__

#include <stdint.h>

#include "infinicore.h"

typedef void* infinirtStream_t; /* always null here: there is one, and every thread is on it */
typedef void* infinirtEvent_t;
typedef void* infinirtGraph_t;
typedef void* infinirtGraphNode_t;
typedef void* infinirtGraphExec_t;

/* ---- Devices ---- */

/* Optional, repeatable, always SUCCESS. */
__INFINI_C __export infiniStatus_t infinirtInit(void);

/* count_array: out, INFINI_DEVICE_TYPE_COUNT ints, the number of devices of each type. (The headers
 * of August 2025 knew only 9 types: rebuild clients that reserve fewer ints.) */
__INFINI_C __export infiniStatus_t infinirtGetAllDeviceCount(int* count_array);

/* count: out, the number of devices of this type: CPU 1, others 0. A number that is no device type:
 * DEVICE_TYPE_NOT_SUPPORTED. */
__INFINI_C __export infiniStatus_t infinirtGetDeviceCount(infiniDevice_t device, int* count);

/* Sets the calling thread's current device. A type other than CPU becomes the current device as
 * well, although the call returns DEVICE_TYPE_NOT_SUPPORTED: so everything that follows fails with
 * that code, also in a caller that ignores this one. Any device_id is taken and given back. */
__INFINI_C __export infiniStatus_t infinirtSetDevice(infiniDevice_t device, int device_id);

/* device_ptr, device_id_ptr: out, the calling thread's current device; one may be null. */
__INFINI_C __export infiniStatus_t infinirtGetDevice(infiniDevice_t* device_ptr,
                                                     int* device_id_ptr);

__INFINI_C __export infiniStatus_t infinirtDeviceSynchronize(void);

/* free_bytes, total_bytes: out, memory that a new program could use without swapping, and installed
 * memory. device other than CPU: DEVICE_TYPE_NOT_SUPPORTED; device_id other than 0:
 * DEVICE_NOT_FOUND. */
__INFINI_C __export infiniStatus_t infinirtGetMemInfo(infiniDevice_t device, int device_id,
                                                      size_t* free_bytes, size_t* total_bytes);

/* Bits of valid_fields and estimated_fields below. */
typedef enum {
  INFINIRT_RESOURCE_FIELD_NONE = 0,
  INFINIRT_RESOURCE_FIELD_MEMORY_CAPACITY = 1, /* free, total, used and reserved_bytes */
  INFINIRT_RESOURCE_FIELD_COMPUTE_UTILIZATION = 2,
  INFINIRT_RESOURCE_FIELD_MEMORY_BANDWIDTH_UTILIZATION = 4,
  INFINIRT_RESOURCE_FIELD_KERNEL_TIME_RATIO = 8,
  INFINIRT_RESOURCE_FIELD_COMMUNICATION = 16
} infinirtResourceField_t;

typedef struct {
  infiniDevice_t device_type;
  int device_id;
  uint64_t valid_fields;     /* which of the following are measured or estimated; others are 0 */
  uint64_t estimated_fields; /* which of these are estimates */
  size_t free_bytes;
  size_t total_bytes;
  size_t used_bytes;     /* total - free */
  size_t reserved_bytes; /* in live allocations of infinirtMalloc and infinirtMallocHost */
  float compute_utilization;
  float memory_bandwidth_utilization;
  float kernel_time_ratio;
  float communication_time_ratio;
  uint64_t communication_bytes;
} infinirtDeviceResourceSnapshot_t;

/* snapshot: out; of a CPU only INFINIRT_RESOURCE_FIELD_MEMORY_CAPACITY is valid. Codes as
 * infinirtGetMemInfo. */
__INFINI_C __export infiniStatus_t infinirtGetDeviceResourceSnapshot(
    infiniDevice_t device, int device_id, infinirtDeviceResourceSnapshot_t* snapshot);

/* ---- Streams: a stream other than null is BAD_PARAM, everywhere ---- */

/* stream_ptr: out, set to null. */
__INFINI_C __export infiniStatus_t infinirtStreamCreate(infinirtStream_t* stream_ptr);
__INFINI_C __export infiniStatus_t infinirtStreamDestroy(infinirtStream_t stream);
__INFINI_C __export infiniStatus_t infinirtStreamSynchronize(infinirtStream_t stream);
/* event: a live event. What was recorded is done already: nothing to wait for. */
__INFINI_C __export infiniStatus_t infinirtStreamWaitEvent(infinirtStream_t stream,
                                                           infinirtEvent_t event);

/* ---- Events: an event that is dead, or that infinirtEventCreate did not make: BAD_PARAM ---- */

typedef enum {
  INFINIRT_EVENT_COMPLETE = 0,
  INFINIRT_EVENT_NOT_READY = 1 /* never answered here */
} infinirtEventStatus_t;

typedef enum {
  INFINIRT_EVENT_DEFAULT = 0,
  INFINIRT_EVENT_DISABLE_TIMING = 1, /* infinirtEventElapsedTime refuses the event */
  INFINIRT_EVENT_BLOCKING_SYNC = 2   /* changes nothing here */
} infinirtEventFlags_t;

/* event_ptr: out, a new event, to be given to infinirtEventDestroy. */
__INFINI_C __export infiniStatus_t infinirtEventCreate(infinirtEvent_t* event_ptr);
/* flags: the above, or-ed; other bits: BAD_PARAM. */
__INFINI_C __export infiniStatus_t infinirtEventCreateWithFlags(infinirtEvent_t* event_ptr,
                                                                uint32_t flags);
/* Stores the present time in the event; again, if it holds one already. */
__INFINI_C __export infiniStatus_t infinirtEventRecord(infinirtEvent_t event,
                                                       infinirtStream_t stream);
/* status_ptr: out, INFINIRT_EVENT_COMPLETE, also before the event is recorded. */
__INFINI_C __export infiniStatus_t infinirtEventQuery(infinirtEvent_t event,
                                                      infinirtEventStatus_t* status_ptr);
__INFINI_C __export infiniStatus_t infinirtEventSynchronize(infinirtEvent_t event);
/* Null is fine and does nothing. */
__INFINI_C __export infiniStatus_t infinirtEventDestroy(infinirtEvent_t event);
/* ms_ptr: out, milliseconds from start to end, negative if end was recorded first. An event that
 * was never recorded, or that has INFINIRT_EVENT_DISABLE_TIMING: BAD_PARAM. */
__INFINI_C __export infiniStatus_t infinirtEventElapsedTime(float* ms_ptr, infinirtEvent_t start,
                                                            infinirtEvent_t end);

/* ---- Memory ---- */

/* Says between host (H) and device (D); each may be the same memory here. */
typedef enum {
  INFINIRT_MEMCPY_H2H = 0,
  INFINIRT_MEMCPY_H2D = 1,
  INFINIRT_MEMCPY_D2H = 2,
  INFINIRT_MEMCPY_D2D = 3
} infinirtMemcpyKind_t;

/* p_ptr: out, `size` bytes aligned to 64, contents unspecified; null if size is 0. No memory:
 * INTERNAL_ERROR. */
__INFINI_C __export infiniStatus_t infinirtMalloc(void** p_ptr, size_t size);
__INFINI_C __export infiniStatus_t infinirtMallocHost(void** p_ptr, size_t size);
__INFINI_C __export infiniStatus_t infinirtMallocAsync(void** p_ptr, size_t size,
                                                       infinirtStream_t stream);

/* ptr: what one of the above gave, or null, which does nothing. Memory that was freed before, that
 * comes from elsewhere, or an address inside an allocation: BAD_PARAM. */
__INFINI_C __export infiniStatus_t infinirtFree(void* ptr);
__INFINI_C __export infiniStatus_t infinirtFreeHost(void* ptr);
__INFINI_C __export infiniStatus_t infinirtFreeAsync(void* ptr, infinirtStream_t stream);

/* dst, src: `size` bytes each, in device memory or any other memory of the process; they may
 * overlap and, with size 0, be null. Bytes outside of the allocation that the address lies in,
 * freed device memory, a kind that is none of the four: BAD_PARAM. */
__INFINI_C __export infiniStatus_t infinirtMemcpy(void* dst, const void* src, size_t size,
                                                  infinirtMemcpyKind_t kind);
__INFINI_C __export infiniStatus_t infinirtMemcpyAsync(void* dst, const void* src, size_t size,
                                                       infinirtMemcpyKind_t kind,
                                                       infinirtStream_t stream);

/* ptr: as dst above. value: the byte to write (its low 8 bits). */
__INFINI_C __export infiniStatus_t infinirtMemset(void* ptr, int value, size_t count);
__INFINI_C __export infiniStatus_t infinirtMemsetAsync(void* ptr, int value, size_t count,
                                                       infinirtStream_t stream);

/* ---- Graphs: no CPU has these; every function returns DEVICE_TYPE_NOT_SUPPORTED ---- */

typedef enum {
  INFINIRT_STREAM_CAPTURE_MODE_GLOBAL = 0,
  INFINIRT_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  INFINIRT_STREAM_CAPTURE_MODE_RELAXED = 2
} infinirtStreamCaptureMode_t;

__INFINI_C __export infiniStatus_t infinirtStreamBeginCapture(infinirtStream_t stream,
                                                              infinirtStreamCaptureMode_t mode);
__INFINI_C __export infiniStatus_t infinirtStreamEndCapture(infinirtStream_t stream,
                                                            infinirtGraph_t* graph_ptr);
__INFINI_C __export infiniStatus_t infinirtGraphInstantiate(infinirtGraphExec_t* graph_exec_ptr,
                                                            infinirtGraph_t graph,
                                                            infinirtGraphNode_t* node_ptr,
                                                            char* log_buffer, size_t buffer_size);
__INFINI_C __export infiniStatus_t infinirtGraphDestroy(infinirtGraph_t graph);
__INFINI_C __export infiniStatus_t infinirtGraphExecDestroy(infinirtGraphExec_t graph_exec);
/* The name is misspelt in every InfiniCore; it is the symbol that clients link against. */
__INFINI_C __export infiniStatus_t infinirtGraphLuanch(infinirtGraphExec_t graph_exec,
                                                       infinirtStream_t stream);

#endif
