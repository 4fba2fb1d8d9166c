/* The ACL runtime on CPUs: devices, contexts, streams, events, memory. Valid as C99 and as C++11.
 *
 * A "device" is this machine, its memory host memory that the library keeps books of, and a stream
 * does its work when the environment's NORMGRAD_STREAMS says (inline, async, deferred).
 *
 * Codes that many functions share: null or unknown argument 100000 or 107000; no device 107001; no
 * current context in this thread 107002; a stream, event or context that is not alive 107017. A
 * failing call writes nothing through its pointers. Any function may be called from any thread. */
#ifndef ACL_ACL_RT_H_
#define ACL_ACL_RT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl_base.h"
#include "acl_rt_allocator.h"
#include "acl_rt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 17
#define ACL_PATCH_VERSION 0

/* ---- Beginning, end, errors, versions ---- */

/* Counted: a call while initialized returns ACL_ERROR_REPEAT_INITIALIZE (100002) and counts.
 * configPath: null, "", or a file with a JSON object, whose settings are not used; unreadable
 * 100003, too long 100005, not a JSON object 100006, another text than the first time 100000. */
ACL_FUNC_VISIBILITY aclError aclInit(const char* configPath);

/* Ends it whatever the count: all work is finished, all contexts, streams and events are released.
 * Again without aclInit: ACL_ERROR_REPEAT_FINALIZE (100037). */
ACL_FUNC_VISIBILITY aclError aclFinalize(void);

/* Counts down, and does what aclFinalize does at 0. refCount: out, the new count; may be null. */
ACL_FUNC_VISIBILITY aclError aclFinalizeReference(uint64_t* refCount);

/* The sentences of this thread's failed calls since it asked last, one a line; null if there are
 * none. Good until the thread's next call of this function. */
ACL_FUNC_VISIBILITY const char* aclGetRecentErrMsg(void);

/* The code of this thread's last failed runtime call, 0 if none; Get also forgets it. */
ACL_FUNC_VISIBILITY aclError aclrtPeekAtLastError(aclrtLastErrLevel level);
ACL_FUNC_VISIBILITY aclError aclrtGetLastError(aclrtLastErrLevel level);

ACL_FUNC_VISIBILITY aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion,
                                             int32_t* patchVersion);

/* "Ascend950PR_9589", or "Ascend910B2" with NORMGRAD_SOC=Ascend910B. */
ACL_FUNC_VISIBILITY const char* aclrtGetSocName(void);

/* Of package "runtime", "acl" or "CANN". versionStr: out, at most 128 bytes. versionNum: out, major *
 * 10^7 + minor * 10^5 + patch * 10^3. */
ACL_FUNC_VISIBILITY aclError aclsysGetVersionStr(char* pkgName, char* versionStr);
ACL_FUNC_VISIBILITY aclError aclsysGetVersionNum(char* pkgName, int32_t* versionNum);

/* ---- Devices ---- */

/* Makes the device's default context, which all threads share, this thread's current one. Counted:
 * Reset counts down, and at 0 finishes the work of that context and releases it with all its
 * streams and events; ResetForce does so whatever the count. A device that is not set: 507007. */
ACL_FUNC_VISIBILITY aclError aclrtSetDevice(int32_t deviceId);
ACL_FUNC_VISIBILITY aclError aclrtResetDevice(int32_t deviceId);
ACL_FUNC_VISIBILITY aclError aclrtResetDeviceForce(int32_t deviceId);

ACL_FUNC_VISIBILITY aclError aclrtGetDevice(int32_t* deviceId);
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceCount(uint32_t* count);
ACL_FUNC_VISIBILITY aclError aclrtGetRunMode(aclrtRunMode* runMode);

/* Finishes all work that was submitted to streams of the current device. timeout: milliseconds, -1
 * for ever; expired 507046. */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDevice(void);
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout);

/* Every device can access every other one's memory; a device is not its own peer. flags: 0. */
ACL_FUNC_VISIBILITY aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId,
                                                      int32_t peerDeviceId);
ACL_FUNC_VISIBILITY aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags);
ACL_FUNC_VISIBILITY aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId);

ACL_FUNC_VISIBILITY aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr,
                                                int64_t* value);
ACL_FUNC_VISIBILITY aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo,
                                                    int64_t* value);
ACL_FUNC_VISIBILITY aclError aclrtQueryDeviceStatus(int32_t deviceId,
                                                    aclrtDeviceStatus* deviceStatus);

/* ---- Contexts ---- */

/* The new context becomes this thread's current one. */
ACL_FUNC_VISIBILITY aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId);

/* Finishes its work and releases it with its streams and events. A device's default context goes
 * with aclrtResetDevice alone: 107000 here. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyContext(aclrtContext context);
ACL_FUNC_VISIBILITY aclError aclrtSetCurrentContext(aclrtContext context);
ACL_FUNC_VISIBILITY aclError aclrtGetCurrentContext(aclrtContext* context);
ACL_FUNC_VISIBILITY aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream);

/* flags: out, 0; may be null. active: out, 1 while the device is set, else 0. */
ACL_FUNC_VISIBILITY aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags,
                                                     int32_t* active);

/* Remembered and given back, of the current context and of the process. Results do not depend on
 * them: they are always deterministic. Never set: 107021. */
ACL_FUNC_VISIBILITY aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value);
ACL_FUNC_VISIBILITY aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value);
ACL_FUNC_VISIBILITY aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value);
ACL_FUNC_VISIBILITY aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value);

/* ---- Streams: null is the current context's default stream, where a stream is used ---- */

/* At most 1984 on a device: 207008. priority: any. flag: bits of ACL_STREAM_*. */
ACL_FUNC_VISIBILITY aclError aclrtCreateStream(aclrtStream* stream);
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority,
                                                         uint32_t flag);

/* Finishes the stream's work; Force drops what has not begun. Not of the current context: 107003. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStream(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamForce(aclrtStream stream);

/* Returns once, then forgets, the code of work that failed. timeout: milliseconds, -1 for ever, not
 * 0; expired 507046. */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStream(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);
ACL_FUNC_VISIBILITY aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status);
ACL_FUNC_VISIBILITY aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId);

/* What is submitted to the stream from now on runs after what the event stands for now; an event
 * that was never recorded is not waited for. timeout: milliseconds, -1 for ever, not 0; expired: the
 * stream's next synchronization answers 107019. */
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event,
                                                             int32_t timeout);

/* ---- Events ---- */

/* flag: bits of ACL_EVENT_*; every event measures time. */
ACL_FUNC_VISIBILITY aclError aclrtCreateEvent(aclrtEvent* event);
ACL_FUNC_VISIBILITY aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag);
ACL_FUNC_VISIBILITY aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag);
ACL_FUNC_VISIBILITY aclError aclrtDestroyEvent(aclrtEvent event);

/* Record: from now on the event stands for all work submitted to the stream so far. Reset: for
 * nothing, as if never recorded. */
ACL_FUNC_VISIBILITY aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);

/* Is that work done? An event that was never recorded is complete. WaitStatus: has the stream that
 * was last told to wait for the event got past that? */
ACL_DEPRECATED_MESSAGE("aclrtQueryEventStatus replaces it")
ACL_FUNC_VISIBILITY aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status);
ACL_FUNC_VISIBILITY aclError aclrtQueryEventStatus(aclrtEvent event,
                                                   aclrtEventRecordedStatus* status);
ACL_FUNC_VISIBILITY aclError aclrtQueryEventWaitStatus(aclrtEvent event,
                                                       aclrtEventWaitStatus* status);

/* timeout: milliseconds, -1 for ever; expired 507047. */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEvent(aclrtEvent event);
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);

/* ms: out, from start to end. Never recorded 507000, not complete 107006, end before start 107007. */
ACL_FUNC_VISIBILITY aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent,
                                                   aclrtEvent endEvent);

/* ---- Functions of the caller in a stream's order. They must not synchronize (207000). ---- */

ACL_FUNC_VISIBILITY aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args);

/* threadId: the thread (pthread_self) whose aclrtProcessReport runs the stream's callbacks. Twice:
 * 100033. Unsubscribing another thread than the stream's: 100035; none: 100034. */
ACL_FUNC_VISIBILITY aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream);

/* ACL_CALLBACK_NO_BLOCK: fn runs in aclrtProcessReport. ACL_CALLBACK_BLOCK: it runs in the stream's
 * order, in the thread that does the stream's work; aclrtProcessReport only hears of it. A stream
 * without subscription: 100034. */
ACL_FUNC_VISIBILITY aclError aclrtLaunchCallback(aclrtCallback fn, void* userData,
                                                 aclrtCallbackBlockType blockType,
                                                 aclrtStream stream);

/* Waits for one callback of the streams that this thread is subscribed to. timeout: milliseconds, -1
 * for ever; expired 100036. No subscription: 100035. */
ACL_FUNC_VISIBILITY aclError aclrtProcessReport(int32_t timeout);

/* ---- Memory ---- */

/* 64-byte aligned, size rounded up to a multiple of 32, not initialized; any policy. size 0: 100000;
 * more than the machine has: 207001. cfg: may be null. */
ACL_FUNC_VISIBILITY aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy);
ACL_FUNC_VISIBILITY aclError aclrtMallocAlign32(void** devPtr, size_t size,
                                                aclrtMemMallocPolicy policy);
ACL_FUNC_VISIBILITY aclError aclrtMallocCached(void** devPtr, size_t size,
                                               aclrtMemMallocPolicy policy);
ACL_FUNC_VISIBILITY aclError aclrtMallocWithCfg(void** devPtr, size_t size,
                                                aclrtMemMallocPolicy policy,
                                                aclrtMallocConfig* cfg);
ACL_FUNC_VISIBILITY aclError aclrtMallocHost(void** hostPtr, size_t size);

/* At once, without waiting for work that uses it; no context needed. Null: 100000. Not an address of
 * the function's own malloc, or freed before: 107000. */
ACL_FUNC_VISIBILITY aclError aclrtFree(void* devPtr);
ACL_FUNC_VISIBILITY aclError aclrtFreeHost(void* hostPtr);

/* kind is only a hint: addresses say where memory is. No bytes: success whatever the pointers. More
 * than destMax, or not inside one allocation: 107000. Source and destination may overlap. Does not
 * wait for streams. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                                         aclrtMemcpyKind kind);

/* In the stream's order. If a side is neither device memory nor from aclrtMallocHost, the call returns
 * after the copy. ACL_MEMCPY_HOST_TO_HOST: 207000. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src,
                                              size_t count, aclrtMemcpyKind kind,
                                              aclrtStream stream);

/* Fills count bytes with the low byte of value; maxCount as destMax above. */
ACL_FUNC_VISIBILITY aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value,
                                         size_t count);
ACL_FUNC_VISIBILITY aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value,
                                              size_t count, aclrtStream stream);

/* height rows of width bytes, whose beginnings are dpitch and spitch bytes apart. kind: host to
 * device, device to host, device to device, default. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch,
                                           size_t width, size_t height, aclrtMemcpyKind kind);
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src,
                                                size_t spitch, size_t width, size_t height,
                                                aclrtMemcpyKind kind, aclrtStream stream);

/* free, total: out, what can be had without swapping, and all memory of the machine, for any attr. */
ACL_FUNC_VISIBILITY aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total);

/* Freed device memory: 107000. */
ACL_FUNC_VISIBILITY aclError aclrtPointerGetAttributes(const void* ptr,
                                                       aclrtPtrAttributes* attributes);

/* devPtr: out, ptr itself. Registered twice, or unregistered without being registered: 107000. */
ACL_FUNC_VISIBILITY aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type,
                                               void** devPtr);
ACL_FUNC_VISIBILITY aclError aclrtHostUnregister(void* ptr);

/* Checked, and then nothing: host and device see the same memory. */
ACL_FUNC_VISIBILITY aclError aclrtMemFlush(void* devPtr, size_t size);
ACL_FUNC_VISIBILITY aclError aclrtMemInvalidate(void* devPtr, size_t size);

#ifdef __cplusplus
}
#endif

#endif
