// The machine that was measured on, as the kernel describes it.
#ifndef NORMGRAD_BENCHMARKS_MACHINE_H
#define NORMGRAD_BENCHMARKS_MACHINE_H

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct Cache {
  int level = 0;
  std::string type;  // Data, Instruction, Unified
  std::int64_t bytes = 0;
};

struct Machine {
  std::string cpu;  // "unknown" where the kernel does not say
  int cores = 0;
  std::vector<Cache> caches;  // that the first core sees, nearest first

  std::int64_t last_level_cache_bytes() const;
};

const Machine& machine();

}  // namespace bench

#endif
