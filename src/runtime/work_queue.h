// Work in order: what a stream is made of, shared with the events that were recorded in it, which
// may outlive the stream.
#ifndef NORMGRAD_RUNTIME_WORK_QUEUE_H
#define NORMGRAD_RUNTIME_WORK_QUEUE_H

#include <pthread.h>

#include <cstdint>
#include <list>
#include <memory>
#include <optional>

#include "runtime/environment.h"
#include "runtime/mutex.h"
#include "normgrad/export.h"

namespace normgrad {

class WorkQueue;

// What a piece of work waits for.
struct Awaited {
  std::shared_ptr<WorkQueue> queue;
  std::uint64_t position = 0;
  Deadline deadline;
  bool in_time = false;  // set before the work runs: it came before the deadline
};

// A piece of work that outlives the call that submitted it: it holds copies of all it needs.
struct Work {
  virtual ~Work() = default;
  // 0, or an error code, which leaves its sentence behind (runtime/failure.h) and which the stream's
  // next synchronization answers with. Throws nothing. No lock is held while it runs.
  virtual int run() = 0;
  // Asked once, when its turn has come; not null: run() comes after that.
  virtual Awaited* awaits() { return nullptr; }
};

struct WorkFailure {
  int code = 0;
  std::uint64_t position = 0;  // of the work that failed
  char text[1024] = "";
};

inline bool passed(Deadline deadline) { return deadline.has_value() && Clock::now() >= *deadline; }

// Positions count submitted work from 1. Work only ever waits for work that was submitted before it
// (a mark is captured after it was made), so waiting has no cycles. In a child of fork, what other
// threads had begun, and all that is left to the worker's, is the parent's: there it counts as done.
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
  std::uint64_t submitted();

  // Everything up to `position` is done on return; deferred: by this thread. False: the deadline
  // passed (deferred: after at least one piece of work, so that repeating comes to an end).
  bool finish(std::uint64_t position, Deadline deadline);
  // Is everything up to `position` done? Deferred: a second question about the same work does it
  // first, if this thread may, so that polling comes to an end.
  bool poll(std::uint64_t position, bool may_run);
  bool reached(std::uint64_t position);

  // The first failure up to `position` since the last call; code 0 if there was none.
  WorkFailure take_failure(std::uint64_t position);

  void drop();   // what has not begun counts as done; nothing can be submitted afterwards
  void close();  // finishes all work and joins the worker; nothing runs afterwards

 private:
  enum class Step { kMore, kReached, kLate, kAwaits };

  static void* work(void* queue);
  std::unique_lock<Mutex> locked();
  void adopt();
  void count_completed();
  void start_worker();
  std::unique_ptr<Work> begin_front();
  void end_front(std::unique_ptr<Work> work);
  bool finish_deferred(std::uint64_t position, Deadline deadline);
  Step step(std::uint64_t position, Deadline deadline);

  const StreamMode mode_;
  Mutex mutex_;                               // of what follows; never held while work runs
  Condition changed_;                         // any of it
  std::list<std::unique_ptr<Work>> pending_;  // an empty one needs no memory, unlike a deque
  std::uint64_t submitted_ = 0;
  std::uint64_t completed_ = 0;  // all that is neither pending nor run, once nothing is run
  std::uint64_t polled_ = 0;     // up to here a poll has answered "no"
  bool closed_ = false;
  std::optional<pthread_t> worker_;
  // Threads by their numbers (runtime/thread_stripe.h).
  std::optional<std::uint64_t> runner_;  // of one piece of work; async: the worker
  std::uint64_t owner_ = 0;              // of the turn
  int depth_ = 0;                        // how often the owner has it
  unsigned generation_ = fork_generation();
  WorkFailure failure_;
  // The runner's, deferred: work that was begun, what it waits for, and the queue whose work waits
  // for this one.
  std::unique_ptr<Work> held_;
  Awaited* awaited_ = nullptr;
  WorkQueue* asker_ = nullptr;
};

}  // namespace normgrad

#endif
