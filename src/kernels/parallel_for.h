// The one place that knows threads. Who runs which block changes no bit: chunks of a reduction are fixed by the shape.
#ifndef NORMGRAD_KERNELS_PARALLEL_FOR_H
#define NORMGRAD_KERNELS_PARALLEL_FOR_H

#include <cstdint>
#include <type_traits>

namespace normgrad::kernels {

// Of the blocks that one thread does.
enum class Order { kForwards, kBackwards };

using Task = void (*)(void* context, std::int64_t block);
void run_blocks(std::int64_t blocks, std::int64_t elements, Order order, Task task, void* context);

// Calls body(block) for every block in [0, blocks) on as many threads as `elements` (the work behind all
// blocks together) is worth. The caller is in a FloatEnvironment, and so is every body; none may throw.
template <class Body>
void parallel_for(std::int64_t blocks, std::int64_t elements, Body&& body,
                  Order order = Order::kForwards) {
  using Function = std::remove_reference_t<Body>;
  run_blocks(
      blocks, elements, order,
      [](void* context, std::int64_t block) { (*static_cast<Function*>(context))(block); },
      const_cast<std::remove_const_t<Function>*>(&body));
}

}  // namespace normgrad::kernels

#endif
