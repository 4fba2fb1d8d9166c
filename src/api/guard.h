// The only try/catch of the library: every C entry point runs its body in here.
#ifndef NORMGRAD_API_GUARD_H
#define NORMGRAD_API_GUARD_H

#include <new>

#include "core/failure.h"

namespace normgrad::api {

// Runs `body` (returning Status) as C entry point `name`; no exception leaves.
template <class Body>
Status guarded(const char* name, Body&& body) noexcept {
  const EntryPoint entry_point(name);
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, "out of memory");
  } catch (...) {
    return fail(Status::kInternal,
                "unexpected exception: please report this as a defect of normgrad");
  }
}

}  // namespace normgrad::api

#endif
