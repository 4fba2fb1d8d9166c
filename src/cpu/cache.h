// The size of the last-level cache: beyond it, stores that bypass the cache are faster; within it,
// they are slower.
#ifndef NORMGRAD_CPU_CACHE_H
#define NORMGRAD_CPU_CACHE_H

#include <cstdint>

namespace normgrad::cpu {

std::int64_t last_level_cache_bytes();

// Starts to bring a cache line into L2, where it is kept until its turn comes.
inline void prefetch(const void* address) { __builtin_prefetch(address, 0, 2); }

}  // namespace normgrad::cpu

#endif
