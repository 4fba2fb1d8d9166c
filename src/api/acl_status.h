// The codes of ACL and aclnn, and how an entry point of either answers with one.
#ifndef NORMGRAD_API_ACL_STATUS_H
#define NORMGRAD_API_ACL_STATUS_H

#include <cstdarg>
#include <cstdio>

#include "api/guard.h"
#include "runtime/retirement.h"

namespace normgrad::api {

// aclnnStatus (include/aclnn/normgrad_errors.h has them for callers).
inline constexpr int kAclnnNullPointer = 161001;
inline constexpr int kAclnnInvalid = 161002;
inline constexpr int kAclnnRuntime = 361001;
inline constexpr int kAclnnInner = 561000;
inline constexpr int kAclnnInnerShape = 561002;
inline constexpr int kAclnnInnerNullPointer = 561103;

// Leaves the sentence of a refusal, returns `code`.
[[gnu::format(printf, 2, 3)]] inline int refuse(int code, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  set_last_error(format, arguments);
  va_end(arguments);
  return code;
}

inline int to_aclnn(Status status) {
  switch (status) {
    case Status::kOk:
      return 0;
    case Status::kNullPointer:
      return kAclnnNullPointer;
    case Status::kBadParam:
    case Status::kBadDtype:
    case Status::kBadShape:
    case Status::kBadStrides:
    case Status::kSmallWorkspace:
      return kAclnnInvalid;
    case Status::kDeviceUnsupported:
    case Status::kDeviceNotFound:
    case Status::kOutOfMemory:
    case Status::kExchangeFailed:
      return kAclnnRuntime;
    case Status::kInternal:
      break;
  }
  return kAclnnInner;
}

// For the runtime, whose own checks answer with codes: of an exception.
inline int to_acl(Status status) { return status == Status::kOutOfMemory ? 207001 : 507000; }

// "AclNN_Parameter_Error(EZ1001)" and so on; a runtime code is named itself.
inline void keep_error_of(int code) {
  switch (code / 1000) {
    case 161:
      return keep_last_error("AclNN_Parameter_Error(EZ1001)");
    case 361:
      return keep_last_error("AclNN_Runtime_Error(EZ9903)");
    case 561:
      return keep_last_error("AclNN_Inner_Error(EZ9999)");
  }
  char title[32];
  std::snprintf(title, sizeof(title), "ACL_Error(%d)", code);
  keep_last_error(title);
}

// Runs `body` (returning a code) as entry point `name`; a failure's sentence waits for
// aclGetRecentErrMsg.
template <class Body>
int acl_entry(const char* name, Body&& body) noexcept {
  const int code = guarded(name, to_acl, body);
  if (code != 0) keep_error_of(code);
  return code;
}
template <class Body>
int aclnn_waiting_entry(const char* name, Body&& body) noexcept {
  const int code = guarded(name, to_aclnn, body);
  if (code != 0) keep_error_of(code);
  return code;
}
// The same for a body that looks handles up and waits for nobody.
template <class Body>
int aclnn_entry(const char* name, Body&& body) noexcept {
  return aclnn_waiting_entry(name, [&] {
    const Visit visit;
    return body();
  });
}

}  // namespace normgrad::api

#endif
