// The caches. Beyond the size of the last one, stores that bypass it are faster; within it, slower.
#ifndef NORMGRAD_KERNELS_CACHE_H
#define NORMGRAD_KERNELS_CACHE_H

#include <cstdint>

#include "normgrad/export.h"

namespace normgrad::kernels {

std::int64_t last_level_cache_bytes();
// L2, of the first processor; 512 KiB if it is not known.
std::int64_t second_level_cache_bytes();

// For tests: a small cache brings small problems onto the paths of large ones. 0: what the machine has.
NORMGRAD_API void set_last_level_cache_bytes(std::int64_t bytes);

// Of all that a problem reads and writes. A cache that is shared with others holds less than its size: both are worth their
// instructions long before it is full.
inline bool is_worth_streaming(std::int64_t bytes) { return bytes > last_level_cache_bytes() / 2; }
inline bool is_far_away(std::int64_t bytes) { return bytes > last_level_cache_bytes() / 4; }

// The forward passes' own rule, by elements: where the cache holds them, fetching only costs.
inline bool is_worth_fetching(std::int64_t elements) {
  return elements > last_level_cache_bytes() / 16;
}

// prefetch() starts to bring a cache line into L2, where it is kept until its turn comes; prefetch_to_write() is for a line
// that will be written. By name: g++ drops __builtin_prefetch in an inline function. Of prefetch_to_write it would make a
// fetch for reading, for fear of a processor without the instruction, where it does nothing.
#if defined(__x86_64__)
inline void prefetch(const void* address) {
  __asm__ volatile("prefetcht1 %0" : : "m"(*static_cast<const char*>(address)));
}
inline void prefetch_to_write(const void* address) {
  __asm__ volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
}
#else
inline void prefetch(const void* address) { __builtin_prefetch(address, 0, 2); }
inline void prefetch_to_write(const void* address) { __builtin_prefetch(address, 1, 2); }
#endif

}  // namespace normgrad::kernels

#endif
