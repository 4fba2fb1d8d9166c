// How the runtime's entry points begin.
#ifndef NORMGRAD_API_INFINIRT_ENTRY_H
#define NORMGRAD_API_INFINIRT_ENTRY_H

#include "api/guard.h"
#include "api/infini_status.h"
#include "api/live_handle.h"
#include "infinirt.h"

namespace normgrad::api {

// Device 0 is the only one of its type; another number, another type: a failure.
Status check_device(infiniDevice_t device, int device_id);
// kDeviceUnsupported after this thread has switched to a device that we do not drive.
Status check_current_device();
// There is one stream, and null is its name.
Status check_stream(infinirtStream_t stream);

template <class Body>
infiniStatus_t entry(const char* name, Body&& body) {
  return to_infini(guarded(name, body));
}

template <class Body>
infiniStatus_t entry_on_current_device(const char* name, Body&& body) {
  return entry(name, [&] {
    const Status status = check_current_device();
    return status == Status::kOk ? body() : status;
  });
}

template <class Body>
infiniStatus_t entry_on_stream(const char* name, infinirtStream_t stream, Body&& body) {
  return entry_on_current_device(name, [&] {
    const Status status = check_stream(stream);
    return status == Status::kOk ? body() : status;
  });
}

}  // namespace normgrad::api

#endif
