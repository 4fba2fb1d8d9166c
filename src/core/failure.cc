#include "core/failure.h"

#include <cstdarg>
#include <cstdio>

#include "core/environment.h"
#include "normgrad/last_error.h"

namespace normgrad {
namespace {

struct LastError {
  const char* entry_point = nullptr;
  char text[1024] = "";
};

thread_local LastError last_error;

}  // namespace

EntryPoint::EntryPoint(const char* name) : outer_(last_error.entry_point) {
  last_error.entry_point = name;
}
EntryPoint::~EntryPoint() { last_error.entry_point = outer_; }

Status fail(Status status, const char* format, ...) {
  char* text = last_error.text;
  const int size = sizeof(last_error.text);
  int used = 0;
  if (last_error.entry_point != nullptr) {
    used = std::snprintf(text, size, "%s: ", last_error.entry_point);
  }
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text + used, static_cast<std::size_t>(size - used), format, arguments);
  va_end(arguments);
  if (environment().log) std::fprintf(stderr, "normgrad: %s\n", text);
  return status;
}

}  // namespace normgrad

const char* normgradGetLastError(void) { return normgrad::last_error.text; }
