// The limit that an operator is measured against: its bytes, moved with as little arithmetic as
// possible.
#ifndef NORMGRAD_BENCHMARKS_LIMIT_H
#define NORMGRAD_BENCHMARKS_LIMIT_H

#include <cstddef>
#include <vector>

namespace bench {

struct Bytes {
  std::byte* data = nullptr;
  std::size_t size = 0;
};

// What an operator reads and writes: one or two big inputs, a big output of their size or none, and
// the small rest (parameters, statistics and their gradients).
struct Traffic {
  Bytes in[2], out;
  std::vector<Bytes> small_in, small_out;

  std::size_t bytes() const;
};

enum class Stores { kPlain, kNonTemporal, kNone };
const char* name(Stores stores);

// Reads every input once and writes every output once: out = in[0] + in[1], as integers, since the
// bits of 16-bit tensors taken as f32 might be subnormal and slow. Thread t of n takes the t-th
// n-th of each array. All arrays are aligned to 64 bytes.
void move_bytes(const Traffic& traffic, Stores stores, int threads);

// Reads the big inputs once: the first of two passes, of which move_bytes is the second.
void read_inputs(const Traffic& traffic, int threads);

}  // namespace bench

#endif
