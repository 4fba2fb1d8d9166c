// An open-addressing table of one-word entries. Writers hold a mutex; readers only load. A table
// that has become too small stays allocated, so a reader that still walks it never touches freed
// memory; as each table is twice the one before, all old ones together are smaller than the current
// one.
#include "runtime/handle_registry.h"

#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <new>

#include "runtime/mutex.h"

namespace normgrad {
namespace {

using Key = std::uint64_t;

constexpr Key kEmpty = 0;   // ends every search
constexpr Key kErased = 1;  // a search goes on behind it; no key has address 0

// Address and kind in one word, so that one load sees both. kEmpty for what can be no handle: null,
// and addresses above the 2^56 that any 64-bit Linux gives to user space.
Key key_of(const void* handle, HandleKind kind) {
  const auto address = static_cast<Key>(reinterpret_cast<std::uintptr_t>(handle));
  const bool possible = address != 0 && (address >> 56) == 0;
  return possible ? address << 8 | static_cast<Key>(kind) : kEmpty;
}

using Slot = std::atomic<Key>;

struct Table {  // never destroyed
  Slot* slots;
  std::size_t size;          // a power of two
  std::size_t used;          // not kEmpty; at most 7/8, so every search ends
  const Table* predecessor;  // keeps old tables reachable, for leak checkers

  std::size_t home(Key key) const {  // multiplicative hashing: the top bits of key * 2^64/phi
    return static_cast<std::size_t>(key * 0x9E3779B97F4A7C15u >> (64 - std::countr_zero(size)));
  }
  std::size_t next(std::size_t i) const { return (i + 1) & (size - 1); }
  std::size_t previous(std::size_t i) const { return (i - 1) & (size - 1); }

  // The slot that holds `key`, or the empty one that ends the search for it.
  std::size_t find(Key key) const {
    std::size_t i = home(key);
    for (;; i = next(i)) {
      const Key found = slots[i].load();  // in the order of runtime/retirement.cc, like `current`
      if (found == key || found == kEmpty) return i;
    }
  }
  bool holds(Key key) const { return slots[find(key)].load() == key; }

  // Where `key`, which is not in the table, goes: the first slot that is free on its way.
  std::size_t place_for(Key key) const {
    std::size_t i = home(key);
    while (slots[i].load(std::memory_order_relaxed) > kErased) i = next(i);
    return i;
  }
  // Half full is when it should grow; without memory it goes on, slower, to 7/8. An erased slot is
  // taken in any case.
  bool should_grow() const { return used >= size / 2; }
  bool has_room_for(Key key) const {
    return used < size - size / 8 ||
           slots[place_for(key)].load(std::memory_order_relaxed) == kErased;
  }
  // `key` is not in the table and has room.
  void insert(Key key) {
    const std::size_t i = place_for(key);
    used += slots[i].load(std::memory_order_relaxed) == kEmpty;
    slots[i].store(key, std::memory_order_release);
  }

  // `key` is in slot i. An erased slot before an empty one stops no search that would not stop one
  // slot later, so it becomes empty itself: turnover leaves no trail of erased slots to rehash.
  void erase(std::size_t i) {
    slots[i].store(kErased);
    if (slots[next(i)].load(std::memory_order_relaxed) != kEmpty) return;
    for (; slots[i].load(std::memory_order_relaxed) == kErased; i = previous(i)) {
      slots[i].store(kEmpty, std::memory_order_relaxed);
      --used;
    }
  }
};

constexpr std::size_t kFirstSize = 1024;
constinit std::array<Slot, kFirstSize> first_slots{};
constinit Table first_table{first_slots.data(), kFirstSize, 0, nullptr};
constinit std::atomic<Table*> current{&first_table};
constinit Mutex writers;

// Null: no memory.
Table* grow(const Table& old) {
  std::unique_ptr<Slot[]> slots(new (std::nothrow) Slot[old.size * 2]());
  if (slots == nullptr) return nullptr;
  auto* grown = new (std::nothrow) Table{slots.get(), old.size * 2, 0, &old};
  if (grown == nullptr) return nullptr;
  slots.release();
  for (std::size_t i = 0; i < old.size; ++i) {
    const Key key = old.slots[i].load(std::memory_order_relaxed);
    if (key > kErased) grown->insert(key);
  }
  return grown;
}

// The table for one more key, which is not in it. The caller holds the lock.
Table& table_with_room_for(Key key) {
  Table* table = current.load(std::memory_order_relaxed);
  if (!table->should_grow()) return *table;
  if (Table* grown = grow(*table); grown != nullptr) {
    current.store(grown);
    return *grown;
  }
  if (!table->has_room_for(key)) throw std::bad_alloc();
  return *table;
}

}  // namespace

bool is_live(const void* handle, HandleKind kind) {
  const Key key = key_of(handle, kind);
  return key != kEmpty && current.load()->holds(key);
}

void register_handle(const void* handle, HandleKind kind) {
  const Key key = key_of(handle, kind);
  if (key == kEmpty) throw std::bad_alloc();  // memory that we have no use for
  const std::lock_guard lock(writers);
  if (current.load(std::memory_order_relaxed)->holds(key)) return;
  table_with_room_for(key).insert(key);
}

bool change_handle(const void* handle, HandleKind from, HandleKind to) {
  const Key old_key = key_of(handle, from), new_key = key_of(handle, to);
  if (old_key == kEmpty) return false;
  const std::lock_guard lock(writers);
  if (!current.load(std::memory_order_relaxed)->holds(old_key)) return false;
  Table& table = table_with_room_for(new_key);
  table.erase(table.find(old_key));
  table.insert(new_key);
  return true;
}

bool unregister_handle(const void* handle, HandleKind kind) {
  const Key key = key_of(handle, kind);
  if (key == kEmpty) return false;
  const std::lock_guard lock(writers);
  Table* table = current.load(std::memory_order_relaxed);
  const std::size_t i = table->find(key);
  if (table->slots[i].load(std::memory_order_relaxed) != key) return false;
  table->erase(i);
  return true;
}

std::size_t handle_table_slots() { return current.load(std::memory_order_acquire)->size; }

}  // namespace normgrad
