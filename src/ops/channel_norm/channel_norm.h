// Channel norms (BatchNorm): sums per channel over everything else, whatever the layout. What the
// operators share outside the loops: the shapes they take, the split into chunks, the workspace.
#ifndef NORMGRAD_OPS_CHANNEL_NORM_CHANNEL_NORM_H
#define NORMGRAD_OPS_CHANNEL_NORM_CHANNEL_NORM_H

#include <array>

#include "ops/channel_norm/segment.h"

namespace normgrad {

// Elements of a reduction chunk; a longer l is cut, a shorter one brings several n together.
inline constexpr std::int64_t kChannelChunk = 4096;
// With fewer channels than this, threads share the chunks of all channels; else each takes whole
// channels, if its share of the cache holds them.
inline constexpr std::int64_t kFewChannels = 32;
// Channels that the walk across channels takes at once: narrower tiles leave gaps that memory is slow to
// jump over (f32 32x256x14x14: 64 channels at a time took 2 to 3 times as long).
inline constexpr std::int64_t kChannelTile = 256;

// Channels [first, first + count).
struct ChannelTile {
  std::int64_t first, count;
};

// What one task writes of the output.
struct OutputPart {
  ChannelTile tile;
  Span span;
};

// Which arguments are read and written element by element.
struct ChannelArguments {
  int dy, x, out;
};

// Up to two sums of one channel: what all its results are made of.
using ChannelTotals = std::array<double, 2>;
// Those of a tile's channels.
struct TileTotals {
  const ChannelTotals* first;
  std::int64_t stride;  // from channel to channel; 0: there are none, all read as the first
  const ChannelTotals& operator[](std::int64_t i) const { return first[i * stride]; }
};
// Where the sums of a tile's channels go.
struct ChannelSums {
  double* at;           // of the first channel
  std::int64_t stride;  // from channel to channel
};

// Fills plan.channel for the arguments with all dims, which are n, the channel axis, the rest l.
void split_channels(PlanBody& plan);

// Workspace for the totals of every chunk of every channel.
Status reserve_totals(PlanBody& plan);

}  // namespace normgrad

#endif
