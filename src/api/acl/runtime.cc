#include "api/acl/runtime.h"

#include "api/acl/report.h"
#include "api/live_handle.h"
#include "runtime/environment.h"
#include "runtime/live_objects.h"

namespace normgrad::api {
namespace {

struct Device {
  int references = 0;
  std::shared_ptr<Context> context;  // the default one, while references > 0
};

struct Books {
  Mutex mutex;
  std::map<int, Device> devices;
  std::map<const void*, std::shared_ptr<Context>> contexts;
};

Books& books() {
  static constinit NeverDestroyed<Books> instance;
  return instance.get();
}

// Contexts own events; here they are found, whichever context's they are.
constinit NeverDestroyed<LiveObjects<Event>> made_events;
LiveObjects<Event>& events() { return made_events.get(); }

// No pointer that owns: the main thread's objects end before the static ones, whose destructors may
// still call. The serial number tells a context from one that has its address later.
struct Current {
  Context* context = nullptr;
  std::uint64_t serial = 0;
};
constinit thread_local Current current;
constinit thread_local int user_functions = 0;

// Only in a Visit. It may have no owner any more, on its way to end_context().
bool is_current_live() {
  return is_live(current.context, Context::kKind) && current.context->serial == current.serial &&
         !current.context->closed;
}

// When nobody owns it; another thread may be looking it up.
void end_context(Context* context) {
  unregister_handle(context, Context::kKind);
  retire_object(context);
}

std::shared_ptr<Context> enter_context(Books& all, int device, bool is_primary) {
  const std::shared_ptr<Context> context(new Context(device, is_primary), end_context);
  context->default_stream = publish_stream(environment().streams);
  std::map<const void*, std::shared_ptr<Context>> entry{{context.get(), context}};
  // The last that needs memory: a table that has grown stays so if the context comes to nothing.
  register_handle(context.get(), Context::kKind);
  all.contexts.insert(entry.extract(entry.begin()));
  return context;
}

// Waits for a stream whose handle is dead; the first failure of a context's streams is its failure.
void end(Stream& stream, WorkFailure* failure) {
  stream.close();
  const WorkFailure of_stream = stream.end().take_failure();
  if (failure->code == ACL_SUCCESS) *failure = of_stream;
}

// Of a context that is closed: nothing more comes into its books. Two steps: every handle is dead before the first stream
// is waited for. Allocates nothing.
void close(Context& context, WorkFailure* failure) {
  std::map<const void*, std::shared_ptr<Event>> ended;
  std::map<const void*, std::shared_ptr<Stream>> streams;
  std::shared_ptr<Stream> default_stream;
  {
    const std::lock_guard lock(context.mutex);
    ended.swap(context.events);
    streams.swap(context.streams);
    default_stream.swap(context.default_stream);
    for (const auto& [handle, stream] : streams) unpublish_stream(handle);
    unpublish_stream(default_stream.get());
  }
  for (const auto& [handle, event] : ended) events().unpublish(handle);
  for (const auto& [handle, stream] : streams) end_subscription(*stream);
  if (default_stream != nullptr) end_subscription(*default_stream);
  for (const auto& [handle, stream] : streams) end(*stream, failure);
  if (default_stream != nullptr) end(*default_stream, failure);
}

}  // namespace

Context::Context(int its_device, bool primary)
    : serial([] {
        static constinit std::atomic<std::uint64_t> count{0};
        return count.fetch_add(1, std::memory_order_relaxed);
      }()),
      device(its_device),
      is_primary(primary) {}

int& last_code() {
  thread_local int code = ACL_SUCCESS;
  return code;
}

std::shared_ptr<Context> current_context() {
  const Visit visit;
  return is_current_live() ? current.context->weak_from_this().lock() : nullptr;
}

std::shared_ptr<Stream> current_default_stream() {
  const std::shared_ptr<Context> context = current_context();
  if (context == nullptr) return nullptr;
  const std::lock_guard lock(context->mutex);
  return context->default_stream;
}

bool has_current_context() {
  const Visit visit;
  return is_current_live();
}

void set_current_context(const std::shared_ptr<Context>& context) {
  current = context != nullptr ? Current{context.get(), context->serial} : Current();
}

std::shared_ptr<Context> find_context(aclrtContext handle) {
  const Visit visit;
  auto* const found = live<Context>(handle);
  return found != nullptr && !found->closed ? found->weak_from_this().lock() : nullptr;
}

std::vector<std::shared_ptr<Context>> all_contexts() {
  const std::lock_guard lock(books().mutex);
  std::vector<std::shared_ptr<Context>> all;
  for (const auto& [handle, context] : books().contexts) all.push_back(context);
  return all;
}

std::shared_ptr<Context> create_context(int device) {
  const std::lock_guard lock(books().mutex);
  return enter_context(books(), device, false);
}

bool release_context(const std::shared_ptr<Context>& context, WorkFailure* failure) {
  {
    const std::lock_guard lock(books().mutex);
    if (books().contexts.erase(context.get()) == 0) return false;
    context->closed = true;
  }
  close(*context, failure);
  return true;
}

std::shared_ptr<Context> set_device(int number) {
  const std::lock_guard lock(books().mutex);
  Device& device = books().devices[number];
  if (device.context == nullptr) device.context = enter_context(books(), number, true);
  ++device.references;
  return device.context;
}

bool reset_device(int number, bool force, WorkFailure* failure) {
  std::shared_ptr<Context> released;
  {
    const std::lock_guard lock(books().mutex);
    Device& device = books().devices[number];
    if (device.references == 0) return false;
    device.references = force ? 0 : device.references - 1;
    if (device.references > 0) return true;
    released.swap(device.context);
  }
  release_context(released, failure);
  return true;
}

bool is_device_set(int number) {
  const std::lock_guard lock(books().mutex);
  return books().devices[number].references > 0;
}

void release_everything(WorkFailure* failure) {
  const auto any_context = [] {
    const std::lock_guard lock(books().mutex);
    const auto first = books().contexts.begin();
    return first != books().contexts.end() ? first->second : nullptr;
  };
  while (const std::shared_ptr<Context> context = any_context()) {
    if (context->is_primary) reset_device(context->device, true, failure);
    release_context(context, failure);
  }
}

Event::Event() { events(); }  // may have no memory for the table, which the destructor must have
Event::~Event() { events().unpublish(this); }

bool publish_event(const std::shared_ptr<Event>& event, Context& context) {
  events().publish(*event);
  const std::lock_guard lock(context.mutex);
  const bool open = !context.closed;
  if (open) context.events.emplace(event.get(), event);
  return open;
}

// These two allocate nothing: what is to be released can be released when memory has run out.
std::shared_ptr<Event> find_event(const void* handle) {
  LiveObjects<Event>* const all = made_events.find();
  return all != nullptr ? all->find(handle) : nullptr;
}

std::shared_ptr<Event> take_event(const void* handle) {
  const std::lock_guard lock_books(books().mutex);
  for (const auto& [address, context] : books().contexts) {
    const std::lock_guard lock(context->mutex);
    auto entry = context->events.extract(handle);
    if (entry.empty()) continue;
    events().unpublish(handle);
    return std::move(entry.mapped());
  }
  return nullptr;
}

int check_device(const char* argument, std::int64_t device) {
  const int count = environment().devices;
  if (device >= 0 && device < count) return ACL_SUCCESS;
  return refuse(ACL_ERROR_RT_INVALID_DEVICEID,
                "%s is %lld, but devices are numbered 0 to %d (NORMGRAD_DEVICES)", argument,
                static_cast<long long>(device), count - 1);
}

bool in_user_function() { return user_functions > 0; }
UserFunction::UserFunction() { ++user_functions; }
UserFunction::~UserFunction() { --user_functions; }

int check_may_wait() {
  if (!in_user_function()) return ACL_SUCCESS;
  return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                "a host function or callback must not wait for streams: it may be what they wait "
                "for");
}

int refuse_no_context() {
  return refuse(ACL_ERROR_RT_CONTEXT_NULL,
                "this thread has no context: call aclrtSetDevice, aclrtCreateContext or "
                "aclrtSetCurrentContext first");
}

int answer_failure(const WorkFailure& failure) {
  if (failure.code == ACL_SUCCESS) return ACL_SUCCESS;
  return refuse(failure.code, "%s", failure.text);
}

int check_timeout(std::int32_t timeout) {
  if (timeout >= -1) return ACL_SUCCESS;
  return refuse(ACL_ERROR_RT_PARAM_INVALID, "timeout is %d, but must be at least 0, or -1 for ever",
                timeout);
}

int check_positive_timeout(std::int32_t timeout) {
  if (timeout > 0 || timeout == -1) return ACL_SUCCESS;
  return refuse(ACL_ERROR_RT_PARAM_INVALID, "timeout is %d, but must be positive, or -1 for ever",
                timeout);
}

Deadline deadline_in(std::int32_t milliseconds) {
  if (milliseconds < 0) return std::nullopt;
  return Clock::now() + std::chrono::milliseconds(milliseconds);
}

}  // namespace normgrad::api
