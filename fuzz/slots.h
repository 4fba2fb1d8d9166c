// Handles that a program of API calls works with: a few slots per kind, which keep what they held when it has died, and
// the books of what is alive. A dead address may come to life again as something else; the books go by address.
#ifndef FUZZ_SLOTS_H
#define FUZZ_SLOTS_H

#include <array>
#include <map>
#include <string>

#include "bytes.h"
#include "finding.h"

namespace fuzz {

template <class Kind, std::size_t kKinds, std::size_t kSlots>
class Slots {
 public:
  explicit Slots(Bytes& bytes) : bytes_(bytes) {}

  void*& at(Kind kind, std::size_t slot) { return slots_[static_cast<std::size_t>(kind)][slot]; }
  // One for a call that wants `kind`: of that kind alive or dead, at times null, of another kind, or never a handle.
  void* pick(Kind kind) { return spoiled(at(kind, bytes_.below(kSlots))); }
  void* pick(Kind kind, std::size_t slot) { return spoiled(at(kind, slot)); }
  // Any slot's place, for a new one; what it held goes on living, unseen.
  void put(Kind kind, std::size_t slot, void* handle) {
    at(kind, slot) = handle;
    alive_[handle] = {kind, slot};
  }

  bool is_alive(void* handle, Kind kind) const {
    const auto found = alive_.find(handle);
    return found != alive_.end() && found->second.kind == kind;
  }
  // Alive, and made for this slot.
  bool is_of(void* handle, Kind kind, std::size_t slot) const {
    return is_alive(handle, kind) && alive_.find(handle)->second.slot == slot;
  }
  // The slot that it was made for; of one that is alive.
  std::size_t slot_of(void* handle) const { return alive_.at(handle).slot; }
  void die(void* handle) { alive_.erase(handle); }
  void die(Kind kind) {
    std::erase_if(alive_, [&](const auto& entry) { return entry.second.kind == kind; });
  }
  // One that is alive; null if there is none.
  void* any(Kind kind) const {
    for (const auto& [handle, what] : alive_) {
      if (what.kind == kind) return handle;
    }
    return nullptr;
  }

 private:
  void* spoiled(void* handle) {
    static char foreign[64];
    switch (bytes_.below(32)) {
      case 29:
        return nullptr;
      case 30:
        return foreign + bytes_.below(64);
      case 31:
        return slots_[bytes_.below(kKinds)][bytes_.below(kSlots)];
      default:
        return handle;
    }
  }

  struct What {
    Kind kind;
    std::size_t slot;
  };

  Bytes& bytes_;
  std::array<std::array<void*, kSlots>, kKinds> slots_{};
  std::map<void*, What> alive_;
};

inline void expect_code(const char* call, int got, int expected) {
  if (got == expected) return;
  finding(std::string(call) + " returned " + std::to_string(got) + ", the model says " +
          std::to_string(expected));
}

}  // namespace fuzz

#endif
