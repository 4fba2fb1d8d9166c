// Forward passes of norms whose statistics belong to a channel: computed (training) or given, and y.
#ifndef NORMGRAD_OPS_CHANNEL_FORWARD_H
#define NORMGRAD_OPS_CHANNEL_FORWARD_H

#include "kernels/kernels.h"
#include "ops/plan.h"

namespace normgrad {

// y = w*x_hat + b with x_hat = (x - mean)*r. rest: what rounding left of the mean. In place: a copy would wait for its parts
// to be stored.
inline void set_forward_map(double mean, double rest, double r, double w, double b,
                            kernels::RowMap& map) {
  map.mean = mean, map.r = r, map.scale = w * r, map.rest = rest, map.shift = b;
  map.c1 = map.c2 = 0, map.w = 1;
}

// Squares that f32 holds, of differences of which it has all digits. 0 stands for none at all, or for squares that f32 lost,
// at most 2^-149 each, which eps must hide.
inline bool has_squares(double squares, double eps) {
  return squares == 0 ? eps >= 0x1p-100 : squares >= 0x1p-100 && squares <= 0x1p120;
}

// plan.channel is there.
Status plan_channel_forward(PlanBody& plan);
void run_channel_forward(const PlanBody& plan, void* const* data, std::byte* workspace);

}  // namespace normgrad

#endif
