// Bad calls to streams, events, host functions and callbacks.
#include "api/acl/world.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // aclrtQueryEvent, which is here still

namespace acl_test {
namespace {

using W = World&;

void never(void*) { ADD_FAILURE() << "a function of a refused call ran"; }

std::vector<Provocation> of_streams() {
  return {
      {"aclrtCreateStream", 100000, "stream", [](W) { return aclrtCreateStream(nullptr); }},
      {"aclrtCreateStream", 107002, "context",
       [](W w) { return aclrtCreateStream(&w.out.pointer); }, true},
      {"aclrtCreateStreamWithConfig", 100000, "stream",
       [](W) { return aclrtCreateStreamWithConfig(nullptr, 0, 0); }},
      {"aclrtCreateStreamWithConfig", 107000, "flag",
       [](W w) { return aclrtCreateStreamWithConfig(&w.out.pointer, 0, 0x40); }},
      {"aclrtDestroyStream", 100000, "stream", [](W) { return aclrtDestroyStream(nullptr); }},
      {"aclrtDestroyStream", 107017, "stream",
       [](W w) { return aclrtDestroyStream(w.dead_stream); }},
      {"aclrtDestroyStream", 107017, "stream", [](W w) { return aclrtDestroyStream(w.event); }},
      {"aclrtDestroyStream", 107017, "stream",
       [](W w) { return aclrtDestroyStream(w.host.data()); }},
      {"aclrtDestroyStream", 107003, "stream",
       [](W w) { return aclrtDestroyStream(w.foreign_stream); }},
      {"aclrtDestroyStream", 107000, "default stream",
       [](W w) { return aclrtDestroyStream(w.default_stream); }},
      {"aclrtDestroyStream", 107002, "context", [](W w) { return aclrtDestroyStream(w.stream); },
       true},
      {"aclrtDestroyStreamForce", 100000, "stream",
       [](W) { return aclrtDestroyStreamForce(nullptr); }},
      {"aclrtDestroyStreamForce", 107017, "stream",
       [](W w) { return aclrtDestroyStreamForce(w.dead_stream); }},
      {"aclrtSynchronizeStream", 107002, "context",
       [](W) { return aclrtSynchronizeStream(nullptr); }, true},
      {"aclrtSynchronizeStream", 107017, "stream",
       [](W w) { return aclrtSynchronizeStream(w.dead_stream); }},
      {"aclrtSynchronizeStream", 107017, "stream",
       [](W w) { return aclrtSynchronizeStream(w.memory); }},
      {"aclrtSynchronizeStreamWithTimeout", 107000, "timeout is 0",
       [](W w) { return aclrtSynchronizeStreamWithTimeout(w.stream, 0); }},
      {"aclrtSynchronizeStreamWithTimeout", 107000, "timeout is -2",
       [](W w) { return aclrtSynchronizeStreamWithTimeout(w.stream, -2); }},
      {"aclrtSynchronizeStreamWithTimeout", 107017, "stream",
       [](W w) { return aclrtSynchronizeStreamWithTimeout(w.dead_stream, 1); }},
      {"aclrtStreamQuery", 100000, "status",
       [](W w) { return aclrtStreamQuery(w.stream, nullptr); }},
      {"aclrtStreamQuery", 107017, "stream",
       [](W w) { return aclrtStreamQuery(w.dead_stream, &w.out.stream_status); }},
      {"aclrtStreamGetId", 100000, "streamId",
       [](W w) { return aclrtStreamGetId(w.stream, nullptr); }},
      {"aclrtStreamGetId", 107017, "stream",
       [](W w) { return aclrtStreamGetId(w.dead_event, &w.out.i32[0]); }},
      {"aclrtStreamWaitEvent", 100000, "event",
       [](W w) { return aclrtStreamWaitEvent(w.stream, nullptr); }},
      {"aclrtStreamWaitEvent", 107017, "event",
       [](W w) { return aclrtStreamWaitEvent(w.stream, w.dead_event); }},
      {"aclrtStreamWaitEvent", 107017, "stream",
       [](W w) { return aclrtStreamWaitEvent(w.dead_stream, w.event); }},
      {"aclrtStreamWaitEventWithTimeout", 107000, "timeout",
       [](W w) { return aclrtStreamWaitEventWithTimeout(w.stream, w.event, 0); }},
      {"aclrtStreamWaitEventWithTimeout", 100000, "event",
       [](W w) { return aclrtStreamWaitEventWithTimeout(w.stream, nullptr, 1); }},
  };
}

std::vector<Provocation> of_events() {
  return {
      {"aclrtCreateEvent", 100000, "event", [](W) { return aclrtCreateEvent(nullptr); }},
      {"aclrtCreateEvent", 107002, "context", [](W w) { return aclrtCreateEvent(&w.out.pointer); },
       true},
      {"aclrtCreateEventWithFlag", 100000, "event",
       [](W) { return aclrtCreateEventWithFlag(nullptr, ACL_EVENT_SYNC); }},
      {"aclrtCreateEventWithFlag", 107000, "flag",
       [](W w) { return aclrtCreateEventWithFlag(&w.out.pointer, 0x80); }},
      {"aclrtCreateEventExWithFlag", 107000, "flag",
       [](W w) { return aclrtCreateEventExWithFlag(&w.out.pointer, UINT32_MAX); }},
      {"aclrtDestroyEvent", 100000, "event", [](W) { return aclrtDestroyEvent(nullptr); }},
      {"aclrtDestroyEvent", 107017, "event", [](W w) { return aclrtDestroyEvent(w.dead_event); }},
      {"aclrtDestroyEvent", 107017, "event", [](W w) { return aclrtDestroyEvent(w.stream); }},
      {"aclrtRecordEvent", 100000, "event",
       [](W w) { return aclrtRecordEvent(nullptr, w.stream); }},
      {"aclrtRecordEvent", 107017, "event",
       [](W w) { return aclrtRecordEvent(w.dead_event, w.stream); }},
      {"aclrtRecordEvent", 107017, "stream",
       [](W w) { return aclrtRecordEvent(w.new_event, w.dead_stream); }},
      {"aclrtRecordEvent", 107002, "context",
       [](W w) { return aclrtRecordEvent(w.new_event, nullptr); }, true},
      {"aclrtResetEvent", 100000, "event", [](W w) { return aclrtResetEvent(nullptr, w.stream); }},
      {"aclrtResetEvent", 107017, "stream",
       [](W w) { return aclrtResetEvent(w.event, w.dead_stream); }},
      {"aclrtQueryEvent", 100000, "status", [](W w) { return aclrtQueryEvent(w.event, nullptr); }},
      {"aclrtQueryEvent", 100000, "event",
       [](W w) { return aclrtQueryEvent(nullptr, &w.out.event_status); }},
      {"aclrtQueryEventStatus", 100000, "status",
       [](W w) { return aclrtQueryEventStatus(w.event, nullptr); }},
      {"aclrtQueryEventStatus", 107017, "event",
       [](W w) { return aclrtQueryEventStatus(w.dead_event, &w.out.recorded_status); }},
      {"aclrtQueryEventWaitStatus", 100000, "status",
       [](W w) { return aclrtQueryEventWaitStatus(w.event, nullptr); }},
      {"aclrtQueryEventWaitStatus", 107017, "event",
       [](W w) { return aclrtQueryEventWaitStatus(w.stream, &w.out.wait_status); }},
      {"aclrtSynchronizeEvent", 100000, "event", [](W) { return aclrtSynchronizeEvent(nullptr); }},
      {"aclrtSynchronizeEvent", 107017, "event",
       [](W w) { return aclrtSynchronizeEvent(w.dead_event); }},
      {"aclrtSynchronizeEventWithTimeout", 107000, "timeout",
       [](W w) { return aclrtSynchronizeEventWithTimeout(w.event, -2); }},
      {"aclrtEventElapsedTime", 100000, "ms",
       [](W w) { return aclrtEventElapsedTime(nullptr, w.event, w.event); }},
      {"aclrtEventElapsedTime", 100000, "startEvent",
       [](W w) { return aclrtEventElapsedTime(&w.out.number, nullptr, w.event); }},
      {"aclrtEventElapsedTime", 100000, "endEvent",
       [](W w) { return aclrtEventElapsedTime(&w.out.number, w.event, nullptr); }},
      {"aclrtEventElapsedTime", 107017, "startEvent",
       [](W w) { return aclrtEventElapsedTime(&w.out.number, w.dead_event, w.event); }},
      {"aclrtEventElapsedTime", 507000, "endEvent was never recorded",
       [](W w) { return aclrtEventElapsedTime(&w.out.number, w.event, w.new_event); }},
  };
}

std::vector<Provocation> of_functions() {
  return {
      {"aclrtLaunchHostFunc", 100000, "fn",
       [](W w) { return aclrtLaunchHostFunc(w.stream, nullptr, nullptr); }},
      {"aclrtLaunchHostFunc", 107017, "stream",
       [](W w) { return aclrtLaunchHostFunc(w.dead_stream, never, nullptr); }},
      {"aclrtLaunchHostFunc", 107002, "context",
       [](W) { return aclrtLaunchHostFunc(nullptr, never, nullptr); }, true},
      {"aclrtLaunchCallback", 100000, "fn",
       [](W w) { return aclrtLaunchCallback(nullptr, nullptr, ACL_CALLBACK_BLOCK, w.stream); }},
      {"aclrtLaunchCallback", 100000, "blockType",
       [](W w) {
         return aclrtLaunchCallback(never, nullptr, as<aclrtCallbackBlockType>(2), w.stream);
       }},
      {"aclrtLaunchCallback", 100034, "aclrtSubscribeReport",
       [](W w) { return aclrtLaunchCallback(never, nullptr, ACL_CALLBACK_BLOCK, w.stream); }},
      {"aclrtLaunchCallback", 107017, "stream",
       [](W w) { return aclrtLaunchCallback(never, nullptr, ACL_CALLBACK_BLOCK, w.dead_stream); }},
      {"aclrtSubscribeReport", 107017, "stream",
       [](W w) { return aclrtSubscribeReport(1, w.dead_stream); }},
      {"aclrtUnSubscribeReport", 100034, "stream",
       [](W w) { return aclrtUnSubscribeReport(1, w.stream); }},
      {"aclrtProcessReport", 100035, "aclrtSubscribeReport",
       [](W) { return aclrtProcessReport(1); }},
      {"aclrtProcessReport", 107000, "timeout", [](W) { return aclrtProcessReport(-2); }},
  };
}

}  // namespace

std::vector<Provocation> stream_provocations() {
  std::vector<Provocation> all = of_streams();
  for (const auto& more : {of_events(), of_functions()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace acl_test
