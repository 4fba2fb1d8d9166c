// Functions of the caller in a stream's order: host functions, and callbacks, which another thread
// runs (aclrtProcessReport).
#include <deque>

#include "api/acl/report.h"
#include "api/acl/runtime.h"

namespace normgrad::api {
namespace {

using Function = void (*)(void*);

struct UserWork : Work {
  UserWork(Function its_function, void* its_argument)
      : function(its_function), argument(its_argument) {}
  // In the context of the call that submitted it, whichever thread this is. An exception of the
  // caller's must not end the stream.
  int run() override {
    if (function == nullptr) return ACL_SUCCESS;
    const std::shared_ptr<Context> own = current_context();
    if (const std::shared_ptr<Context> given = context.lock()) set_current_context(given);
    const int code = guarded("a host function or callback", to_acl, [&] {
      const UserFunction in_user_function;
      function(argument);
      return ACL_SUCCESS;
    });
    set_current_context(own);
    return code;
  }
  const Function function;  // may be null: nothing to do
  void* const argument;
  const std::weak_ptr<Context> context = current_context();
};

// The callbacks that wait for one thread, and the streams that it is subscribed to.
struct Reports {
  std::deque<UserWork> waiting;
  int streams = 0;
};

struct Subscriptions {
  Mutex mutex;
  Condition reported;
  std::map<std::uint64_t, Reports> reports;        // by thread
  std::map<const Stream*, std::uint64_t> threads;  // by stream
};

constinit NeverDestroyed<Subscriptions> made_subscriptions;
Subscriptions& subscriptions() { return made_subscriptions.get(); }

void report(const Stream& stream, const UserWork& callback) {
  Subscriptions& all = subscriptions();
  const std::lock_guard lock(all.mutex);
  const auto thread = all.threads.find(&stream);
  if (thread == all.threads.end()) return;  // nobody wants to hear of it any more
  all.reports[thread->second].waiting.push_back(callback);
  all.reported.notify_all();
}

// The caller holds the lock. What waits is dropped with the thread's last subscription.
void unsubscribe(Subscriptions& all, std::map<const Stream*, std::uint64_t>::iterator entry) {
  const auto reports = all.reports.find(entry->second);
  if (--reports->second.streams == 0) all.reports.erase(reports);
  all.threads.erase(entry);
  all.reported.notify_all();
}

struct CallbackWork : Work {
  CallbackWork(const Stream& its_stream, const UserWork& its_callback, bool blocks)
      : stream(its_stream), callback(its_callback), is_blocking(blocks) {}
  // A blocking callback runs right here: the stream must not go on before it, and its thread may
  // be the one that waits for the stream.
  int run() override {
    return guarded("aclrtLaunchCallback", to_acl, [&] {
      const int code = is_blocking ? UserWork(callback).run() : ACL_SUCCESS;
      report(stream, is_blocking ? UserWork(nullptr, nullptr) : callback);
      return code;
    });
  }
  const Stream& stream;  // which does not end before its work
  const UserWork callback;
  const bool is_blocking;
};

template <class Task>
int launch(Stream& stream, Task&& task) {
  if (stream.is_inline()) return stream.run_inline([&] { return task.run(); });
  const auto mark = stream.submit(std::make_unique<std::decay_t<Task>>(task));
  return mark.has_value() ? ACL_SUCCESS : refuse_dead("stream", &stream);
}

int refuse_without_subscription() {
  return refuse(ACL_ERROR_STREAM_NOT_SUBSCRIBE,
                "stream has no thread for its callbacks: call aclrtSubscribeReport first");
}

int launch_callback(Stream& stream, Function function, void* argument, bool blocks) {
  {
    const std::lock_guard lock(subscriptions().mutex);
    if (!subscriptions().threads.contains(&stream)) return refuse_without_subscription();
  }
  return launch(stream, CallbackWork(stream, UserWork(function, argument), blocks));
}

int subscribe(std::uint64_t thread, const Stream& stream) {
  Subscriptions& all = subscriptions();
  const std::lock_guard lock(all.mutex);
  // Another thread may be destroying it: its subscription would outlive it.
  if (find_stream(&stream) == nullptr) return refuse_dead("stream", &stream);
  if (all.threads.contains(&stream)) {
    return refuse(ACL_ERROR_REPEAT_SUBSCRIBE, "stream %d is subscribed to already", stream.id());
  }
  // What needs memory comes first: without it there is neither entry.
  std::map<const Stream*, std::uint64_t> entry{{&stream, thread}};
  ++all.reports[thread].streams;
  all.threads.insert(entry.extract(entry.begin()));
  return ACL_SUCCESS;
}

int unsubscribe(std::uint64_t thread, const Stream& stream) {
  Subscriptions& all = subscriptions();
  const std::lock_guard lock(all.mutex);
  const auto entry = all.threads.find(&stream);
  if (entry == all.threads.end()) return refuse_without_subscription();
  if (entry->second != thread) {
    return refuse(ACL_ERROR_THREAD_NOT_SUBSCRIBE,
                  "threadId is %llu, but thread %llu is subscribed to stream %d",
                  static_cast<unsigned long long>(thread),
                  static_cast<unsigned long long>(entry->second), stream.id());
  }
  unsubscribe(all, entry);
  return ACL_SUCCESS;
}

int process(std::int32_t timeout) {
  Subscriptions& all = subscriptions();
  const auto thread = static_cast<std::uint64_t>(::pthread_self());
  const Deadline deadline = deadline_in(timeout);
  std::unique_lock lock(all.mutex);
  for (;;) {
    const auto reports = all.reports.find(thread);
    if (reports == all.reports.end()) {
      return refuse(ACL_ERROR_THREAD_NOT_SUBSCRIBE,
                    "this thread is subscribed to no stream (aclrtSubscribeReport)");
    }
    if (!reports->second.waiting.empty()) {
      UserWork work = reports->second.waiting.front();
      reports->second.waiting.pop_front();
      lock.unlock();
      return work.run();
    }
    if (!passed(deadline)) {
      all.reported.wait(lock, deadline);
    } else {
      return refuse(ACL_ERROR_WAIT_CALLBACK_TIMEOUT, "no callback came within timeout, %d ms",
                    timeout);
    }
  }
}

}  // namespace

void end_subscription(const Stream& stream) {
  Subscriptions* const all = made_subscriptions.find();
  if (all == nullptr) return;
  const std::lock_guard lock(all->mutex);
  const auto entry = all->threads.find(&stream);
  if (entry != all->threads.end()) unsubscribe(*all, entry);
}

}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Stream;

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
  return entry(__func__, [&] {
    if (fn == nullptr) return refuse_null("fn");
    return on_stream(stream, [&](Stream& found) { return launch(found, UserWork(fn, args)); });
  });
}

aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType,
                             aclrtStream stream) {
  return entry(__func__, [&]() -> int {
    if (fn == nullptr) return refuse_null("fn");
    if (!is_between(blockType, ACL_CALLBACK_NO_BLOCK, ACL_CALLBACK_BLOCK)) {
      return refuse(ACL_ERROR_INVALID_PARAM, "blockType is %d, but must be 0 or 1",
                    static_cast<int>(blockType));
    }
    return on_stream(stream, [&](Stream& found) {
      return launch_callback(found, fn, userData, blockType == ACL_CALLBACK_BLOCK);
    });
  });
}

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return entry(__func__, [&] {
    return on_stream(stream, [&](Stream& found) { return subscribe(threadId, found); });
  });
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return entry(__func__, [&] {
    return on_stream(stream, [&](Stream& found) { return unsubscribe(threadId, found); });
  });
}

aclError aclrtProcessReport(int32_t timeout) {
  return entry(__func__, [&] {
    int code = check_timeout(timeout);
    if (code == ACL_SUCCESS) code = check_may_wait();
    return code == ACL_SUCCESS ? process(timeout) : code;
  });
}
