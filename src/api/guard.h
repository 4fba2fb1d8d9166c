// The only try/catch of the library: every C entry point runs its body in here.
#ifndef NORMGRAD_API_GUARD_H
#define NORMGRAD_API_GUARD_H

#include <new>

#include "runtime/failure.h"

namespace normgrad::api {

// Runs `body` as C entry point `name`; no exception leaves: to_code(Status) is the answer to one.
template <class Body, class ToCode>
auto guarded(const char* name, ToCode&& to_code, Body&& body) noexcept -> decltype(body()) {
  const EntryPoint entry_point(name);
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return to_code(fail(Status::kOutOfMemory, "out of memory"));
  } catch (...) {
    return to_code(fail(Status::kInternal,
                        "unexpected exception: please report this as a defect of normgrad"));
  }
}

// The same for a body that returns Status.
template <class Body>
Status guarded(const char* name, Body&& body) noexcept {
  return guarded(
      name, [](Status status) { return status; }, body);
}

}  // namespace normgrad::api

#endif
