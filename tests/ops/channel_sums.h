// Sums over channels in the order that the layout of x asks for.
#ifndef TESTS_OPS_CHANNEL_SUMS_H
#define TESTS_OPS_CHANNEL_SUMS_H

#include "ops/problem.h"
#include "ops/tree.h"

namespace ops_test {

struct ChannelSums {
  double g, gx;  // dy, dy*(x - mean)
};

// Whether channels are walked pixel by pixel, all together, or plane by plane, one after the other: by the strides of x
// alone. (N, C) is walked by pixels, whatever its strides.
bool walks_pixels(const Problem& problem);

// How many pixels (n, l) make one row of the walk, `count` in all.
std::size_t pixels_in_a_row(std::size_t channels, std::size_t count);

// Of every channel.
std::vector<ChannelSums> channel_sums(const Problem& problem, Arithmetic arithmetic);

}  // namespace ops_test

#endif
