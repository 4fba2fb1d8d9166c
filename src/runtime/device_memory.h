// "Device" memory of both runtimes (infinirtMalloc, aclrtMalloc): 64-byte aligned pieces of address
// ranges that we map and never give back, so an address inside them is ours for ever and a stale
// one can be told from a live one.
#ifndef NORMGRAD_RUNTIME_DEVICE_MEMORY_H
#define NORMGRAD_RUNTIME_DEVICE_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <optional>

#include "normgrad/export.h"

namespace normgrad {

// Whose an allocation is: a device's number, or this.
inline constexpr int kHostOwner = -1;

// Null if bytes is 0, or if all live allocations together would exceed the machine's memory. May
// throw std::bad_alloc; then nothing was allocated.
NORMGRAD_API void* device_allocate(std::size_t bytes, int owner = 0);
// Of the live allocation that holds this address; none if there is none.
NORMGRAD_API std::optional<int> owner_of(const void* address);

enum class FreeResult {
  kFreed,
  kFreedBefore,  // in our ranges, but in no live allocation
  kNotOurs,      // outside our ranges, or inside a live allocation but not its start
};
NORMGRAD_API FreeResult device_free(void* address) noexcept;

enum class Place {
  kHost,     // not in our ranges: plain host memory, taken on trust
  kInside,   // wholly inside one live allocation
  kOutside,  // address is in a live allocation or in host memory, but some bytes are elsewhere
  kFreed,    // address is in our ranges, but in no live allocation
};
// Where [address + begin, address + end) lies; no bytes at all count as kHost. Takes no lock for
// host memory.
NORMGRAD_API Place place_of(const void* address, std::int64_t begin, std::int64_t end);

struct DeviceMemoryUse {
  std::size_t allocations = 0;
  std::size_t bytes = 0;  // as asked for
};
NORMGRAD_API DeviceMemoryUse device_memory_use();

// Of the machine: what all live allocations together may not exceed.
NORMGRAD_API std::size_t physical_memory_bytes();

}  // namespace normgrad

#endif
