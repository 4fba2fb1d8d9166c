// What the comparison with other libraries (benchmarks/peers) calls from Python: the limit, and a
// loop around calls of a C library, so that Python's own time does not count as the library's.
#include <cstddef>
#include <cstdint>

#include "limit.h"

#define NORMGRAD_HELPER_API extern "C" __attribute__((visibility("default")))

namespace {

using bench::Bytes;

Bytes bytes(const std::uintptr_t* address_and_size) {
  if (address_and_size[1] == 0) return {};
  return {reinterpret_cast<std::byte*>(address_and_size[0]), address_and_size[1]};
}

}  // namespace

// tensors: (address, size in bytes) of two big inputs and a big output (size 0 of the second input
// or the output: there is none), of small_inputs and small_outputs. passes: 2 reads the big inputs
// once more before.
NORMGRAD_HELPER_API void normgrad_bench_move_bytes(const std::uintptr_t* tensors,
                                                   std::int64_t small_inputs,
                                                   std::int64_t small_outputs, int passes,
                                                   bool non_temporal, int threads,
                                                   std::int64_t times) {
  bench::Traffic traffic{{bytes(tensors), bytes(tensors + 2)}, bytes(tensors + 4), {}, {}};
  tensors += 6;
  for (; small_inputs > 0; --small_inputs, tensors += 2) traffic.small_in.push_back(bytes(tensors));
  for (; small_outputs > 0; --small_outputs, tensors += 2)
    traffic.small_out.push_back(bytes(tensors));
  const auto stores = non_temporal ? bench::Stores::kNonTemporal : bench::Stores::kPlain;
  for (std::int64_t i = 0; i < times; ++i) {
    if (passes == 2) bench::read_inputs(traffic, threads);
    bench::move_bytes(traffic, stores, threads);
  }
}

// Calls function(arguments[0], ..., arguments[11]), whose parameters are pointers and sizes and may
// be fewer: those it does not have are harmless, as the caller owns their registers and stack.
// Returns the first result that is not 0, or 0.
NORMGRAD_HELPER_API int normgrad_bench_repeat(std::uintptr_t function, const std::uintptr_t* a,
                                              std::int64_t times) {
  using Word = std::uintptr_t;
  using Function = int (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);
  const auto call = reinterpret_cast<Function>(function);
  for (std::int64_t i = 0; i < times; ++i) {
    const int status =
        call(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
    if (status != 0) return status;
  }
  return 0;
}
