// When an object behind a handle may be deleted: handles are looked up without a lock, so another
// thread may be using what is being destroyed. Whoever looks one up is a visitor from before that
// until it is done; what is retired is deleted when everybody who was a visitor then has left.
#ifndef NORMGRAD_RUNTIME_RETIREMENT_H
#define NORMGRAD_RUNTIME_RETIREMENT_H

#include <cstdint>

#include "normgrad/export.h"

namespace normgrad {

// May nest. Not while a thread waits for others: what is retired meanwhile takes up memory.
class NORMGRAD_API Visit {
 public:
  Visit();
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
};

// A member of every object that can be retired, so that retiring needs no memory. It is no part of
// the object's value: a visitor may copy the object, or assign to it, while it is retired.
struct Retirement {
  Retirement() = default;
  Retirement(const Retirement&) noexcept {}
  Retirement& operator=(const Retirement&) noexcept { return *this; }

  void* object = nullptr;
  void (*end)(void* object) = nullptr;
  Retirement* next = nullptr;
  std::uint64_t awaited = 0;  // a bit for each stripe that was not yet seen without visitors
};

NORMGRAD_API void retire(Retirement& retirement) noexcept;

// Deletes it, at once if there are no visitors but this thread, which has no more use for it.
template <class T>
void retire_object(T* object) noexcept {
  object->retirement.object = object;
  object->retirement.end = [](void* ended) { delete static_cast<T*>(ended); };
  retire(object->retirement);
}

// For std::unique_ptr.
struct Retire {
  template <class T>
  void operator()(T* object) const noexcept {
    retire_object(object);
  }
};

void forget_lost_visitors();  // in a child of fork: this thread is the only one

}  // namespace normgrad

#endif
