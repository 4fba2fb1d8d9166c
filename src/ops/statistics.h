// Formulas of one number at a time that several operators share.
#ifndef NORMGRAD_OPS_STATISTICS_H
#define NORMGRAD_OPS_STATISTICS_H

#include <cmath>

namespace normgrad {

inline double rstd_of(double var, double eps) { return 1.0 / std::sqrt(var + eps); }

// What the rounded quotient mean = sum/n leaves. With f32 data far from 0 the sum is exact, and
// half an ulp of its mean would already be more than 2^-40 of a small x - mean.
inline double rest_of_mean(double sum, double n, double mean) {
  const double rest = std::fma(-n, mean, sum) / n;
  return std::isfinite(rest) ? rest : 0.0;
}

// What a running statistic becomes.
inline double updated(double running, double momentum, double now) {
  return (1.0 - momentum) * running + momentum * now;
}

}  // namespace normgrad

#endif
