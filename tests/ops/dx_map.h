// The map from dy and x to dx, in either arithmetic. All but dy and x is constant along a row or channel.
#ifndef TESTS_OPS_DX_MAP_H
#define TESTS_OPS_DX_MAP_H

#include <cmath>

#include "ops/model.h"
#include "ops/tree.h"

namespace ops_test {

// Whether fast arithmetic takes a statistic or coefficient as it is.
inline bool in_range(double v) { return v == 0 || (std::fabs(v) >= 1e-30 && std::fabs(v) <= 1e30); }

// x - mean. In fast a mean with more digits than f32 is taken off in two parts.
inline double centred(Arithmetic arithmetic, double x, double mean) {
  if (arithmetic == Arithmetic::kExact) return x - mean;
  const auto high = static_cast<float>(mean);
  const double rest = mean - static_cast<double>(high);
  return (static_cast<float>(x) - high) - static_cast<float>(std::isnan(rest) ? 0 : rest);
}

// exact:  dx = scale*((g - c1) - x_n*c2)           with x_n = (x - mean)*r
// fast:   dx = A*g + B*(x - mean) + C, fused, the coefficients computed in f64 and rounded to f32
struct DxMap {
  double mean = 0, r = 1;
  double scale = 1, c1 = 0, c2 = 0;

  double a() const { return scale; }
  double b() const { return -((scale * c2) * r); }
  double c() const { return -(scale * c1); }
  bool fits_fast() const { return in_range(a()) && in_range(b()) && in_range(c()); }

  double x_n(double x) const { return (x - mean) * r; }
  double dx(Arithmetic arithmetic, double g, double x) const {
    if (arithmetic == Arithmetic::kExact) return scale * ((g - c1) - x_n(x) * c2);
    return multiply_add(arithmetic, centred(arithmetic, x, mean), b(),
                        multiply_add(arithmetic, g, a(), c()));
  }
};

}  // namespace ops_test

#endif
