// The tensors of BatchNorm: shapes, and where their elements lie.
#ifndef NORMGRAD_BENCHMARKS_CHANNELS_H
#define NORMGRAD_BENCHMARKS_CHANNELS_H

#include <cstdint>
#include <string>
#include <vector>

#include "workload.h"

namespace bench {

using Shape = std::vector<std::int64_t>;  // batch, channels, the rest

// n (dim 0) x c x l (all other dims); in memory n, c, l or n, l, c.
struct Channels {
  Channels(const Shape& shape, Layout layout);

  normgrad::Tensor tensor(DataType dtype, const char* name) const;

  // body(c, i) for every element i of image n, in the order of memory.
  template <class Body>
  void for_image(std::int64_t image, Body&& body) const {
    std::int64_t i = image * c * l;
    if (layout == Layout::kChannelsLast) {
      for (std::int64_t end = i + c * l; i < end;)
        for (std::int64_t channel = 0; channel < c; ++channel) body(channel, i++);
    } else {
      for (std::int64_t channel = 0; channel < c; ++channel)
        for (std::int64_t end = i + l; i < end;) body(channel, i++);
    }
  }

  Shape shape;
  Layout layout;
  std::int64_t n, c, l, elements;
};

// Every shape of BatchNorm in every layout. (N, C) is row-major and channels-last at once, and
// counts as the latter: its channel is innermost.
std::vector<Channels> all_channels();

}  // namespace bench

#endif
