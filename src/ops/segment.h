// Chunks of a channel's sums: some l of one n, or several n.
#ifndef NORMGRAD_OPS_SEGMENT_H
#define NORMGRAD_OPS_SEGMENT_H

#include <algorithm>
#include <cstdint>

#include "ops/plan.h"

namespace normgrad {

// Calls body(n, l, length) for every n of a chunk.
template <class Body>
void each_piece(const ChannelSplit& split, std::int64_t chunk, Body&& body) {
  const std::int64_t first = chunk / split.l_chunks * split.chunk_n;
  const std::int64_t l = chunk % split.l_chunks * split.chunk_l;
  const std::int64_t length = std::min(split.chunk_l, split.l - l);
  const std::int64_t end = std::min(split.n, first + split.chunk_n);
  for (std::int64_t n = first; n < end; ++n) body(n, l, length);
}

}  // namespace normgrad

#endif
