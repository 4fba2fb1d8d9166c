// A stream: work in the order in which it was submitted. When it is done is the stream's mode
// (docs/acl.md): inline, in the submitting call; async, by a thread of the stream; deferred, by
// whoever synchronizes.
#ifndef NORMGRAD_RUNTIME_STREAM_H
#define NORMGRAD_RUNTIME_STREAM_H

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/environment.h"
#include "runtime/work_queue.h"
#include "normgrad/export.h"

namespace normgrad {

// A point in a stream's order: the end of what had been submitted when it was made. It may outlive
// the stream.
class NORMGRAD_API Mark {
 public:
  Mark() = default;  // of no stream: all is done
  explicit Mark(std::shared_ptr<WorkQueue> queue);
  Mark(std::shared_ptr<WorkQueue> queue, std::uint64_t position)
      : queue_(std::move(queue)), position_(position) {}

  // As WorkQueue's; of an inline stream: waits for its turn.
  bool finish(Deadline deadline) const;
  bool poll(bool may_run) const;
  bool reached() const { return queue_ == nullptr || queue_->reached(position_); }
  WorkFailure take_failure() const;
  // For work that waits for it; not of an inline stream.
  Awaited awaited() const { return {queue_, position_, std::nullopt}; }

 private:
  std::shared_ptr<WorkQueue> queue_;
  std::uint64_t position_ = 0;
};

// What an event stands for: a mark, and when it was reached.
struct Recording {
  Mark mark;
  std::atomic<Clock::time_point> moment{Clock::time_point()};  // means something once reached
};

class NORMGRAD_API Stream : public std::enable_shared_from_this<Stream> {
 public:
  explicit Stream(StreamMode mode);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int id() const { return id_; }
  bool is_inline() const { return queue_->mode() == StreamMode::kInline; }

  // Inline streams: runs body() now, one thread at a time (a body may run another one in its own
  // stream), and returns its code.
  template <class Body>
  int run_inline(Body&& body) {
    const Turn turn(*queue_);
    return body();
  }

  // Async and deferred streams: enqueues. Nothing: another thread has closed the stream. May throw
  // std::bad_alloc; then nothing was submitted.
  std::optional<Mark> submit(std::unique_ptr<Work> work);

  Mark end() const { return Mark(queue_); }
  std::shared_ptr<Recording> record();  // null: another thread has closed the stream
  void drop() { queue_->drop(); }
  void close() { queue_->close(); }  // finishes all work; what comes later is dropped

 private:
  struct Turn {
    explicit Turn(WorkQueue& taken) : queue(taken) { queue.enter(std::nullopt); }
    ~Turn() { queue.leave(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    WorkQueue& queue;
  };

  const int id_;
  const std::shared_ptr<WorkQueue> queue_;
};

// A stream's handle is its address. It is found while somebody owns it and until it is unpublished;
// who finds it owns it too, so that another thread may destroy it meanwhile.
NORMGRAD_API std::shared_ptr<Stream> publish_stream(StreamMode mode);  // may throw std::bad_alloc
NORMGRAD_API std::shared_ptr<Stream> find_stream(const void* handle);  // null: not alive
NORMGRAD_API void unpublish_stream(const void* handle);

}  // namespace normgrad

#endif
