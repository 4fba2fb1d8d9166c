// "Device" memory of both runtimes (infinirtMalloc, aclrtMalloc): 64-byte aligned pieces of address ranges that we map
// and never give back, so an address inside them is ours for ever and a stale one can be told from a live one.
#ifndef NORMGRAD_CORE_DEVICE_MEMORY_H
#define NORMGRAD_CORE_DEVICE_MEMORY_H

#include <cstddef>
#include <cstdint>

#include "normgrad/export.h"

namespace normgrad {

// Null if there is no memory or bytes is 0.
NORMGRAD_API void* device_allocate(std::size_t bytes);

enum class FreeResult { kFreed, kFreedBefore, kNotOurs };  // kNotOurs also: inside an allocation, not its start
NORMGRAD_API FreeResult device_free(void* address);

enum class Place {
  kHost,     // not in our ranges: plain host memory, taken on trust
  kInside,   // wholly inside one live allocation
  kOutside,  // starts in a live allocation and leaves it
  kFreed,    // in our ranges, but in no live allocation
};
// Where [address + begin, address + end) lies. Takes no lock for host memory.
NORMGRAD_API Place place_of(const void* address, std::int64_t begin, std::int64_t end);

struct DeviceMemoryUse {
  std::size_t allocations = 0;
  std::size_t bytes = 0;
};
NORMGRAD_API DeviceMemoryUse device_memory_use();

}  // namespace normgrad

#endif
