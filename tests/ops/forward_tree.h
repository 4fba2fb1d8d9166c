// The tree of the forward statistics (docs/architecture.md), written for reading: f64 for every data type, one addition
// after the other.
#ifndef TESTS_OPS_FORWARD_TREE_H
#define TESTS_OPS_FORWARD_TREE_H

#include <algorithm>

#include "ops/tree.h"

namespace ops_test {

inline constexpr std::size_t kForwardLanes = 16;

template <class Term>
double forward_sum_of_chunk(std::size_t n0, std::size_t n1, std::size_t l0, std::size_t l1,
                            const Term& term) {
  double lane[kForwardLanes] = {};
  for (std::size_t n = n0; n < n1; ++n) {
    for (std::size_t l = l0; l < l1; ++l) lane[(l - l0) % kForwardLanes] += term(n, l);
  }
  for (std::size_t half = kForwardLanes / 2; half > 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) lane[j] += lane[j + half];
  }
  return lane[0];
}

// The sum of term(n, l) over count_n x count_l.
template <class Term>
double forward_sum(std::size_t count_n, std::size_t count_l, const Term& term) {
  std::vector<double> chunks;
  for (const Chunk& c : chunks_of(count_n, count_l)) {
    chunks.push_back(forward_sum_of_chunk(c.n.begin, c.n.end, c.l.begin, c.l.end, term));
  }
  return fold(chunks);
}

}  // namespace ops_test

#endif
