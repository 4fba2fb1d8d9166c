// Channel norms (BatchNorm): sums per channel over everything else, whatever the layout. What the
// operators share outside the loops: the shapes they take, the split into chunks, the workspace.
#ifndef NORMGRAD_OPS_CHANNEL_NORM_CHANNEL_NORM_H
#define NORMGRAD_OPS_CHANNEL_NORM_CHANNEL_NORM_H

#include <initializer_list>

#include "normgrad/plan.h"

namespace normgrad {

// Elements of a reduction chunk; a longer l is cut, a shorter one brings several n together.
inline constexpr std::int64_t kChannelChunk = 4096;
// With fewer channels than this, threads share the chunks of all channels; else each takes whole
// channels.
inline constexpr std::int64_t kFewChannels = 32;

// `x` has rank 2 to 8 and a channel axis, the tensors of `data` its shape, those of `channels` one
// number per channel.
Status check_channel_shapes(const Tensor& x, int channel_axis,
                            std::initializer_list<const Tensor*> data,
                            std::initializer_list<const Tensor*> channels);

// Fills plan.channel for arguments `data` (those with all dims), whose dims are n, channel_axis,
// the rest l.
void split_channels(Plan& plan, std::initializer_list<int> data, int channel_axis);

inline bool has_few_channels(const ChannelSplit& split) { return split.channels < kFewChannels; }

// Workspace for `sums` numbers per chunk of every channel, where threads share chunks.
void reserve_partials(Plan& plan, int sums);

}  // namespace normgrad

#endif
