// The one place that knows threads. Blocks are fixed by the shape; who runs which block changes no
// bit.
#ifndef NORMGRAD_CPU_PARALLEL_FOR_H
#define NORMGRAD_CPU_PARALLEL_FOR_H

#include <cstdint>
#include <type_traits>

namespace normgrad::cpu {

using Task = void (*)(void* context, std::int64_t block);
void run_blocks(std::int64_t blocks, std::int64_t elements, Task task, void* context);

// Calls body(block) for every block in [0, blocks), in any order, on as many threads as `elements`
// (the work behind all blocks together) is worth. The caller is in a FloatEnvironment, and so is
// every body; none may throw.
template <class Body>
void parallel_for(std::int64_t blocks, std::int64_t elements, Body&& body) {
  using Function = std::remove_reference_t<Body>;
  run_blocks(
      blocks, elements,
      [](void* context, std::int64_t block) { (*static_cast<Function*>(context))(block); }, &body);
}

}  // namespace normgrad::cpu

#endif
