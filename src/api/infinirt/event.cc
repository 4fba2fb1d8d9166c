#include "api/infinirt/event.h"

#include "kernels/float_environment.h"

namespace normgrad::api {
namespace {

Status create(infinirtEvent_t* event_ptr, std::uint32_t flags) {
  constexpr std::uint32_t kKnown = INFINIRT_EVENT_DISABLE_TIMING | INFINIRT_EVENT_BLOCKING_SYNC;
  if (event_ptr == nullptr) return null_pointer("event_ptr");
  if ((flags & ~kKnown) != 0) {
    return fail(Status::kBadParam, "flags is %u, but only bits of %u are known", flags, kKnown);
  }
  auto event = std::make_unique<Event>();
  event->flags = flags;
  publish(std::move(event), event_ptr);
  return Status::kOk;
}

Status record(Event& event) {
  event.moment = Event::Clock::now();
  event.recorded = true;
  return Status::kOk;
}

Status check_timed(const char* argument, const Event& event) {
  if ((event.flags & INFINIRT_EVENT_DISABLE_TIMING) != 0) {
    return fail(Status::kBadParam, "%s was created with INFINIRT_EVENT_DISABLE_TIMING", argument);
  }
  if (event.recorded) return Status::kOk;
  return fail(Status::kBadParam, "%s was never recorded (infinirtEventRecord)", argument);
}

Status elapsed(float* ms_ptr, const Event& start, const Event& end) {
  Status status = check_timed("start", start);
  if (status == Status::kOk) status = check_timed("end", end);
  if (status != Status::kOk) return status;
  const kernels::FloatEnvironment environment;
  *ms_ptr =
      std::chrono::duration<float, std::milli>(end.moment.load() - start.moment.load()).count();
  return Status::kOk;
}

}  // namespace
}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Status;

infiniStatus_t infinirtEventCreate(infinirtEvent_t* event_ptr) {
  return entry_on_current_device(__func__,
                                 [&] { return create(event_ptr, INFINIRT_EVENT_DEFAULT); });
}

infiniStatus_t infinirtEventCreateWithFlags(infinirtEvent_t* event_ptr, uint32_t flags) {
  return entry_on_current_device(__func__, [&] { return create(event_ptr, flags); });
}

infiniStatus_t infinirtEventRecord(infinirtEvent_t event, infinirtStream_t stream) {
  return entry_on_stream(__func__, stream, [&] { return with_event("event", event, record); });
}

infiniStatus_t infinirtEventQuery(infinirtEvent_t event, infinirtEventStatus_t* status_ptr) {
  return entry_on_current_device(__func__, [&] {
    return with_event("event", event, [&](Event&) {
      if (status_ptr == nullptr) return null_pointer("status_ptr");
      *status_ptr = INFINIRT_EVENT_COMPLETE;
      return Status::kOk;
    });
  });
}

infiniStatus_t infinirtEventSynchronize(infinirtEvent_t event) {
  return entry_on_current_device(
      __func__, [&] { return with_event("event", event, [](Event&) { return Status::kOk; }); });
}

infiniStatus_t infinirtEventDestroy(infinirtEvent_t event) {
  return entry_on_current_device(__func__, [&] { return destroy<Event>("event", event); });
}

infiniStatus_t infinirtEventElapsedTime(float* ms_ptr, infinirtEvent_t start, infinirtEvent_t end) {
  return entry_on_current_device(__func__, [&] {
    if (ms_ptr == nullptr) return null_pointer("ms_ptr");
    return with_event("start", start, [&](Event& from) {
      return with_event("end", end, [&](Event& to) { return elapsed(ms_ptr, from, to); });
    });
  });
}
