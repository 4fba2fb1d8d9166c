// The tensors of BatchNorm: shapes, and where their elements lie.
#ifndef NORMGRAD_BENCHMARKS_CHANNELS_H
#define NORMGRAD_BENCHMARKS_CHANNELS_H

#include <cstdint>
#include <string>
#include <vector>

#include "workload.h"

namespace bench {

using Shape = std::vector<std::int64_t>;  // batch, channels, the rest

// n (dim 0) x c x l (all other dims).
struct Channels {
  Channels(const Shape& shape, Layout layout);

  normgrad::Tensor tensor(DataType dtype, const char* name) const;
  Array array(DataType dtype) const { return Array(dtype, elements, storage); }

  // body(c, i) for every element of image n, in the order of memory; i is its place there.
  template <class Body>
  void for_image(std::int64_t image, Body&& body) const {
    const bool last = layout == Layout::kChannelsLast;
    const std::int64_t first = image * n_stride;
    for (std::int64_t outer = 0; outer < (last ? l : c); ++outer) {
      for (std::int64_t inner = 0; inner < (last ? c : l); ++inner) {
        const std::int64_t channel = last ? inner : outer, k = last ? outer : inner;
        body(channel, first + channel * c_stride + k * l_stride);
      }
    }
  }

  Shape shape;
  Layout layout;
  std::int64_t n, c, l, elements;
  std::int64_t n_stride, c_stride, l_stride;
  std::int64_t storage;  // elements, those between the tensor's own included
};

// Every shape of BatchNorm, row-major and channels-last. (N, C) is both, and counts as the latter:
// its channel is innermost.
std::vector<Channels> all_channels();

// Adds op for these tensors in every data type; make(channels, dtype) makes the workload.
template <class Make>
void add_channel_entries(std::vector<Entry>& entries, const std::string& op,
                         const std::vector<Channels>& tensors, const Make& make) {
  for (const Channels& s : tensors) {
    for (const DataType t : kTypes) {
      Entry entry{op, s.layout, join(s.shape), t, s.elements, [=] { return make(s, t); }, {}};
      if (s.layout == Layout::kPadded) {
        const Channels twin(s.shape, Layout::kRowMajor);
        entry.make_twin = [=] { return make(twin, t); };
      }
      entries.push_back(entry);
    }
  }
}

}  // namespace bench

#endif
