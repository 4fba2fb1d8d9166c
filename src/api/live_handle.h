// The life of an object that a C caller holds by pointer: published, looked up, destroyed. Its
// class T names its T::kKind and has a `retirement`.
#ifndef NORMGRAD_API_LIVE_HANDLE_H
#define NORMGRAD_API_LIVE_HANDLE_H

#include <memory>
#include <type_traits>

#include "runtime/failure.h"
#include "runtime/handle_registry.h"
#include "runtime/retirement.h"

namespace normgrad::api {

inline Status null_pointer(const char* argument) {
  return fail(Status::kNullPointer, "%s is null", argument);
}

inline Status not_alive(const char* argument, const void* handle) {
  if (handle == nullptr) return fail(Status::kBadParam, "%s is null", argument);
  return fail(Status::kBadParam,
              "%s (%p) is not alive: it was destroyed, or it is of another type, or it was not "
              "created by this library",
              argument, handle);
}

// The object behind a handle; null if it is not alive as a T. Only in a Visit, which keeps it.
template <class T, class Base>
T* live(Base* handle) {
  return is_live(handle, T::kKind) ? static_cast<T*>(handle) : nullptr;
}

// Throws std::bad_alloc with *handle_ptr untouched.
template <class T, class Base>
void publish(std::unique_ptr<T> object, Base** handle_ptr) {
  register_handle(object.get(), T::kKind);
  *handle_ptr = object.release();
}

// Destroying null is fine, as in C's free().
template <class T, class Base>
Status destroy(const char* argument, Base* handle) {
  if (handle == nullptr) return Status::kOk;
  if (!unregister_handle(handle, T::kKind)) return not_alive(argument, handle);
  retire_object(const_cast<std::remove_const_t<T>*>(static_cast<T*>(handle)));
  return Status::kOk;
}

}  // namespace normgrad::api

#endif
