// Events: created in the current context, which owns them; each stands for what its last recording
// marked.
#include "api/acl/runtime.h"
#include "kernels/float_environment.h"

namespace normgrad::api {
namespace {

int create(aclrtEvent* handle, std::uint32_t flag) {
  constexpr std::uint32_t kKnown = 0x7B;
  if (handle == nullptr) return refuse_null("event");
  if ((flag & ~kKnown) != 0) {
    return refuse(ACL_ERROR_RT_PARAM_INVALID, "flag is 0x%x, but only bits of 0x%x are known", flag,
                  kKnown);
  }
  return on_context([&](Context& context) -> int {
    const auto event = std::make_shared<Event>();
    if (!publish_event(event, context)) return refuse_no_context();
    *handle = event.get();
    return ACL_SUCCESS;
  });
}

int destroy(aclrtEvent handle) {
  if (handle == nullptr) return refuse_null("event");
  return take_event(handle) != nullptr ? ACL_SUCCESS : refuse_dead("event", handle);
}

std::shared_ptr<const Recording> recording_of(Event& event) {
  const std::lock_guard lock(event.mutex);
  return event.recording;
}

void set_recording(Event& event, std::shared_ptr<const Recording> recording) {
  const std::lock_guard lock(event.mutex);
  event.recording.swap(recording);
}

bool is_complete(Event& event) {
  const auto recording = recording_of(event);
  return recording == nullptr || recording->mark.poll(!in_user_function());
}

bool is_waited_for(Event& event) {
  Mark wait;
  {
    const std::lock_guard lock(event.mutex);
    wait = event.last_wait;
  }
  return !wait.poll(!in_user_function());
}

int synchronize(aclrtEvent handle, std::int32_t timeout) {
  return with_event("event", handle, [&](Event& event) {
    const int code = check_may_wait();
    if (code != ACL_SUCCESS) return code;
    const auto recording = recording_of(event);
    if (recording == nullptr) return ACL_SUCCESS;
    if (recording->mark.finish(deadline_in(timeout))) {
      return answer_failure(recording->mark.take_failure());
    }
    return refuse(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
                  "what event (%p) stands for was not done within timeout, %d ms", handle, timeout);
  });
}

struct WaitForMark : Work {
  WaitForMark(const Mark& mark, std::int32_t ms) : awaited(mark.awaited()), timeout(ms) {}
  Awaited* awaits() override {
    awaited.deadline = deadline_in(timeout);
    return &awaited;
  }
  int run() override {
    if (awaited.in_time) return ACL_SUCCESS;
    const EntryPoint entry_point("aclrtStreamWaitEventWithTimeout");
    return refuse(ACL_ERROR_RT_WAIT_TIMEOUT, "the event did not come within timeout, %d ms",
                  timeout);
  }
  Awaited awaited;
  const std::int32_t timeout;
};

// An inline stream has nothing to wait for: a recording is complete when it is made.
int wait(Stream& stream, aclrtEvent handle, std::int32_t timeout) {
  return with_event("event", handle, [&](Event& event) {
    const auto recording = recording_of(event);
    if (recording == nullptr || stream.is_inline()) return ACL_SUCCESS;
    auto mark = stream.submit(std::make_unique<WaitForMark>(recording->mark, timeout));
    if (!mark.has_value()) return refuse_dead("stream", &stream);
    const std::lock_guard lock(event.mutex);
    std::swap(event.last_wait, *mark);
    return ACL_SUCCESS;
  });
}

int check_recorded(const char* argument, const std::shared_ptr<const Recording>& recording) {
  if (recording == nullptr) {
    return refuse(ACL_ERROR_RT_INTERNAL_ERROR, "%s was never recorded (aclrtRecordEvent)",
                  argument);
  }
  if (!recording->mark.reached()) {
    return refuse(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                  "%s is not complete: synchronize first (aclrtSynchronizeEvent)", argument);
  }
  if (recording->moment.load() != Clock::time_point()) return ACL_SUCCESS;
  return refuse(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                "%s has no time: its stream was destroyed by force before it came", argument);
}

int elapsed(float* ms, Event& from, Event& to) {
  const auto start = recording_of(from);
  const auto end = recording_of(to);
  int code = check_recorded("startEvent", start);
  if (code == ACL_SUCCESS) code = check_recorded("endEvent", end);
  if (code != ACL_SUCCESS) return code;
  const auto time = end->moment.load() - start->moment.load();
  if (time < Clock::duration::zero()) {
    return refuse(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "endEvent came before startEvent");
  }
  const kernels::FloatEnvironment environment;
  *ms = std::chrono::duration<float, std::milli>(time).count();
  return ACL_SUCCESS;
}

}  // namespace
}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Stream;

aclError aclrtCreateEvent(aclrtEvent* event) {
  return entry(__func__, [&] { return create(event, 0); });
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return entry(__func__, [&] { return create(event, flag); });
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return entry(__func__, [&] { return create(event, flag); });
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  return entry(__func__, [&] { return destroy(event); });
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return entry(__func__, [&] {
    return with_event("event", event, [&](Event& found) {
      return on_stream(stream, [&](Stream& where) {
        auto recording = where.record();
        if (recording == nullptr) return refuse_dead("stream", stream);
        set_recording(found, std::move(recording));
        return ACL_SUCCESS;
      });
    });
  });
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return entry(__func__, [&] {
    return with_event("event", event, [&](Event& found) {
      return on_stream(stream, [&](Stream&) {
        set_recording(found, nullptr);
        return ACL_SUCCESS;
      });
    });
  });
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  return entry(__func__, [&] {
    if (status == nullptr) return refuse_null("status");
    return with_event("event", event, [&](Event& found) {
      *status = is_complete(found) ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
      return ACL_SUCCESS;
    });
  });
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  return entry(__func__, [&] {
    if (status == nullptr) return refuse_null("status");
    return with_event("event", event, [&](Event& found) {
      *status = is_complete(found) ? ACL_EVENT_RECORDED_STATUS_COMPLETE
                                   : ACL_EVENT_RECORDED_STATUS_NOT_READY;
      return ACL_SUCCESS;
    });
  });
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  return entry(__func__, [&] {
    if (status == nullptr) return refuse_null("status");
    return with_event("event", event, [&](Event& found) {
      *status =
          is_waited_for(found) ? ACL_EVENT_WAIT_STATUS_NOT_READY : ACL_EVENT_WAIT_STATUS_COMPLETE;
      return ACL_SUCCESS;
    });
  });
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return entry(__func__, [&] { return synchronize(event, -1); });
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  return entry(__func__, [&] {
    const int code = check_timeout(timeout);
    return code == ACL_SUCCESS ? synchronize(event, timeout) : code;
  });
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  return entry(__func__, [&] {
    if (ms == nullptr) return refuse_null("ms");
    return with_event("startEvent", startEvent, [&](Event& start) {
      return with_event("endEvent", endEvent, [&](Event& end) { return elapsed(ms, start, end); });
    });
  });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return entry(__func__, [&] {
    if (event == nullptr) return refuse_null("event");
    return on_stream(stream, [&](Stream& found) { return wait(found, event, -1); });
  });
}

aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout) {
  return entry(__func__, [&] {
    if (event == nullptr) return refuse_null("event");
    const int code = check_positive_timeout(timeout);
    if (code != ACL_SUCCESS) return code;
    return on_stream(stream, [&](Stream& found) { return wait(found, event, timeout); });
  });
}
