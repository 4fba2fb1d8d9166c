#include "runtime/work_queue.h"

#include <cstdio>
#include <new>
#include <utility>

#include "runtime/thread_stripe.h"
#include "normgrad/last_error.h"

namespace normgrad {
namespace {

bool is_lost(std::uint64_t thread) { return thread != forked_thread(); }

}  // namespace

std::unique_lock<Mutex> WorkQueue::locked() {
  std::unique_lock lock(mutex_);
  if (generation_ != fork_generation()) adopt();
  return lock;
}

// After fork: other threads than the one that forked do not exist here, nor does what they had taken
// out of the queue. A worker that forked did so in a piece of work, so it is the runner.
void WorkQueue::adopt() {
  generation_ = fork_generation();
  if (depth_ != 0 && is_lost(owner_)) depth_ = 0;
  if (runner_.has_value() && is_lost(*runner_)) {
    runner_.reset();
    held_.reset();
  }
  if (mode_ == StreamMode::kAsync && !runner_.has_value()) {
    worker_.reset();
    pending_.clear();
  }
  count_completed();
}

// While there is a runner, what drop() has taken from behind its work is not done yet.
void WorkQueue::count_completed() {
  if (!runner_.has_value()) completed_ = submitted_ - pending_.size();
}

bool WorkQueue::enter(Deadline deadline) {
  std::unique_lock lock = locked();
  while (depth_ != 0 && owner_ != thread_number()) {
    if (passed(deadline)) return false;
    changed_.wait(lock, deadline);
  }
  owner_ = thread_number();
  ++depth_;
  return true;
}

void WorkQueue::leave() {
  const std::unique_lock lock = locked();
  if (--depth_ == 0) changed_.notify_all();
}

std::uint64_t WorkQueue::submit(std::unique_ptr<Work> work) {
  const std::unique_lock lock = locked();
  if (closed_) return 0;
  if (mode_ == StreamMode::kAsync && !worker_.has_value()) start_worker();
  pending_.push_back(std::move(work));
  changed_.notify_all();
  return ++submitted_;
}

// Not std::thread, which would report a lack of threads by an exception of its own.
void WorkQueue::start_worker() {
  pthread_t thread{};
  if (::pthread_create(&thread, nullptr, &WorkQueue::work, this) != 0) throw std::bad_alloc();
  worker_ = thread;
}

void* WorkQueue::work(void* queue) {
  auto& self = *static_cast<WorkQueue*>(queue);
  std::unique_lock lock = self.locked();
  while (!self.closed_ || !self.pending_.empty()) {
    if (self.pending_.empty()) {
      self.changed_.wait(lock, std::nullopt);
      continue;
    }
    std::unique_ptr<Work> work = self.begin_front();
    lock.unlock();
    if (Awaited* awaited = work->awaits()) {
      awaited->in_time = awaited->queue->finish(awaited->position, awaited->deadline);
    }
    self.end_front(std::move(work));
    lock = self.locked();
  }
  return nullptr;
}

// There is pending work (drop() may have taken it from under a waiting thread) and none runs. The
// caller holds the lock.
std::unique_ptr<Work> WorkQueue::begin_front() {
  std::unique_ptr<Work> work = std::move(pending_.front());
  pending_.pop_front();
  runner_ = thread_number();
  return work;
}

void WorkQueue::end_front(std::unique_ptr<Work> work) {
  const int code = work->run();
  work.reset();
  const std::unique_lock lock = locked();
  if (code != 0 && failure_.code == 0) {
    failure_.code = code;
    failure_.position = completed_ + 1;
    std::snprintf(failure_.text, sizeof(failure_.text), "%s", normgradGetLastError());
  }
  runner_.reset();
  count_completed();
  changed_.notify_all();
}

std::uint64_t WorkQueue::submitted() {
  const std::unique_lock lock = locked();
  return submitted_;
}

bool WorkQueue::reached(std::uint64_t position) {
  const std::unique_lock lock = locked();
  return completed_ >= position;
}

bool WorkQueue::finish(std::uint64_t position, Deadline deadline) {
  if (mode_ == StreamMode::kDeferred) return finish_deferred(position, deadline);
  std::unique_lock lock = locked();
  while (completed_ < position) {
    changed_.wait(lock, deadline);
    if (completed_ < position && passed(deadline)) return false;
  }
  return true;
}

// Work may wait for another queue's, that for a third one's, as far as there are streams: so the way
// back lies in the queues and not on the stack. While their work waits, they are run by this thread
// alone.
bool WorkQueue::finish_deferred(std::uint64_t position, Deadline deadline) {
  WorkQueue* queue = this;
  WorkQueue* asker = nullptr;
  for (;;) {
    const Awaited* awaited = asker == nullptr ? nullptr : asker->awaited_;
    const Step step = queue->step(awaited == nullptr ? position : awaited->position,
                                  awaited == nullptr ? deadline : awaited->deadline);
    if (step == Step::kMore) continue;
    if (step == Step::kAwaits) {
      queue->asker_ = asker;
      asker = queue;
      queue = asker->awaited_->queue.get();
      continue;
    }
    if (asker == nullptr) return step == Step::kReached;
    queue = asker;
    asker = queue->asker_;
    queue->awaited_->in_time = step == Step::kReached;
    queue->end_front(std::move(queue->held_));
  }
}

// One piece of work, or a wait for another thread's.
WorkQueue::Step WorkQueue::step(std::uint64_t position, Deadline deadline) {
  std::unique_lock lock = locked();
  if (completed_ >= position) return Step::kReached;
  if (runner_.has_value() || pending_.empty()) {
    changed_.wait(lock, deadline);
  } else {
    std::unique_ptr<Work> work = begin_front();
    lock.unlock();
    awaited_ = work->awaits();
    if (awaited_ != nullptr) {
      held_ = std::move(work);
      return Step::kAwaits;
    }
    end_front(std::move(work));
    lock = locked();
  }
  if (completed_ >= position) return Step::kReached;
  return passed(deadline) ? Step::kLate : Step::kMore;
}

bool WorkQueue::poll(std::uint64_t position, bool may_run) {
  {
    const std::unique_lock lock = locked();
    if (completed_ >= position) return true;
    if (mode_ != StreamMode::kDeferred || !may_run) return false;
    if (position > polled_) {
      polled_ = position;
      return false;
    }
  }
  return finish(position, std::nullopt);
}

WorkFailure WorkQueue::take_failure(std::uint64_t position) {
  const std::unique_lock lock = locked();
  if (failure_.code == 0 || failure_.position > position) return {};
  return std::exchange(failure_, {});
}

void WorkQueue::drop() {
  std::list<std::unique_ptr<Work>> dropped;  // destroyed without the lock
  std::unique_lock lock = locked();
  closed_ = true;
  dropped.swap(pending_);
  while (runner_.has_value()) changed_.wait(lock, std::nullopt);
  count_completed();
  changed_.notify_all();
  lock.unlock();
}

void WorkQueue::close() {
  if (mode_ == StreamMode::kInline) {  // another thread may be in its turn
    enter(std::nullopt);
    leave();
    return;
  }
  std::optional<pthread_t> worker;
  {
    const std::unique_lock lock = locked();
    closed_ = true;
    worker = std::exchange(worker_, std::nullopt);
    changed_.notify_all();
  }
  if (worker.has_value()) ::pthread_join(*worker, nullptr);
  finish(submitted(), std::nullopt);  // async: of another thread that closes at the same time
}

}  // namespace normgrad
