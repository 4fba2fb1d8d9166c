// How the moments of parts become those of the whole.
#ifndef NORMGRAD_KERNELS_MERGE_H
#define NORMGRAD_KERNELS_MERGE_H

namespace normgrad::kernels {

// A part, n elements, has moments: their sum, and their squares, the sum of (x - mean)^2 around the part's own mean. Of two
// parts together
//   squares = squares_a + squares_b + (sum_b*n_a - sum_a*n_b)^2 / (n_a*n_b*(n_a + n_b))
// f64 has the products wherever it has the sums with some digits to spare: parts that have one mean then add exactly 0.
// V: a number or a vector of them. Inlined always: who compiles it for AVX2 must leave no function behind.
class Merge {
 public:
  __attribute__((always_inline)) Merge(double n_a, double n_b)
      : n_a_(n_a), n_b_(n_b), share_(n_a * n_b == 0 ? 0 : 1 / (n_a * n_b * (n_a + n_b))) {}

  template <class V>
  __attribute__((always_inline)) void operator()(const V& sum_b, const V& squares_b, V& sum,
                                                 V& squares) const {
    const V distance = sum_b * n_a_ - sum * n_b_;
    squares = (squares + squares_b) + distance * distance * share_;
    sum = sum + sum_b;
  }

 private:
  double n_a_, n_b_, share_;
};

}  // namespace normgrad::kernels

#endif
