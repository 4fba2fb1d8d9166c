// Sums of few channels: threads share the chunks of all of them; a chunk's sums lie in a fixed slot
// of the workspace, and each channel's are added up in order.
#ifndef NORMGRAD_OPS_CHANNEL_NORM_PARTIALS_H
#define NORMGRAD_OPS_CHANNEL_NORM_PARTIALS_H

#include <array>
#include <cstddef>
#include <cstdint>

#include "cpu/pairwise.h"
#include "cpu/parallel_for.h"
#include "normgrad/plan.h"

namespace normgrad {

// chunk_sums(channel, chunk) on any thread, then finish(channel, sums) channel by channel on this
// one.
template <int K, class ChunkSums, class Finish>
void sum_by_chunks(const ChannelSplit& split, std::byte* workspace, ChunkSums&& chunk_sums,
                   Finish&& finish) {
  using Partial = std::array<double, K>;
  const auto address = reinterpret_cast<std::uintptr_t>(workspace);
  auto* partials = reinterpret_cast<Partial*>(workspace + (16 - address % 16) % 16);
  const std::int64_t chunks = split.n_chunks * split.l_chunks;
  cpu::parallel_for(
      split.channels * chunks, split.channels * split.n * split.l,
      [&](std::int64_t task) { partials[task] = chunk_sums(task / chunks, task % chunks); });
  for (std::int64_t channel = 0; channel < split.channels; ++channel) {
    cpu::Pairwise<K> sums;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
      sums.add(partials[channel * chunks + chunk]);
    finish(channel, sums.finish());
  }
}

}  // namespace normgrad

#endif
