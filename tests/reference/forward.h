// The forward side: statistics and outputs, and the statistics of a batch from those of its parts. Values and scales as in gradients.h.
#ifndef TESTS_REFERENCE_FORWARD_H
#define TESTS_REFERENCE_FORWARD_H

#include "reference/gradients.h"

namespace reference {

// Element (o, c, i) of outer x channels x inner. Training: the statistics are those of x, mean,
// rstd and var are not looked at. Otherwise mean, and rstd or var, are given, or absent.
struct ForwardNorm {
  std::size_t outer = 0, channels = 0, inner = 0;
  std::vector<double> x;
  std::vector<double> w, b, mean, rstd, var;      // channels
  std::vector<double> running_mean, running_var;  // channels
  double eps = 0, momentum = 0;
  bool training = true;
};

struct Forward {
  Expected y, mean, rstd, var, running_mean, running_var;  // BatchNorm; the last ones if given
  Magnitudes seen;                                         // of w, b, x, x - mean, x_hat
  Magnitudes rstd_seen;
};

// An x without elements has mean 0, rstd and var NaN, and updates nothing.
Forward batch_norm_forward(const ForwardNorm& in);

struct RowForward {
  std::size_t rows = 0, columns = 0;
  std::vector<double> x;     // rows x columns
  std::vector<double> w, b;  // columns
  double eps = 0;
};

// y, mean and rstd. Rows without elements have mean 0, rstd NaN.
Forward layer_norm_forward(const RowForward& in);
Forward rms_norm_forward(const RowForward& in);

// What several devices know of their parts of a batch.
struct Parts {
  std::size_t devices = 0, channels = 0;
  std::vector<double> mean, rstd;  // devices x channels
  std::vector<double> counts;      // devices: elements per channel
  std::vector<double> running_mean, running_var;
  double eps = 0, momentum = 0;
};

struct Whole {
  Expected mean, rstd, running_mean, running_var;
  // The largest eps*rstd^2 of a part: 1 at most, if rstd is 1/sqrt(var + eps). Far above, 1/rstd^2
  // - eps and eps cancel, and no arithmetic of a fixed precision keeps a bound.
  double eps_share = 0;
};

Whole gather_stats(const Parts& in);

}  // namespace reference

#endif
