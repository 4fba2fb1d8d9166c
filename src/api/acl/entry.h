// How the runtime's entry points begin, and the refusals that many of them share.
#ifndef NORMGRAD_API_ACL_ENTRY_H
#define NORMGRAD_API_ACL_ENTRY_H

#include "acl/acl.h"
#include "api/acl_status.h"

namespace normgrad::api {

// The code of this thread's last failed call, for aclrtPeekAtLastError.
int& last_code();

template <class Body>
aclError entry(const char* name, Body&& body) {
  const int code = acl_entry(name, body);
  if (code != ACL_SUCCESS) last_code() = code;
  return code;
}

inline int refuse_null(const char* argument) {
  return refuse(ACL_ERROR_INVALID_PARAM, "%s is null", argument);
}

inline int refuse_dead(const char* argument, const void* handle) {
  return refuse(ACL_ERROR_RT_INVALID_HANDLE,
                "%s (%p) is not alive: it was destroyed, or it is of another type, or it was not "
                "created by this library",
                argument, handle);
}

// An enumerator that the caller's C may have made of any number.
template <class Enum>
bool is_between(Enum value, int first, int last) {
  return static_cast<int>(value) >= first && static_cast<int>(value) <= last;
}

}  // namespace normgrad::api

#endif
