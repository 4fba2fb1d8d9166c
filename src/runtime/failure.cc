#include "runtime/failure.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "runtime/environment.h"
#include "normgrad/last_error.h"

namespace normgrad {
namespace {

struct LastError {
  const char* entry_point = nullptr;
  char text[1024] = "";
};

thread_local LastError last_error;

struct KeptErrors {
  std::size_t size = 0;
  char text[4096];
  char taken[4096];
};

thread_local KeptErrors kept;

// Drops whole lines from the front until `needed` more bytes fit; a line is shorter than the
// buffer.
void drop_oldest(KeptErrors& errors, std::size_t needed) {
  std::size_t begin = 0;
  while (errors.size - begin + needed >= sizeof(errors.text)) {
    const void* newline = std::memchr(errors.text + begin, '\n', errors.size - begin);
    begin = static_cast<std::size_t>(static_cast<const char*>(newline) - errors.text) + 1;
  }
  errors.size -= begin;
  std::memmove(errors.text, errors.text + begin, errors.size);
}

}  // namespace

EntryPoint::EntryPoint(const char* name) : outer_(last_error.entry_point) {
  last_error.entry_point = name;
}
EntryPoint::~EntryPoint() { last_error.entry_point = outer_; }

void set_last_error(const char* format, std::va_list arguments) {
  char* text = last_error.text;
  const int size = sizeof(last_error.text);
  int used = 0;
  if (last_error.entry_point != nullptr) {
    used = std::snprintf(text, size, "%s: ", last_error.entry_point);
  }
  std::vsnprintf(text + used, static_cast<std::size_t>(size - used), format, arguments);
  if (environment().log) std::fprintf(stderr, "normgrad: %s\n", text);
}

Status fail(Status status, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  set_last_error(format, arguments);
  va_end(arguments);
  return status;
}

void keep_last_error(const char* title) {
  char line[sizeof(last_error.text) + 64];
  const int written = std::snprintf(line, sizeof(line), "%s: %s\n", title, last_error.text);
  const std::size_t length = std::min(static_cast<std::size_t>(written), sizeof(line) - 1);
  if (kept.size + length >= sizeof(kept.text)) drop_oldest(kept, length);
  std::memcpy(kept.text + kept.size, line, length + 1);
  kept.size += length;
}

const char* take_kept_errors() {
  if (kept.size == 0) return nullptr;
  std::memcpy(kept.taken, kept.text, kept.size);
  kept.taken[kept.size - 1] = '\0';  // in place of the last newline
  kept.size = 0;
  return kept.taken;
}

}  // namespace normgrad

const char* normgradGetLastError(void) { return normgrad::last_error.text; }
