#include "core/work_queue.h"

#include <unistd.h>

#include <cstdio>
#include <new>
#include <utility>

#include "normgrad/last_error.h"

namespace normgrad {
namespace {

bool passed(Deadline deadline) { return deadline.has_value() && Clock::now() >= *deadline; }

}  // namespace

bool WorkQueue::enter(Deadline deadline) {
  std::unique_lock lock(mutex_);
  while (depth_ != 0 && owner_ != std::this_thread::get_id()) {
    if (passed(deadline)) return false;
    wait(lock, deadline);
  }
  owner_ = std::this_thread::get_id();
  ++depth_;
  return true;
}

void WorkQueue::leave() {
  const std::lock_guard lock(mutex_);
  if (--depth_ == 0) changed_.notify_all();
}

std::uint64_t WorkQueue::submit(std::unique_ptr<Work> work) {
  const std::lock_guard lock(mutex_);
  forget_lost_worker();
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
  worker_process_ = ::getpid();
}

// Its work is the parent's. The caller holds the lock.
void WorkQueue::forget_lost_worker() {
  if (!worker_.has_value() || worker_process_ == ::getpid()) return;
  worker_.reset();
  pending_.clear();
  running_ = false;
  completed_ = submitted_;
}

void* WorkQueue::work(void* queue) {
  auto& self = *static_cast<WorkQueue*>(queue);
  std::unique_lock lock(self.mutex_);
  while (!self.closed_ || !self.pending_.empty()) {
    if (self.pending_.empty()) {
      self.wait(lock, std::nullopt);
    } else {
      self.run_front(lock);
    }
  }
  return nullptr;
}

// There is pending work (drop() may have taken it from under a waiting thread) and none runs. The
// lock is held on entry and on return, not in between.
void WorkQueue::run_front(std::unique_lock<std::mutex>& lock) {
  std::unique_ptr<Work> work = std::move(pending_.front());
  pending_.pop_front();
  running_ = true;
  lock.unlock();
  const int code = work->run();
  work.reset();
  lock.lock();
  running_ = false;
  ++completed_;
  if (code != 0 && failure_.code == 0) {
    failure_.code = code;
    failure_.position = completed_;
    std::snprintf(failure_.text, sizeof(failure_.text), "%s", normgradGetLastError());
  }
  changed_.notify_all();
}

void WorkQueue::wait(std::unique_lock<std::mutex>& lock, Deadline deadline) {
  if (deadline.has_value()) {
    changed_.wait_until(lock, *deadline);
  } else {
    changed_.wait(lock);
  }
}

std::uint64_t WorkQueue::submitted() const {
  const std::lock_guard lock(mutex_);
  return submitted_;
}

bool WorkQueue::reached(std::uint64_t position) const {
  const std::lock_guard lock(mutex_);
  return completed_ >= position;
}

bool WorkQueue::finish(std::uint64_t position, Deadline deadline) {
  std::unique_lock lock(mutex_);
  forget_lost_worker();
  while (completed_ < position) {
    if (mode_ == StreamMode::kDeferred && !running_ && !pending_.empty()) {
      run_front(lock);
    } else {
      wait(lock, deadline);
    }
    if (completed_ < position && passed(deadline)) return false;
  }
  return true;
}

bool WorkQueue::poll(std::uint64_t position, bool may_run) {
  {
    const std::lock_guard lock(mutex_);
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
  const std::lock_guard lock(mutex_);
  if (failure_.code == 0 || failure_.position > position) return {};
  return std::exchange(failure_, {});
}

void WorkQueue::drop() {
  std::list<std::unique_ptr<Work>> dropped;  // destroyed without the lock
  std::unique_lock lock(mutex_);
  closed_ = true;
  dropped.swap(pending_);
  while (running_) wait(lock, std::nullopt);
  completed_ += dropped.size();
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
    const std::lock_guard lock(mutex_);
    forget_lost_worker();
    closed_ = true;
    worker = std::exchange(worker_, std::nullopt);
    changed_.notify_all();
  }
  if (worker.has_value()) ::pthread_join(*worker, nullptr);
  finish(submitted(), std::nullopt);  // async: of another thread that closes at the same time
}

}  // namespace normgrad
