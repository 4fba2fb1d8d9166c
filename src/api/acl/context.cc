// Contexts: what a thread works in. Each has a default stream, and owns the streams and events that
// were created in it.
#include "api/acl/runtime.h"

namespace normgrad::api {
namespace {

int destroy(const std::shared_ptr<Context>& context) {
  if (context->is_primary) {
    return refuse(ACL_ERROR_RT_PARAM_INVALID,
                  "context (%p) is the default context of device %d, which aclrtResetDevice "
                  "releases",
                  static_cast<const void*>(context.get()), context->device);
  }
  const int code = check_may_wait();
  if (code != ACL_SUCCESS) return code;
  WorkFailure failure;
  if (!release_context(context, &failure)) return refuse_dead("context", context.get());
  return answer_failure(failure);
}

template <class Body>
int with_context(aclrtContext handle, Body&& body) {
  if (handle == nullptr) return refuse_null("context");
  const std::shared_ptr<Context> context = find_context(handle);
  return context != nullptr ? body(context) : refuse_dead("context", handle);
}

}  // namespace
}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  return entry(__func__, [&] {
    if (context == nullptr) return refuse_null("context");
    const int code = check_device("deviceId", deviceId);
    if (code != ACL_SUCCESS) return code;
    const std::shared_ptr<Context> created = create_context(deviceId);
    set_current_context(created);
    *context = created.get();
    return ACL_SUCCESS;
  });
}

aclError aclrtDestroyContext(aclrtContext context) {
  return entry(__func__, [&] { return with_context(context, destroy); });
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  return entry(__func__, [&] {
    return with_context(context, [](const std::shared_ptr<Context>& found) {
      set_current_context(found);
      return ACL_SUCCESS;
    });
  });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  return entry(__func__, [&] {
    if (context == nullptr) return refuse_null("context");
    return on_context([&](Context& current) {
      *context = &current;
      return ACL_SUCCESS;
    });
  });
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream) {
  return entry(__func__, [&] {
    if (stream == nullptr) return refuse_null("stream");
    return on_stream(nullptr, [&](normgrad::Stream& found) {
      *stream = &found;
      return ACL_SUCCESS;
    });
  });
}
