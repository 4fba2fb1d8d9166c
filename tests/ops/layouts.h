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

// `count` as a product of `rank` extents.
std::vector<std::int64_t> random_factors(Random& random, std::int64_t count, std::size_t rank);

// Every tensor packed, at an aligned address, dx in its own.
Problem packed(const Problem& problem);

}  // namespace ops_test

#endif
