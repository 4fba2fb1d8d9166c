// How much memory the machine, which is every device of ours, has.
#ifndef NORMGRAD_RUNTIME_MACHINE_MEMORY_H
#define NORMGRAD_RUNTIME_MACHINE_MEMORY_H

#include <cstddef>

#include "normgrad/export.h"

namespace normgrad {

struct MachineMemory {
  std::size_t free;  // what can be had without swapping; at most total
  std::size_t total;
};
NORMGRAD_API MachineMemory machine_memory();

}  // namespace normgrad

#endif
