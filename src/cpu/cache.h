// The size of the last-level cache: beyond it, stores that bypass the cache are faster; within it, they are slower.
#ifndef NORMGRAD_CPU_CACHE_H
#define NORMGRAD_CPU_CACHE_H

#include <cstdint>

namespace normgrad::cpu {

std::int64_t last_level_cache_bytes();

}  // namespace normgrad::cpu

#endif
