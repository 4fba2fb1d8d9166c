// The formulas of BatchNorm's gradients, plainly and in f64, that its operators are checked by.
//   db = sum(dy), dw = sum(dy*x_hat) with x_hat = (x - mean)*r
//   dx = w*r*(dy - db/n - x_hat*dw/n) in training, w*r*dy in inference
#ifndef NORMGRAD_BENCHMARKS_CHANNEL_FORMULAS_H
#define NORMGRAD_BENCHMARKS_CHANNEL_FORMULAS_H

#include <vector>

#include "channels.h"

namespace bench {

// One channel; _t: the same sum of magnitudes.
struct ChannelSums {
  double mean = 0, r = 0, w = 0;
  double db = 0, db_t = 0, dw = 0, dw_t = 0;
};

// Fills in the sums of channels whose mean and r are known.
void add_sums(const Channels& s, const Array& dy, const Array& x,
              std::vector<ChannelSums>& channels);

// scale: 1/n, or 0 in inference.
void check_dx(const Channels& s, const Array& dx, const Array& dy, const Array& x,
              const std::vector<ChannelSums>& channels, double scale);

}  // namespace bench

#endif
