// Handles that libascendcl.so is given.
#include "handles/arguments.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // aclrtQueryEvent, which is here still

namespace handles {
namespace {

constexpr int kDead = ACL_ERROR_RT_INVALID_HANDLE, kNull = ACL_ERROR_INVALID_PARAM,
              kFreed = ACL_ERROR_RT_PARAM_INVALID;
constexpr auto kToDevice = ACL_MEMCPY_HOST_TO_DEVICE;

void nothing(void*) {}

// Null is the default stream, where no other answer is given.
Argument stream(const char* function, std::function<int(Zoo&, void*)> call,
                std::optional<int> null = 0) {
  return {function, "stream", {Kind::kStream}, kDead, null, std::move(call)};
}

std::vector<Argument> of_streams() {
  return {
      stream(
          "aclrtDestroyStream", [](Zoo&, void* h) { return aclrtDestroyStream(h); }, kNull),
      stream(
          "aclrtDestroyStreamForce", [](Zoo&, void* h) { return aclrtDestroyStreamForce(h); },
          kNull),
      stream("aclrtSynchronizeStream", [](Zoo&, void* h) { return aclrtSynchronizeStream(h); }),
      stream("aclrtSynchronizeStreamWithTimeout",
             [](Zoo&, void* h) { return aclrtSynchronizeStreamWithTimeout(h, 1000); }),
      stream("aclrtStreamQuery",
             [](Zoo&, void* h) {
               aclrtStreamStatus status;
               return aclrtStreamQuery(h, &status);
             }),
      stream("aclrtStreamGetId",
             [](Zoo&, void* h) {
               std::int32_t id = 0;
               return aclrtStreamGetId(h, &id);
             }),
      stream("aclrtStreamWaitEvent",
             [](Zoo& z, void* h) { return aclrtStreamWaitEvent(h, z.world.event); }),
      stream("aclrtStreamWaitEventWithTimeout",
             [](Zoo& z, void* h) { return aclrtStreamWaitEventWithTimeout(h, z.world.event, 9); }),
      stream("aclrtRecordEvent",
             [](Zoo& z, void* h) { return aclrtRecordEvent(z.world.event, h); }),
      stream("aclrtResetEvent", [](Zoo& z, void* h) { return aclrtResetEvent(z.world.event, h); }),
      stream("aclrtLaunchHostFunc",
             [](Zoo&, void* h) { return aclrtLaunchHostFunc(h, nothing, nullptr); }),
      stream(
          "aclrtSubscribeReport", [](Zoo&, void* h) { return aclrtSubscribeReport(1, h); },
          std::nullopt),
      stream(
          "aclrtUnSubscribeReport", [](Zoo&, void* h) { return aclrtUnSubscribeReport(1, h); },
          ACL_ERROR_STREAM_NOT_SUBSCRIBE),
      stream(
          "aclrtLaunchCallback",
          [](Zoo&, void* h) {
            return aclrtLaunchCallback(nothing, nullptr, ACL_CALLBACK_BLOCK, h);
          },
          ACL_ERROR_STREAM_NOT_SUBSCRIBE),
      stream("aclrtMemcpyAsync",
             [](Zoo& z, void* h) {
               return aclrtMemcpyAsync(z.world.memory, 8, z.world.pinned, 8, kToDevice, h);
             }),
      stream("aclrtMemsetAsync",
             [](Zoo& z, void* h) { return aclrtMemsetAsync(z.world.memory, 8, 1, 8, h); }),
      stream("aclrtMemcpy2dAsync",
             [](Zoo& z, void* h) {
               return aclrtMemcpy2dAsync(z.world.memory, 8, z.world.pinned, 8, 8, 2, kToDevice, h);
             }),
  };
}

Argument event(const char* function, const char* name, std::function<int(Zoo&, void*)> call) {
  return {function, name, {Kind::kEvent}, kDead, kNull, std::move(call)};
}

std::vector<Argument> of_events() {
  return {
      event("aclrtDestroyEvent", "event", [](Zoo&, void* h) { return aclrtDestroyEvent(h); }),
      event("aclrtRecordEvent", "event",
            [](Zoo& z, void* h) { return aclrtRecordEvent(h, z.world.stream); }),
      event("aclrtResetEvent", "event",
            [](Zoo& z, void* h) { return aclrtResetEvent(h, z.world.stream); }),
      event("aclrtQueryEvent", "event",
            [](Zoo&, void* h) {
              aclrtEventStatus status;
              return aclrtQueryEvent(h, &status);
            }),
      event("aclrtQueryEventStatus", "event",
            [](Zoo&, void* h) {
              aclrtEventRecordedStatus status;
              return aclrtQueryEventStatus(h, &status);
            }),
      event("aclrtQueryEventWaitStatus", "event",
            [](Zoo&, void* h) {
              aclrtEventWaitStatus status;
              return aclrtQueryEventWaitStatus(h, &status);
            }),
      event("aclrtSynchronizeEvent", "event",
            [](Zoo&, void* h) { return aclrtSynchronizeEvent(h); }),
      event("aclrtSynchronizeEventWithTimeout", "event",
            [](Zoo&, void* h) { return aclrtSynchronizeEventWithTimeout(h, 9); }),
      event("aclrtEventElapsedTime", "startEvent",
            [](Zoo& z, void* h) {
              float ms = 0;
              return aclrtEventElapsedTime(&ms, h, z.world.event);
            }),
      event("aclrtEventElapsedTime", "endEvent",
            [](Zoo& z, void* h) {
              float ms = 0;
              return aclrtEventElapsedTime(&ms, z.world.event, h);
            }),
      event("aclrtStreamWaitEvent", "event",
            [](Zoo& z, void* h) { return aclrtStreamWaitEvent(z.world.stream, h); }),
      event("aclrtStreamWaitEventWithTimeout", "event",
            [](Zoo& z, void* h) { return aclrtStreamWaitEventWithTimeout(z.world.stream, h, 9); }),
  };
}

// Of an address and of a size there is nothing but 0 to answer with; a refusal leaves the code behind.
template <class Get>
int code_of(Get&& get) {
  aclrtGetLastError(ACL_RT_THREAD_LEVEL);
  if (get() != decltype(get()){}) return -1;
  return aclrtGetLastError(ACL_RT_THREAD_LEVEL);
}

std::vector<Argument> of_contexts_and_buffers() {
  const std::set<Kind> context = {Kind::kContext}, buffer = {Kind::kBuffer};
  return {
      {"aclrtDestroyContext", "context", context, kDead, kNull,
       [](Zoo&, void* h) { return aclrtDestroyContext(h); }},
      {"aclrtSetCurrentContext", "context", context, kDead, kNull,
       [](Zoo&, void* h) { return aclrtSetCurrentContext(h); }},
      {"aclDestroyDataBuffer", "dataBuffer", buffer, kDead, kNull,
       [](Zoo&, void* h) { return aclDestroyDataBuffer(as<aclDataBuffer>(h)); }},
      {"aclUpdateDataBuffer", "dataBuffer", buffer, kDead, kNull,
       [](Zoo&, void* h) { return aclUpdateDataBuffer(as<aclDataBuffer>(h), nullptr, 1); }},
      {"aclGetDataBufferAddr", "dataBuffer", buffer, kDead, kNull,
       [](Zoo&, void* h) {
         return code_of([&] { return aclGetDataBufferAddr(as<aclDataBuffer>(h)); });
       }},
      {"aclGetDataBufferSize", "dataBuffer", buffer, kDead, kNull,
       [](Zoo&, void* h) {
         return code_of([&] { return aclGetDataBufferSize(as<aclDataBuffer>(h)); });
       }},
      {"aclGetDataBufferSizeV2", "dataBuffer", buffer, kDead, kNull,
       [](Zoo&, void* h) {
         return code_of([&] { return aclGetDataBufferSizeV2(as<aclDataBuffer>(h)); });
       }},
      {"aclrtFree",
       "devPtr",
       {Kind::kMemory},
       kFreed,
       kNull,
       [](Zoo&, void* h) { return aclrtFree(h); }},
      {"aclrtFreeHost",
       "hostPtr",
       {Kind::kPinned},
       kFreed,
       kNull,
       [](Zoo&, void* h) { return aclrtFreeHost(h); }},
      {"aclrtHostUnregister",
       "ptr",
       {},
       kFreed,
       kNull,
       [](Zoo&, void* h) { return aclrtHostUnregister(h); }},
  };
}

}  // namespace

std::vector<Argument> acl_arguments() {
  std::vector<Argument> all = of_streams();
  for (const auto& more : {of_events(), of_contexts_and_buffers()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace handles
