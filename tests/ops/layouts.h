// Random layouts of a shape: padded, permuted, reversed, expanded, shifted.
#ifndef TESTS_OPS_LAYOUTS_H
#define TESTS_OPS_LAYOUTS_H

#include "ops/problem.h"
#include "ops/random.h"

namespace ops_test {

enum class Role { kInput, kOutput };  // an output's elements have addresses of their own
enum class LastStride { kOne, kAny };

TensorSpec random_layout(Random& random, Format format, std::vector<std::int64_t> shape, Role role,
                         LastStride last);
TensorSpec random_vector(Random& random, Format format, std::int64_t size, Role role);

// The channel innermost in memory, the other dims in their order around it; gaps between pixels, or none.
TensorSpec channels_last(Format format, std::vector<std::int64_t> shape, int channel_axis,
                         std::int64_t gap = 0);
// All big tensors of a problem, but for one now and then.
void lay_channels_last(Random& random, Problem& problem);

// `count` as a product of `rank` extents.
std::vector<std::int64_t> random_factors(Random& random, std::int64_t count, std::size_t rank);

// Every tensor packed, at an aligned address, dx in its own.
Problem packed(const Problem& problem);

}  // namespace ops_test

#endif
