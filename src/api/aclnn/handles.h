// How aclnn's entry points make, find and destroy what lies behind a handle.
#ifndef NORMGRAD_API_ACLNN_HANDLES_H
#define NORMGRAD_API_ACLNN_HANDLES_H

#include <memory>

#include "api/acl_status.h"
#include "api/live_handle.h"

namespace normgrad::api {

inline int refuse_null_pointer(const char* argument) {
  return refuse(kAclnnNullPointer, "%s is null", argument);
}

// 161001 for null, 161002 for what is not alive as a T.
template <class T>
int check_handle(const char* argument, const T* handle) {
  if (handle == nullptr) return refuse_null_pointer(argument);
  return is_live(handle, T::kKind) ? 0 : to_aclnn(not_alive(argument, handle));
}

// Entry point `name` that returns a new handle, or null: make(T&) fills the object, or refuses.
template <class T, class Make>
T* create_handle(const char* name, Make&& make) {
  T* handle = nullptr;
  aclnn_entry(name, [&] {
    auto object = std::make_unique<T>();
    const int code = make(*object);
    if (code == 0) publish(std::move(object), &handle);
    return code;
  });
  return handle;
}

template <class T>
int destroy_handle(const char* name, const char* argument, const T* handle) {
  return aclnn_entry(name, [&] { return to_aclnn(destroy<const T>(argument, handle)); });
}

}  // namespace normgrad::api

#endif
