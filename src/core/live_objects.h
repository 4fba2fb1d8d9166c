// Objects that are found by their address. Who finds one owns it too, so that another thread may end it meanwhile: a
// table of weak pointers, in parts with a lock each, so that threads that look for different objects rarely meet.
#ifndef NORMGRAD_CORE_LIVE_OBJECTS_H
#define NORMGRAD_CORE_LIVE_OBJECTS_H

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "core/mutex.h"

namespace normgrad {

template <class T>
class LiveObjects {
 public:
  // Throws std::bad_alloc when the table cannot grow; then the object is not found.
  void publish(const std::shared_ptr<T>& object) {
    Part& part = part_of(object.get());
    const std::lock_guard lock(part.mutex);
    part.insert({object.get(), object});
  }
  // Null: not alive.
  std::shared_ptr<T> find(const void* handle) {
    fetch(handle);
    Part& part = part_of(handle);
    const std::lock_guard lock(part.mutex);
    const Entry* found = part.find(handle);
    return found != nullptr ? found->object.lock() : nullptr;
  }
  void unpublish(const void* handle) {
    Part& part = part_of(handle);
    const std::lock_guard lock(part.mutex);
    part.erase(handle);
  }

 private:
  static constexpr int kPartBits = 6;
  struct Entry {
    const void* handle = nullptr;  // null: the slot is empty, which ends every search
    std::weak_ptr<T> object;
  };

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

  // Open addressing; the caller holds the lock.
  struct alignas(64) Part {
    Mutex mutex;
    std::size_t used = 0;           // at most half of the slots
    std::array<Entry, 16> first;    // few objects need no memory of their own
    std::vector<Entry> more;        // instead, when there are many
    std::span<Entry> slots{first};  // a power of two

    std::size_t home(const void* handle) const {
      return static_cast<std::size_t>(hash(handle) << kPartBits >>
                                      (64 - std::countr_zero(slots.size())));
    }
    std::size_t next(std::size_t i) const { return (i + 1) & (slots.size() - 1); }

    Entry* find(const void* handle) {
      if (handle == nullptr) return nullptr;
      for (std::size_t i = home(handle); slots[i].handle != nullptr; i = next(i)) {
        if (slots[i].handle == handle) return &slots[i];
      }
      return nullptr;
    }
    void insert(Entry entry) {
      if (Entry* old = find(entry.handle)) return std::swap(*old, entry);
      if (used >= slots.size() / 2) grow();
      place(std::move(entry));
      ++used;
    }
    void place(Entry entry) {
      std::size_t i = home(entry.handle);
      while (slots[i].handle != nullptr) i = next(i);
      slots[i] = std::move(entry);
    }
    void grow() {
      std::vector<Entry> grown(slots.size() * 2);
      const std::span<Entry> old = std::exchange(slots, grown);
      for (Entry& entry : old) {
        if (entry.handle != nullptr) place(std::move(entry));
      }
      std::fill(old.begin(), old.end(), Entry());
      more.swap(grown);
    }
    // What follows moves up, unless that is where it belongs, so that no search ends too early.
    void erase(const void* handle) {
      Entry* const found = find(handle);
      if (found == nullptr) return;
      auto hole = static_cast<std::size_t>(found - slots.data());
      for (std::size_t i = next(hole); slots[i].handle != nullptr; i = next(i)) {
        const std::size_t from_home = (i - home(slots[i].handle)) & (slots.size() - 1);
        const std::size_t from_hole = (i - hole) & (slots.size() - 1);
        if (from_home < from_hole) continue;
        slots[hole] = std::move(slots[i]);
        hole = i;
      }
      slots[hole] = Entry();
      --used;
    }
  };

  Part& part_of(const void* handle) { return parts_[hash(handle) >> (64 - kPartBits)]; }

  std::array<Part, std::size_t{1} << kPartBits> parts_;
};

}  // namespace normgrad

#endif
