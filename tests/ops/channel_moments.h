// Moments of channels, and how those of parts become those of the whole, in the order that the layout of x asks for.
#ifndef TESTS_OPS_CHANNEL_MOMENTS_H
#define TESTS_OPS_CHANNEL_MOMENTS_H

#include "ops/channel_walk.h"
#include "ops/tree.h"

namespace ops_test {

// Of n elements: sum(x), and sum((x - mean)^2) around their own mean.
struct Moments {
  double n = 0, sum = 0, squares = 0;
};

Moments channel_moments(const ChannelWalk& in, Arithmetic arithmetic);

}  // namespace ops_test

#endif
