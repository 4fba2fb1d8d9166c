// The calls of libascendcl.so to streams, events and memory.
#include <pthread.h>

#include "calls/world.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // aclrtQueryEvent, which is here still

namespace calls {
namespace {

using W = World&;

void nothing(void*) {}
std::uint64_t this_thread() { return static_cast<std::uint64_t>(::pthread_self()); }

// Work that was submitted runs out of nothing: it is done after the call.
template <class Body>
void submits(W w, Body&& body) {
  w.may_fail(body);
  w.settle();
}

template <class Destroy>
void destroys_stream(W w, Destroy&& destroy) {
  aclrtStream made = nullptr;
  w.must(aclrtCreateStream(&made));
  w.succeeds([&] { return destroy(made); });
}

std::vector<Entry> of_streams() {
  return {
      {"aclrtCreateStream", [](W w) { w.makes<void>(aclrtCreateStream, aclrtDestroyStream); }},
      {"aclrtCreateStreamWithConfig",
       [](W w) {
         w.makes<void>(
             [](auto made) { return aclrtCreateStreamWithConfig(made, 0, ACL_STREAM_FAST_LAUNCH); },
             aclrtDestroyStream);
       }},
      {"aclrtDestroyStream", [](W w) { destroys_stream(w, aclrtDestroyStream); }},
      {"aclrtDestroyStreamForce", [](W w) { destroys_stream(w, aclrtDestroyStreamForce); }},
      {"aclrtSynchronizeStream",
       [](W w) { w.succeeds([&] { return aclrtSynchronizeStream(w.stream); }); }},
      {"aclrtSynchronizeStreamWithTimeout",
       [](W w) { w.succeeds([&] { return aclrtSynchronizeStreamWithTimeout(w.stream, 10000); }); }},
      {"aclrtStreamQuery",
       [](W w) {
         aclrtStreamStatus status;
         w.succeeds([&] { return aclrtStreamQuery(w.stream, &status); });
       }},
      {"aclrtStreamGetId",
       [](W w) {
         std::int32_t id = 0;
         w.succeeds([&] { return aclrtStreamGetId(w.stream, &id); });
       }},
      {"aclrtStreamWaitEvent",
       [](W w) { submits(w, [&] { return aclrtStreamWaitEvent(w.stream, w.event); }); }},
      {"aclrtStreamWaitEventWithTimeout",
       [](W w) {
         submits(w, [&] { return aclrtStreamWaitEventWithTimeout(w.stream, w.event, 10000); });
       }},
  };
}

std::vector<Entry> of_events() {
  return {
      {"aclrtCreateEvent", [](W w) { w.makes<void>(aclrtCreateEvent, aclrtDestroyEvent); }},
      {"aclrtCreateEventWithFlag",
       [](W w) {
         w.makes<void>([](auto made) { return aclrtCreateEventWithFlag(made, ACL_EVENT_SYNC); },
                       aclrtDestroyEvent);
       }},
      {"aclrtCreateEventExWithFlag",
       [](W w) {
         w.makes<void>([](auto made) { return aclrtCreateEventExWithFlag(made, ACL_EVENT_SYNC); },
                       aclrtDestroyEvent);
       }},
      {"aclrtDestroyEvent",
       [](W w) {
         aclrtEvent made = nullptr;
         w.must(aclrtCreateEvent(&made));
         w.succeeds([&] { return aclrtDestroyEvent(made); });
       }},
      {"aclrtRecordEvent",
       [](W w) { submits(w, [&] { return aclrtRecordEvent(w.event, w.stream); }); }},
      {"aclrtResetEvent",
       [](W w) { w.succeeds([&] { return aclrtResetEvent(w.event, w.stream); }); }},
      {"aclrtQueryEvent",
       [](W w) {
         aclrtEventStatus status;
         w.succeeds([&] { return aclrtQueryEvent(w.event, &status); });
       }},
      {"aclrtQueryEventStatus",
       [](W w) {
         aclrtEventRecordedStatus status;
         w.succeeds([&] { return aclrtQueryEventStatus(w.event, &status); });
       }},
      {"aclrtQueryEventWaitStatus",
       [](W w) {
         aclrtEventWaitStatus status;
         w.succeeds([&] { return aclrtQueryEventWaitStatus(w.event, &status); });
       }},
      {"aclrtSynchronizeEvent",
       [](W w) { w.succeeds([&] { return aclrtSynchronizeEvent(w.event); }); }},
      {"aclrtSynchronizeEventWithTimeout",
       [](W w) { w.succeeds([&] { return aclrtSynchronizeEventWithTimeout(w.event, 10000); }); }},
      {"aclrtEventElapsedTime",
       [](W w) {
         w.must(aclrtRecordEvent(w.event, w.stream));
         w.must(aclrtSynchronizeEvent(w.event));
         float ms = 0;
         w.succeeds([&] { return aclrtEventElapsedTime(&ms, w.event, w.event); });
       }},
  };
}

std::vector<Entry> of_functions() {
  return {
      {"aclrtLaunchHostFunc",
       [](W w) { submits(w, [&] { return aclrtLaunchHostFunc(w.stream, nothing, nullptr); }); }},
      {"aclrtSubscribeReport",
       [](W w) {
         if (w.may_fail([&] { return aclrtSubscribeReport(this_thread(), w.stream); })) {
           w.must(aclrtUnSubscribeReport(this_thread(), w.stream));
         }
       }},
      {"aclrtUnSubscribeReport",
       [](W w) {
         w.must(aclrtSubscribeReport(this_thread(), w.stream));
         w.succeeds([&] { return aclrtUnSubscribeReport(this_thread(), w.stream); });
       }},
      {"aclrtLaunchCallback",
       [](W w) {
         w.must(aclrtSubscribeReport(this_thread(), w.stream));
         submits(w, [&] {
           return aclrtLaunchCallback(nothing, nullptr, ACL_CALLBACK_NO_BLOCK, w.stream);
         });
         w.must(aclrtUnSubscribeReport(this_thread(), w.stream));
       }},
      {"aclrtProcessReport",
       [](W w) {
         w.must(aclrtSubscribeReport(this_thread(), w.stream));
         w.must(aclrtLaunchCallback(nothing, nullptr, ACL_CALLBACK_NO_BLOCK, w.stream));
         w.must(aclrtSynchronizeStream(w.stream));
         w.succeeds([] { return aclrtProcessReport(10000); });
         w.must(aclrtUnSubscribeReport(this_thread(), w.stream));
       }},
  };
}

constexpr auto kPolicy = ACL_MEM_MALLOC_HUGE_FIRST;
constexpr auto kToDevice = ACL_MEMCPY_HOST_TO_DEVICE;

template <class Allocate>
void allocates(W w, Allocate&& allocate) {
  w.makes<void>([&](void** made) { return allocate(made, w.device_bytes(), kPolicy); }, aclrtFree);
}

std::vector<Entry> of_allocation() {
  return {
      {"aclrtMalloc", [](W w) { allocates(w, aclrtMalloc); }},
      {"aclrtMallocAlign32", [](W w) { allocates(w, aclrtMallocAlign32); }},
      {"aclrtMallocCached", [](W w) { allocates(w, aclrtMallocCached); }},
      {"aclrtMallocWithCfg",
       [](W w) {
         allocates(w, [](auto made, auto bytes, auto policy) {
           return aclrtMallocWithCfg(made, bytes, policy, nullptr);
         });
       }},
      {"aclrtMallocHost",
       [](W w) {
         w.makes<void>([&](auto made) { return aclrtMallocHost(made, w.device_bytes()); },
                       aclrtFreeHost);
       }},
      {"aclrtFree",
       [](W w) {
         void* made = nullptr;
         w.must(aclrtMalloc(&made, 256, kPolicy));
         w.succeeds([&] { return aclrtFree(made); });
       }},
      {"aclrtFreeHost",
       [](W w) {
         void* made = nullptr;
         w.must(aclrtMallocHost(&made, 256));
         w.succeeds([&] { return aclrtFreeHost(made); });
       }},
      {"aclrtGetMemInfo",
       [](W w) {
         std::size_t sizes[2];
         w.may_fail([&] { return aclrtGetMemInfo(ACL_HBM_MEM, sizes, sizes + 1); });
       }},
      {"aclrtPointerGetAttributes",
       [](W w) {
         aclrtPtrAttributes attributes;
         w.succeeds([&] { return aclrtPointerGetAttributes(w.memory, &attributes); });
       }},
      {"aclrtHostRegister",
       [](W w) {
         void* const where = w.values[0];
         w.makes<void>(
             [&](auto made) {
               return aclrtHostRegister(where, 64, ACL_HOST_REGISTER_MAPPED, made);
             },
             aclrtHostUnregister);
       }},
      {"aclrtHostUnregister",
       [](W w) {
         void* made = nullptr;
         w.must(aclrtHostRegister(w.values[0], 64, ACL_HOST_REGISTER_MAPPED, &made));
         w.succeeds([&] { return aclrtHostUnregister(w.values[0]); });
       }},
      {"aclrtMemFlush", [](W w) { w.succeeds([&] { return aclrtMemFlush(w.memory, 256); }); }},
      {"aclrtMemInvalidate",
       [](W w) { w.succeeds([&] { return aclrtMemInvalidate(w.memory, 256); }); }},
  };
}

std::vector<Entry> of_copies() {
  return {
      {"aclrtMemcpy",
       [](W w) {
         w.succeeds([&] { return aclrtMemcpy(w.memory, 256, w.values[0], 240, kToDevice); });
       }},
      {"aclrtMemcpyAsync",
       [](W w) {
         submits(w, [&] {
           return aclrtMemcpyAsync(w.memory, 256, w.pinned, 240, kToDevice, w.stream);
         });
       }},
      {"aclrtMemset", [](W w) { w.succeeds([&] { return aclrtMemset(w.memory, 256, 1, 256); }); }},
      {"aclrtMemsetAsync",
       [](W w) { submits(w, [&] { return aclrtMemsetAsync(w.memory, 256, 1, 256, w.stream); }); }},
      {"aclrtMemcpy2d",
       [](W w) {
         w.succeeds([&] { return aclrtMemcpy2d(w.memory, 64, w.pinned, 64, 32, 4, kToDevice); });
       }},
      {"aclrtMemcpy2dAsync",
       [](W w) {
         submits(w, [&] {
           return aclrtMemcpy2dAsync(w.memory, 64, w.pinned, 64, 32, 4, kToDevice, w.stream);
         });
       }},
  };
}

}  // namespace

std::vector<Entry> stream_calls() {
  std::vector<Entry> all = of_streams();
  for (const auto& more : {of_events(), of_functions()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::vector<Entry> memory_calls() {
  std::vector<Entry> all = of_allocation();
  for (const Entry& more : of_copies()) all.push_back(more);
  return all;
}

}  // namespace calls
