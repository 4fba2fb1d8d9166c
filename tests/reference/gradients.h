// What an operator must yield: for every element of every output the exact result for the inputs as
// stored, and the scale T that its error is measured with. Plain loops over logical, row-major
// indices; absent inputs are empty.
#ifndef TESTS_REFERENCE_GRADIENTS_H
#define TESTS_REFERENCE_GRADIENTS_H

#include <cstddef>
#include <vector>

#include "reference/quad.h"

namespace reference {

struct Expected {
  std::vector<Quad> value, scale;

  explicit Expected(std::size_t size = 0) : value(size), scale(size) {}
  void set(std::size_t i, Quad r, Quad T) { value[i] = r, scale[i] = T; }
  void add(std::size_t i, Quad term) { value[i] += term, scale[i] += magnitude(term); }
};

// Of the non-zero, finite magnitudes seen: f32 arithmetic promises its bound within a range.
struct Magnitudes {
  double smallest = HUGE_VAL, largest = 0;
  bool infinite = false;  // whether one was

  void note(Quad value) {
    const double size = static_cast<double>(magnitude(value));
    infinite = infinite || std::isinf(size);
    if (size == 0 || !std::isfinite(size)) return;
    smallest = size < smallest ? size : smallest;
    largest = size > largest ? size : largest;
  }
};

struct Gradients {
  Expected dx, dw, db;
  Magnitudes seen;  // of dy, w, x, x - mean, x_hat
  Magnitudes rstd;
  Expected sum_dy = Expected(), sum_dy_xmu = Expected();  // BatchNorm
};

// Either x_hat and sigma, or x, mean and rstd; for RMSNorm x, and rstd or nothing.
struct RowNorm {
  std::size_t rows = 0, columns = 0;
  std::vector<double> dy, x, x_hat;       // rows x columns
  std::vector<double> sigma, mean, rstd;  // rows
  std::vector<double> w;                  // columns
};

// Element (o, c, i) of outer x channels x inner; channel c is reduced over o and i.
struct ChannelNorm {
  std::size_t outer = 0, channels = 0, inner = 0;
  std::vector<double> dy, x;
  std::vector<double> w, mean, rstd, var;  // channels
  double eps = 0;
  bool training = true;
  // For the second half of SyncBatchNorm: sums over all devices, and their elements per channel.
  std::vector<double> sum_dy{}, sum_dy_xmu{};  // channels
  std::vector<double> counts{};
};

Gradients layer_norm_backward(const RowNorm& in);
Gradients rms_norm_backward(const RowNorm& in);
Gradients batch_norm_backward(const ChannelNorm& in);
Gradients batch_norm_elemt_backward(const ChannelNorm& in);  // dx alone

}  // namespace reference

#endif
