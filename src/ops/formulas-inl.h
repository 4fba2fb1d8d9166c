// The formulas of BatchNorm forward. V is a number or a set of lanes of numbers; the order of evaluation is part of the
// contract: it fixes every bit.
//   y = w*x_hat + b with x_hat = (x - mean)*rstd
#if defined(NORMGRAD_OPS_FORMULAS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_FORMULAS_INL_H
#undef NORMGRAD_OPS_FORMULAS_INL_H
#else
#define NORMGRAD_OPS_FORMULAS_INL_H
#endif

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/vectors-inl.h"
#include "ops/statistics.h"

NORMGRAD_TARGET_BEGIN

// A constant in arithmetic type A. A NaN becomes the plain one: see store_alternate().
template <typename A>
inline A constant(double value) {
  return std::isnan(value) ? std::numeric_limits<A>::quiet_NaN() : static_cast<A>(value);
}

// x - mean. A mean may have more digits than the arithmetic: mean + mean_low is then the whole of
// it. Close to the mean, where the lost digits would count, the first difference is exact.
template <class V>
inline NORMGRAD_ALWAYS V centred(V x, V mean, V mean_low) {
  return (x - mean) - mean_low;
}
// The low part for arithmetic type A.
template <typename A>
inline double low_part(double mean) {
  const auto high = static_cast<double>(static_cast<A>(mean));
  return std::isfinite(high) ? mean - high : 0.0;
}

// BatchNorm: the weight is constant along the reduction, so it stays outside the sums. Its formulas
// say what they read of an element (dy, x, or x - mean, called x_mu) and what they make of it. kHasRest:
// the mean was computed here and may have a low part whatever the arithmetic.

// A channel's constants; mean_low is what rounding left of the mean. Backward: scale = w*rstd, c1 = db/n, c2 = rstd*dw/n. Forward: scale = w*rstd,
// c1 = b.
template <class V>
struct ChannelMap {
  V mean, mean_low, scale, c1, c2;
};

// Statistics are summed in f64 for every data type.
struct BatchNormSum {
  static constexpr int kSums = 1;
  static constexpr bool kReadsDy = false, kReadsX = true, kCentres = false, kInF64 = true,
                        kHasRest = false;
  template <class V>
  static NORMGRAD_ALWAYS std::array<V, 1> value(V, V x, const ChannelMap<V>&) {
    return {x};
  }
};
struct BatchNormSquares {
  static constexpr int kSums = 1;
  static constexpr bool kReadsDy = false, kReadsX = true, kCentres = true, kInF64 = true,
                        kHasRest = false;
  template <class V>
  static NORMGRAD_ALWAYS std::array<V, 1> value(V, V x_mu, const ChannelMap<V>&) {
    return {x_mu * x_mu};
  }
};
struct BatchNormY {
  static constexpr bool kReadsDy = false, kReadsX = true, kCentres = true, kHasRest = true;
  template <class V>
  static NORMGRAD_ALWAYS V value(V, V x_mu, const ChannelMap<V>& map) {
    return x_mu * map.scale + map.c1;
  }
};

NORMGRAD_TARGET_END
#endif
