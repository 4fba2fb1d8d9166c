// A segment of a channel: `count` consecutive l of one n, and how to bring one together that is
// scattered in memory.
#ifndef NORMGRAD_OPS_CHANNEL_NORM_SEGMENT_H
#define NORMGRAD_OPS_CHANNEL_NORM_SEGMENT_H

#include <algorithm>
#include <cstdint>

#include "kernels/element.h"
#include "ops/plan.h"

namespace normgrad {

struct Segment {
  std::int64_t n, channel, l, count;
};

// Consecutive elements of a channel, all l of an n before the next.
struct Span {
  std::int64_t begin, end;
};

// A chunk of the reduction: some l of one n, or several n.
inline Span span_of(const ChannelSplit& split, std::int64_t chunk) {
  const std::int64_t n = chunk / split.l_chunks * split.chunk_n;
  const std::int64_t l = chunk % split.l_chunks * split.chunk_l;
  const std::int64_t begin = n * split.l + l;
  const std::int64_t end = split.l_chunks > 1 ? n * split.l + std::min(l + split.chunk_l, split.l)
                                              : std::min(n + split.chunk_n, split.n) * split.l;
  return {begin, end};
}

inline bool lies_together(const ChannelSplit& split, int argument) {
  return split.rank == 0 || (split.rank == 1 && split.strides[argument][0] == 1);
}

// Of a segment's first element, if all l lie together or are strided evenly.
inline std::int64_t offset_of(const ChannelSplit& split, int argument, const Segment& segment) {
  const std::int64_t l_stride = split.rank == 0 ? 0 : split.strides[argument][0];
  return segment.n * split.n_strides[argument] + segment.channel * split.channel_strides[argument] +
         segment.l * l_stride;
}

// Calls body(position in the segment, element offset, count, stride) for each run along the
// innermost dim.
template <class Body>
void each_run(const ChannelSplit& split, int argument, const Segment& segment, Body&& body) {
  const int last = split.rank - 1;
  const std::int64_t* stride = split.strides[argument];
  const std::int64_t base =
      segment.n * split.n_strides[argument] + segment.channel * split.channel_strides[argument];
  if (split.rank == 0) return body(0, base, 1, 0);
  for (std::int64_t done = 0; done < segment.count;) {
    std::int64_t index = segment.l + done;
    const std::int64_t inner = index % split.extents[last];
    std::int64_t offset = base + inner * stride[last];
    index /= split.extents[last];
    for (int d = last - 1; d >= 0; --d) {
      offset += index % split.extents[d] * stride[d];
      index /= split.extents[d];
    }
    const std::int64_t run = std::min(split.extents[last] - inner, segment.count - done);
    body(done, offset, run, stride[last]);
    done += run;
  }
}

template <typename T>
void pack_segment(const ChannelSplit& split, int argument, const Segment& segment, const T* from,
                  T* to) {
  each_run(split, argument, segment,
           [&](std::int64_t at, std::int64_t offset, std::int64_t count, std::int64_t stride) {
             for (std::int64_t i = 0; i < count; ++i)
               to[at + i] = kernels::read(from + offset + i * stride);
           });
}
template <typename T>
void unpack_segment(const ChannelSplit& split, int argument, const Segment& segment, const T* from,
                    T* to) {
  each_run(split, argument, segment,
           [&](std::int64_t at, std::int64_t offset, std::int64_t count, std::int64_t stride) {
             for (std::int64_t i = 0; i < count; ++i)
               kernels::write(to + offset + i * stride, from[at + i]);
           });
}

}  // namespace normgrad

#endif
