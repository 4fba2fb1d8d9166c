// The runtime's books: which devices are set, which contexts, streams and events are alive, and
// which context is a thread's current one. Everything is found by its handle and held by shared
// pointers, so that what one thread uses another may release.
#ifndef NORMGRAD_API_ACL_RUNTIME_H
#define NORMGRAD_API_ACL_RUNTIME_H

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "api/acl/entry.h"
#include "runtime/handle_registry.h"
#include "runtime/mutex.h"
#include "runtime/never_destroyed.h"
#include "runtime/retirement.h"
#include "runtime/stream.h"

namespace normgrad::api {

struct Event : std::enable_shared_from_this<Event> {
  Event();
  ~Event();  // dead at the latest now
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  Mutex mutex;                                 // of what follows
  std::shared_ptr<const Recording> recording;  // null: never recorded
  Mark last_wait;                              // of the stream that was last told to wait
};

struct Context : std::enable_shared_from_this<Context> {
  static constexpr HandleKind kKind = HandleKind::kAclContext;

  Context(int its_device, bool primary);

  const std::uint64_t serial;  // no other context ever has it
  const int device;
  const bool is_primary;             // the device's default context
  std::atomic<bool> closed = false;  // its handle is dead; set before the books are emptied
  Mutex mutex;                       // of what follows
  // Found by its handle (find_stream) if and only if it is here: both change under the lock.
  std::shared_ptr<Stream> default_stream;
  std::map<const void*, std::shared_ptr<Stream>> streams;  // the caller's
  std::map<const void*, std::shared_ptr<Event>> events;
  std::array<std::optional<std::int64_t>, 3> options;  // by aclSysParamOpt
  Retirement retirement;
};

// Null if this thread has none, or if its was released.
std::shared_ptr<Context> current_context();
std::shared_ptr<Stream> current_default_stream();
bool has_current_context();  // cheaper for threads that share one: nobody comes to own it
void set_current_context(const std::shared_ptr<Context>& context);

std::shared_ptr<Context> find_context(aclrtContext handle);
std::vector<std::shared_ptr<Context>> all_contexts();

// Throws std::bad_alloc; then there is none.
std::shared_ptr<Context> create_context(int device);
// Finishes its work and releases its streams and events. The first failure of that work goes to
// *failure. False: another thread was faster.
bool release_context(const std::shared_ptr<Context>& context, WorkFailure* failure);

// Counts, and creates the default context for the first.
std::shared_ptr<Context> set_device(int device);
// Counts down; releases the default context at 0 or if `force`. False if the device is not set.
bool reset_device(int device, bool force, WorkFailure* failure);
bool is_device_set(int device);
void release_everything(WorkFailure* failure);

// Into the books of the context. False: another thread has closed it. May throw std::bad_alloc.
bool publish_event(const std::shared_ptr<Event>& event, Context& context);
std::shared_ptr<Event> find_event(const void* handle);
// Out of the books of its context; null if it is in none.
std::shared_ptr<Event> take_event(const void* handle);

int check_device(const char* argument, std::int64_t device);

// True in a function of the caller's that a stream runs: what waits for streams is refused there,
// since it may wait for itself.
bool in_user_function();
class UserFunction {
 public:
  UserFunction();
  ~UserFunction();
  UserFunction(const UserFunction&) = delete;
  UserFunction& operator=(const UserFunction&) = delete;
};
int check_may_wait();

int refuse_no_context();

template <class Body>
int on_context(Body&& body) {
  const std::shared_ptr<Context> context = current_context();
  return context != nullptr ? body(*context) : refuse_no_context();
}

// The stream behind a handle, null being the default stream of the current context.
template <class Body>
int on_stream(aclrtStream handle, Body&& body) {
  if (handle == nullptr) {
    const std::shared_ptr<Stream> stream = current_default_stream();
    return stream != nullptr ? body(*stream) : refuse_no_context();
  }
  if (!has_current_context()) return refuse_no_context();
  const std::shared_ptr<Stream> stream = find_stream(handle);
  return stream != nullptr ? body(*stream) : refuse_dead("stream", handle);
}

template <class Body>
int with_event(const char* argument, aclrtEvent handle, Body&& body) {
  if (handle == nullptr) return refuse_null(argument);
  const std::shared_ptr<Event> event = find_event(handle);
  return event != nullptr ? body(*event) : refuse_dead(argument, handle);
}

// The failure of a stream's work, as this call's own.
int answer_failure(const WorkFailure& failure);

// A call's timeout: at least 0, or -1 for ever; where it must be positive, not 0.
int check_timeout(std::int32_t timeout);
int check_positive_timeout(std::int32_t timeout);
Deadline deadline_in(std::int32_t milliseconds);

}  // namespace normgrad::api

#endif
