// Channel norms: a tensor as n x channels x l, the walk that x asks for, and chunks of a channel's sums: some l of one n, or
// several n.
#ifndef NORMGRAD_OPS_CHANNEL_SPLIT_H
#define NORMGRAD_OPS_CHANNEL_SPLIT_H

#include <algorithm>
#include <cstdint>

#include "ops/plan.h"

namespace normgrad {

// Fills plan.channel for the arguments with all dims, which are n, the channel axis, the rest l.
void split_channels(PlanBody& plan);

// Calls body(n, l, length) for every n of a chunk.
template <class Body>
void each_piece(const ChannelSplit& split, std::int64_t chunk, Body&& body) {
  const std::int64_t first = chunk / split.l_chunks * split.chunk_n;
  const std::int64_t l = chunk % split.l_chunks * split.chunk_l;
  const std::int64_t length = std::min(split.chunk_l, split.l - l);
  const std::int64_t end = std::min(split.n, first + split.chunk_n);
  for (std::int64_t n = first; n < end; ++n) body(n, l, length);
}
// A channel's elements in front of a chunk, or of the end.
inline std::int64_t elements_before(const ChannelSplit& split, std::int64_t chunk) {
  return std::min(split.n, chunk / split.l_chunks * split.chunk_n) * split.l +
         chunk % split.l_chunks * split.chunk_l;
}

}  // namespace normgrad

#endif
