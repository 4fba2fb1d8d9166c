#include "channels.h"

namespace bench {

Channels::Channels(const Shape& s, Layout where) : shape(s), layout(where), n(s[0]), c(s[1]), l(1) {
  for (std::size_t d = 2; d < s.size(); ++d) l *= s[d];
  elements = n * c * l;
  const bool last = layout == Layout::kChannelsLast;
  c_stride = last ? 1 : layout == Layout::kPadded ? l + kPadding : l;
  l_stride = last ? c : 1;
  n_stride = last ? c * l : c * c_stride;
  storage = n * n_stride;
}

normgrad::Tensor Channels::tensor(DataType dtype, const char* name) const {
  normgrad::Tensor t = bench::tensor(dtype, shape, name);
  t.strides[0] = n_stride;
  t.strides[1] = c_stride;
  for (int d = 2; d < t.rank; ++d) t.strides[d] *= l_stride;
  return t;
}

std::vector<Channels> all_channels() {
  const Shape shapes[] = {{32, 64, 56, 56}, {32, 256, 14, 14}, {8, 512, 7, 7},      {32, 64, 12544},
                          {128, 1024},      {4, 3, 224, 224},  {16, 32, 16, 28, 28}};
  std::vector<Channels> all;
  for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast}) {
    for (const Shape& s : shapes) {
      if (s.size() > 2 || layout == Layout::kChannelsLast) all.emplace_back(s, layout);
    }
  }
  return all;
}

}  // namespace bench
