// A global object made when it is first asked for and never destroyed: threads may use it while
// static objects go. Unlike a static of a function it has no lock that a fork could leave taken.
#ifndef NORMGRAD_RUNTIME_NEVER_DESTROYED_H
#define NORMGRAD_RUNTIME_NEVER_DESTROYED_H

#include <atomic>
#include <memory>

namespace normgrad {

template <class T>
class NeverDestroyed {
 public:
  constexpr NeverDestroyed() = default;

  // May throw std::bad_alloc the first time. Of threads that come first together, one's is kept.
  T& get() {
    T* found = object_.load(std::memory_order_acquire);
    if (found != nullptr) return *found;
    auto made = std::make_unique<T>();
    if (object_.compare_exchange_strong(found, made.get())) return *made.release();
    return *found;
  }
  T* find() const { return object_.load(std::memory_order_acquire); }  // null: nobody has asked yet

 private:
  std::atomic<T*> object_{nullptr};
};

}  // namespace normgrad

#endif
