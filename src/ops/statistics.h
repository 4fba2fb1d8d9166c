// Formulas of one number at a time that several operators share.
#ifndef NORMGRAD_OPS_STATISTICS_H
#define NORMGRAD_OPS_STATISTICS_H

#include <cmath>

namespace normgrad {

inline double rstd_of(double var, double eps) { return 1.0 / std::sqrt(var + eps); }

// What a running statistic becomes.
inline double updated(double running, double momentum, double now) {
  return (1.0 - momentum) * running + momentum * now;
}

}  // namespace normgrad

#endif
