// The caller's own log lines, which go where our sentences go.
#include <cstdarg>
#include <cstdio>

#include "acl/acl_base.h"
#include "runtime/environment.h"

namespace {

const char* or_none(const char* text) { return text != nullptr ? text : "?"; }

const char* name_of(aclLogLevel level) {
  switch (level) {
    case ACL_DEBUG:
      return "debug";
    case ACL_INFO:
      return "info";
    case ACL_WARNING:
      return "warning";
    case ACL_ERROR:
      return "error";
  }
  return "?";
}

}  // namespace

void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line,
               const char* fmt, ...) {
  if (!normgrad::environment().log || fmt == nullptr) return;
  char text[1024];
  std::va_list arguments;
  va_start(arguments, fmt);
  std::vsnprintf(text, sizeof(text), fmt, arguments);
  va_end(arguments);
  std::fprintf(stderr, "normgrad: %s: %s:%u %s: %s\n", name_of(logLevel), or_none(file), line,
               or_none(func), text);
}
