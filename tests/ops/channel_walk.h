// The elements of one channel as the tree sees them: (n, l).
#ifndef TESTS_OPS_CHANNEL_WALK_H
#define TESTS_OPS_CHANNEL_WALK_H

#include <algorithm>

#include "ops/problem.h"

namespace ops_test {

struct ChannelWalk {
  const Problem& p;
  std::size_t c;
  ChannelExtents e = channel_extents(p);
  // n is dim 0, l the other dims but the channel; with the channel in dim 0 there is one n.
  std::size_t count_n =
      p.channel_axis == 0 ? 1 : static_cast<std::size_t>(p.tensor[p.big_input()].shape[0]);
  std::size_t count_l = e.outer * e.inner / std::max<std::size_t>(1, count_n);

  double count() const { return static_cast<double>(count_n * count_l); }
  std::size_t index(std::size_t n, std::size_t l) const {
    const std::size_t reduced = n * count_l + l;
    return (reduced / e.inner * e.channels + c) * e.inner + reduced % e.inner;
  }
  template <class Body>
  void for_each(const Body& body) const {
    for (std::size_t n = 0; n < count_n; ++n) {
      for (std::size_t l = 0; l < count_l; ++l) body(index(n, l));
    }
  }
  // A parameter of this channel, or what it is when absent.
  double parameter(Slot slot, double absent) const {
    return p.has(slot) ? p.value[slot][c] : absent;
  }
};

}  // namespace ops_test

#endif
