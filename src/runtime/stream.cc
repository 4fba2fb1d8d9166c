#include "runtime/stream.h"

#include "runtime/live_objects.h"
#include "runtime/never_destroyed.h"

namespace normgrad {
namespace {

int next_id() {
  static constinit std::atomic<int> count{0};
  return count.fetch_add(1, std::memory_order_relaxed);
}

struct TakeTheTime : Work {
  explicit TakeTheTime(std::shared_ptr<Recording> where) : recording(std::move(where)) {}
  int run() override {
    recording->moment = Clock::now();
    return 0;
  }
  const std::shared_ptr<Recording> recording;
};

LiveObjects<Stream>& streams() {
  static constinit NeverDestroyed<LiveObjects<Stream>> instance;
  return instance.get();
}

}  // namespace

Mark::Mark(std::shared_ptr<WorkQueue> queue)
    : queue_(std::move(queue)), position_(queue_->submitted()) {}

bool Mark::finish(Deadline deadline) const {
  if (queue_ == nullptr) return true;
  if (queue_->mode() != StreamMode::kInline) return queue_->finish(position_, deadline);
  const bool entered = queue_->enter(deadline);
  if (entered) queue_->leave();
  return entered;
}

bool Mark::poll(bool may_run) const {
  if (queue_ == nullptr) return true;
  if (queue_->mode() != StreamMode::kInline) return queue_->poll(position_, may_run);
  return finish(Clock::time_point());
}

WorkFailure Mark::take_failure() const {
  return queue_ == nullptr ? WorkFailure() : queue_->take_failure(position_);
}

Stream::Stream(StreamMode mode) : id_(next_id()), queue_(std::make_shared<WorkQueue>(mode)) {
  streams();  // may have no memory for the table, which the destructor must have
}

Stream::~Stream() {
  unpublish_stream(this);
  close();
}

std::optional<Mark> Stream::submit(std::unique_ptr<Work> work) {
  const std::uint64_t position = queue_->submit(std::move(work));
  if (position == 0) return std::nullopt;
  return Mark(queue_, position);
}

std::shared_ptr<Recording> Stream::record() {
  auto recording = std::make_shared<Recording>();
  if (is_inline()) {
    run_inline([&] {
      recording->moment = Clock::now();
      return 0;
    });
  } else {
    // The queue holds the recording until then, the recording holds the queue: a cycle that ends
    // when the work is done or dropped.
    const std::optional<Mark> mark = submit(std::make_unique<TakeTheTime>(recording));
    if (!mark.has_value()) return nullptr;
    recording->mark = *mark;
  }
  return recording;
}

std::shared_ptr<Stream> publish_stream(StreamMode mode) {
  auto stream = std::make_shared<Stream>(mode);
  streams().publish(*stream);
  return stream;
}

std::shared_ptr<Stream> find_stream(const void* handle) { return streams().find(handle); }

void unpublish_stream(const void* handle) { streams().unpublish(handle); }

}  // namespace normgrad
