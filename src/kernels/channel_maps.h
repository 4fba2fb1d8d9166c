// The maps of channels as rows of numbers in the kernels' arithmetic: what is constant for a channel is rounded once.
#ifndef NORMGRAD_KERNELS_CHANNEL_MAPS_H
#define NORMGRAD_KERNELS_CHANNEL_MAPS_H

#include "kernels/target.h"

namespace normgrad::NORMGRAD_TARGET {

template <class A>
NORMGRAD_INLINE void prepare_channel(Form form, const RowMap& map, A* rows, std::int64_t pitch) {
  if (form == Form::kX) {  // x is subtracted from the mean: see channel_moments.h
    rows[kMean * pitch] = plain_number<A>(map.mean);
    rows[kB * pitch] = plain_number<A>(-map.scale);
    rows[kC * pitch] = plain_number<A>(map.constant());
    return;
  }
  rows[kMean * pitch] = plain_number<A>(map.mean);
  rows[kRest * pitch] = plain_number<A>(rest_of<A>(map.mean));
  rows[kA * pitch] = map.rounded.a;
  rows[kB * pitch] = map.rounded.b;
  rows[kC * pitch] = map.rounded.c;
}
template <class A>
void prepare_planes(Form form, const ChannelMaps& maps, std::int64_t count) {
  for (std::int64_t c = maps.first; c < maps.first + count; ++c) {
    prepare_channel<A>(form, maps.maps[c], maps.rows + c, maps.pitch);
  }
}

// Rows of numbers in the order of lanes. After as many pixels as fill whole steps they repeat themselves.
template <class A, class T>
void prepare_columns(Form form, ChannelMaps& maps, std::int64_t begin, std::int64_t end) {
  constexpr DataType kOrder = kSplitsLanes<A, T> ? DataType::kBF16 : DataType::kF32;
  std::int64_t period = maps.channels;
  while (period % kStep != 0) period *= 2;
  const std::int64_t first_end = end - begin < period ? end : begin + period;
  maps.have_rest = false;
  for (std::int64_t c = begin; c < end && c < begin + maps.channels; ++c) {
    const RowMap& map = maps.maps[c];
    maps.have_rest |= form != Form::kX && rest_of<A>(map.mean) != 0;
    for (std::int64_t column = c; column < first_end; column += maps.channels) {
      prepare_channel<A>(form, map, maps.rows + kernels::lane_of(kOrder, column), maps.pitch);
    }
  }
  for (int r = 0; r < kernels::kChannelMapRows; ++r) {
    A* row = maps.rows + r * maps.pitch;
    for (std::int64_t c = begin + period; c < end; ++c) row[c] = row[c - period];
  }
}

// x - mean, of which f32 has all digits, or not.
template <class A, bool kHasRest>
NORMGRAD_INLINE Vec<A> off_mean(Vec<A> x, Vec<A> mean, Vec<A> rest) {
  if constexpr (kHasRest) return (x - mean) - rest;
  return x - mean;
}

}  // namespace normgrad::NORMGRAD_TARGET

#endif
