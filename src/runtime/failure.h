// The sentence behind a failed call: one buffer per thread, written by fail(), read by
// normgradGetLastError().
#ifndef NORMGRAD_RUNTIME_FAILURE_H
#define NORMGRAD_RUNTIME_FAILURE_H

#include <cstdarg>

#include "normgrad/export.h"
#include "normgrad/status.h"

namespace normgrad {

// Stores "<entry point>: <text>" as this thread's last error (and prints it with NORMGRAD_LOG=1),
// returns `status`. Allocates nothing; a text that is too long is cut.
[[gnu::format(printf, 2, 3)]] NORMGRAD_API Status fail(Status status, const char* format, ...);

[[gnu::format(printf, 1, 0)]] NORMGRAD_API void set_last_error(const char* format,
                                                               std::va_list arguments);

// Sentences that wait for aclGetRecentErrMsg. keep: appends "<title>: <last error>" to this
// thread's; when there is no room, the oldest go. take: all of them, oldest first, one a line, or
// null; they are gone then, and the pointer is good until the thread's next call.
NORMGRAD_API void keep_last_error(const char* title);
NORMGRAD_API const char* take_kept_errors();

// The C entry point that this thread is in, named in the sentence. Restored on leaving, so entry
// points may nest.
class NORMGRAD_API EntryPoint {
 public:
  explicit EntryPoint(const char* name);
  ~EntryPoint();
  EntryPoint(const EntryPoint&) = delete;
  EntryPoint& operator=(const EntryPoint&) = delete;

 private:
  const char* outer_;
};

}  // namespace normgrad

#endif
