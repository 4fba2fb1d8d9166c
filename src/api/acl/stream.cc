// Streams: created in the current context, which owns them; synchronized and asked.
#include "api/acl/report.h"
#include "api/acl/runtime.h"

namespace normgrad::api {
namespace {

constexpr std::size_t kMostStreams = 1984;  // of a device, the default streams not counted

std::size_t count_streams(int device) {
  std::size_t count = 0;
  for (const std::shared_ptr<Context>& context : all_contexts()) {
    if (context->device != device) continue;
    const std::lock_guard lock(context->mutex);
    count += context->streams.size();
  }
  return count;
}

int create(Context& context, aclrtStream* handle) {
  if (count_streams(context.device) >= kMostStreams) {
    return refuse(ACL_ERROR_RT_NO_STREAM_RESOURCE,
                  "device %d has %zu streams, and can have no more: destroy some", context.device,
                  kMostStreams);
  }
  const std::lock_guard lock(context.mutex);
  if (context.closed) return refuse_no_context();
  const std::shared_ptr<Stream> stream = publish_stream(environment().streams);
  context.streams.emplace(stream.get(), stream);
  *handle = stream.get();
  return ACL_SUCCESS;
}

int check_flags(std::uint32_t flag) {
  constexpr std::uint32_t kKnown = 0x3F;
  if ((flag & ~kKnown) == 0) return ACL_SUCCESS;
  return refuse(ACL_ERROR_RT_PARAM_INVALID, "flag is 0x%x, but only bits of 0x%x are known", flag,
                kKnown);
}

// The caller holds the lock of the context, in whose books the stream is not.
int refuse_to_destroy(const Context& context, aclrtStream handle) {
  if (context.default_stream.get() == handle) {
    return refuse(ACL_ERROR_RT_PARAM_INVALID,
                  "stream (%p) is the default stream of its context, and goes with it", handle);
  }
  if (find_stream(handle) == nullptr) return refuse_dead("stream", handle);
  return refuse(ACL_ERROR_RT_STREAM_CONTEXT, "stream (%p) is not of this thread's current context",
                handle);
}

// Takes it out of the context's books, and its handle is dead.
int take(Context& context, aclrtStream handle, std::shared_ptr<Stream>* stream) {
  const std::lock_guard lock(context.mutex);
  if (context.closed) return refuse_no_context();
  auto entry = context.streams.extract(handle);
  if (entry.empty()) return refuse_to_destroy(context, handle);
  unpublish_stream(handle);
  *stream = std::move(entry.mapped());
  return ACL_SUCCESS;
}

int destroy(aclrtStream handle, bool force) {
  if (handle == nullptr) return refuse_null("stream");
  return on_context([&](Context& context) {
    int code = check_may_wait();
    std::shared_ptr<Stream> stream;
    if (code == ACL_SUCCESS) code = take(context, handle, &stream);
    if (code != ACL_SUCCESS) return code;
    end_subscription(*stream);
    if (force) stream->drop();
    stream->close();
    return answer_failure(stream->end().take_failure());
  });
}

int synchronize(Stream& stream, std::int32_t timeout) {
  const int code = check_may_wait();
  if (code != ACL_SUCCESS) return code;
  const Mark end = stream.end();
  if (end.finish(deadline_in(timeout))) return answer_failure(end.take_failure());
  return refuse(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
                "work of stream %d was not done within timeout, %d ms", stream.id(), timeout);
}

}  // namespace
}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Stream;

aclError aclrtCreateStream(aclrtStream* stream) {
  return entry(__func__, [&] {
    if (stream == nullptr) return refuse_null("stream");
    return on_context([&](Context& context) { return create(context, stream); });
  });
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t, uint32_t flag) {
  return entry(__func__, [&] {
    if (stream == nullptr) return refuse_null("stream");
    const int code = check_flags(flag);
    if (code != ACL_SUCCESS) return code;
    return on_context([&](Context& context) { return create(context, stream); });
  });
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return entry(__func__, [&] { return destroy(stream, false); });
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return entry(__func__, [&] { return destroy(stream, true); });
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return entry(__func__, [&] {
    return on_stream(stream, [](Stream& found) { return synchronize(found, -1); });
  });
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  return entry(__func__, [&] {
    const int code = check_positive_timeout(timeout);
    if (code != ACL_SUCCESS) return code;
    return on_stream(stream, [&](Stream& found) { return synchronize(found, timeout); });
  });
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  return entry(__func__, [&] {
    if (status == nullptr) return refuse_null("status");
    return on_stream(stream, [&](Stream& found) {
      const bool done = found.end().poll(!in_user_function());
      *status = done ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
      return ACL_SUCCESS;
    });
  });
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId) {
  return entry(__func__, [&] {
    if (streamId == nullptr) return refuse_null("streamId");
    return on_stream(stream, [&](Stream& found) {
      *streamId = found.id();
      return ACL_SUCCESS;
    });
  });
}
