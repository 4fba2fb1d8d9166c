// Streams. Work is done when the call that asks for it returns, so there is nothing to keep or to
// wait for: the one stream is null, as in InfiniCore's own CPU runtime.
#include "api/infinirt/entry.h"
#include "api/infinirt/event.h"

namespace normgrad::api {

Status check_stream(infinirtStream_t stream) {
  if (stream == nullptr) return Status::kOk;
  return fail(Status::kBadParam,
              "stream (%p) was not created by this library, whose streams are null", stream);
}

}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Status;

infiniStatus_t infinirtStreamCreate(infinirtStream_t* stream_ptr) {
  return entry_on_current_device(__func__, [&] {
    if (stream_ptr == nullptr) return null_pointer("stream_ptr");
    *stream_ptr = nullptr;
    return Status::kOk;
  });
}

infiniStatus_t infinirtStreamDestroy(infinirtStream_t stream) {
  return entry_on_stream(__func__, stream, [] { return Status::kOk; });
}

infiniStatus_t infinirtStreamSynchronize(infinirtStream_t stream) {
  return entry_on_stream(__func__, stream, [] { return Status::kOk; });
}

infiniStatus_t infinirtStreamWaitEvent(infinirtStream_t stream, infinirtEvent_t event) {
  return entry_on_stream(__func__, stream, [&] {
    return with_event("event", event, [](Event&) { return Status::kOk; });
  });
}
