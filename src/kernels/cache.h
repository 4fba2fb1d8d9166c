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

}  // namespace normgrad::kernels

#endif
