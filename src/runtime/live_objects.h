// Objects that are found by their address. Who finds one owns it too, so that another thread may end it meanwhile. A
// table of addresses, in parts with a lock each, so that threads that look for different objects rarely meet.
#ifndef NORMGRAD_RUNTIME_LIVE_OBJECTS_H
#define NORMGRAD_RUNTIME_LIVE_OBJECTS_H

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "runtime/mutex.h"

namespace normgrad {

// T is a std::enable_shared_from_this<T> whose destructor begins with unpublish(this): the lock keeps what is found in the
// table from going further than that.
template <class T>
class LiveObjects {
 public:
  // Throws std::bad_alloc when the table cannot grow; then the object is not found.
  void publish(T& object) {
    Part& part = part_of(&object);
    const std::lock_guard lock(part.mutex);
    part.insert(&object);
  }
  // Null: not alive.
  std::shared_ptr<T> find(const void* handle) {
    fetch(handle);
    Part& part = part_of(handle);
    const std::lock_guard lock(part.mutex);
    T** const found = part.find(handle);
    return found != nullptr ? (*found)->weak_from_this().lock() : nullptr;
  }
  void unpublish(const void* handle) {
    Part& part = part_of(handle);
    const std::lock_guard lock(part.mutex);
    part.erase(handle);
  }

 private:
  static constexpr int kPartBits = 6;

  // What is read once the object is found, its counts and its beginning, comes from memory while it is looked for.
  // std::make_shared puts the counts before the object; another address, of anything, does no harm.
  static void fetch(const void* handle) {
    constexpr std::uintptr_t kCounts = 16;
    const auto address = reinterpret_cast<std::uintptr_t>(handle);
    __builtin_prefetch(reinterpret_cast<const void*>(address - kCounts), 1);
    __builtin_prefetch(reinterpret_cast<const void*>(address + kCounts), 1);
  }

  // Multiplicative hashing: the top bits say which part, the next ones where in it.
  static std::uint64_t hash(const void* handle) {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle)) *
           0x9E3779B97F4A7C15u;
  }

  // Open addressing; the caller holds the lock. Null: the slot is empty, which ends every search.
  struct alignas(64) Part {
    Mutex mutex;
    std::size_t used = 0;        // at most half of the slots
    std::array<T*, 16> first{};  // few objects need no memory of their own
    std::vector<T*> more;        // instead, when there are many
    std::span<T*> slots{first};  // a power of two

    std::size_t home(const void* handle) const {
      return static_cast<std::size_t>(hash(handle) << kPartBits >>
                                      (64 - std::countr_zero(slots.size())));
    }
    std::size_t next(std::size_t i) const { return (i + 1) & (slots.size() - 1); }

    T** find(const void* handle) {
      if (handle == nullptr) return nullptr;
      for (std::size_t i = home(handle); slots[i] != nullptr; i = next(i)) {
        if (slots[i] == handle) return &slots[i];
      }
      return nullptr;
    }
    void insert(T* object) {
      if (find(object) != nullptr) return;
      if (used >= slots.size() / 2) grow();
      place(object);
      ++used;
    }
    void place(T* object) {
      std::size_t i = home(object);
      while (slots[i] != nullptr) i = next(i);
      slots[i] = object;
    }
    void grow() {
      std::vector<T*> grown(slots.size() * 2);
      const std::span<T*> old = std::exchange(slots, grown);
      for (T* object : old) {
        if (object != nullptr) place(object);
      }
      more.swap(grown);
    }
    // What follows moves up, unless that is where it belongs, so that no search ends too early.
    void erase(const void* handle) {
      T** const found = find(handle);
      if (found == nullptr) return;
      auto hole = static_cast<std::size_t>(found - slots.data());
      for (std::size_t i = next(hole); slots[i] != nullptr; i = next(i)) {
        const std::size_t from_home = (i - home(slots[i])) & (slots.size() - 1);
        const std::size_t from_hole = (i - hole) & (slots.size() - 1);
        if (from_home < from_hole) continue;
        slots[hole] = slots[i];
        hole = i;
      }
      slots[hole] = nullptr;
      --used;
    }
  };

  Part& part_of(const void* handle) { return parts_[hash(handle) >> (64 - kPartBits)]; }

  std::array<Part, std::size_t{1} << kPartBits> parts_;
};

}  // namespace normgrad

#endif
