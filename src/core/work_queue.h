// Work in order: what a stream is made of, shared with the events that were recorded in it, which
// may outlive the stream.
#ifndef NORMGRAD_CORE_WORK_QUEUE_H
#define NORMGRAD_CORE_WORK_QUEUE_H

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "core/environment.h"
#include "normgrad/export.h"

namespace normgrad {

// A piece of work that outlives the call that submitted it: it holds copies of all it needs.
struct Work {
  virtual ~Work() = default;
  // 0, or an error code, which leaves its sentence behind (core/failure.h) and which the stream's
  // next synchronization answers with. Throws nothing. No lock is held while it runs.
  virtual int run() = 0;
};

struct WorkFailure {
  int code = 0;
  std::uint64_t position = 0;  // of the work that failed
  char text[1024] = "";
};

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;  // none: for ever

// Positions count submitted work from 1. Work only ever waits for work that was submitted before it
// (a mark is captured after it was made), so waiting has no cycles.
class NORMGRAD_API WorkQueue {
 public:
  explicit WorkQueue(StreamMode mode) : mode_(mode) {}
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  StreamMode mode() const { return mode_; }

  // Inline: a turn, one thread at a time, which may take it again while it has it. False: the
  // deadline passed.
  bool enter(Deadline deadline);
  void leave();

  // Async and deferred: returns its position, or 0 after close() or drop(): nothing was submitted.
  // May throw std::bad_alloc; likewise.
  std::uint64_t submit(std::unique_ptr<Work> work);
  std::uint64_t submitted() const;

  // Everything up to `position` is done on return; deferred: by this thread. False: the deadline
  // passed (deferred: after at least one piece of work, so that repeating comes to an end).
  bool finish(std::uint64_t position, Deadline deadline);
  // Is everything up to `position` done? Deferred: a second question about the same work does it
  // first, if this thread may, so that polling comes to an end.
  bool poll(std::uint64_t position, bool may_run);
  bool reached(std::uint64_t position) const;

  // The first failure up to `position` since the last call; code 0 if there was none.
  WorkFailure take_failure(std::uint64_t position);

  void drop();   // what has not begun counts as done; nothing can be submitted afterwards
  void close();  // finishes all work and joins the worker; nothing runs afterwards

 private:
  static void* work(void* queue);
  void forget_lost_worker();
  void start_worker();
  void run_front(std::unique_lock<std::mutex>& lock);
  void wait(std::unique_lock<std::mutex>& lock, Deadline deadline);

  const StreamMode mode_;
  mutable std::mutex mutex_;                  // of what follows; never held while work runs
  std::condition_variable changed_;           // any of it
  std::list<std::unique_ptr<Work>> pending_;  // an empty one needs no memory, unlike a deque
  std::uint64_t submitted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t polled_ = 0;  // up to here a poll has answered "no"
  bool running_ = false;      // one piece of work, by some thread
  bool closed_ = false;
  std::optional<pthread_t> worker_;
  pid_t worker_process_ = 0;  // a child of fork has the queue, but not the thread
  std::thread::id owner_;     // of the turn
  int depth_ = 0;             // how often the owner has it
  WorkFailure failure_;
};

}  // namespace normgrad

#endif
