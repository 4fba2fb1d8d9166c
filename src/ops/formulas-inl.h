// Every formula of the family, once. V is a number or a set of lanes of numbers; the order of
// evaluation is part of the contract: it fixes every bit.
//
// y = w*x_hat + b with x_hat = (x - mean)*rstd. Let a = w*dy, means over the n elements that share
// (mean, rstd). d(loss)/d(x_hat) = a; the path through mean takes the mean of a away, the path
// through rstd takes away the component of a along x_hat, and all paths share the factor rstd:
//   dx = rstd*(a - mean(a) - x_hat*mean(a*x_hat))   LayerNorm, BatchNorm in training
//   dx = rstd*(a           - x_hat*mean(a*x_hat))   RMSNorm: nothing was centred
//   dx = rstd*a                                     BatchNorm in inference: constant statistics
//   dw = sum(dy*x_hat), db = sum(dy)                over all elements that share the weight
// The factor rstd stays outside: with rstd = Inf (zero variance, no eps) the parenthesis decides
// between Inf and NaN.
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

#include "cpu/vectors-inl.h"
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

// A row norm's constants along a row: given statistics (mean, rstd) and what the row's sums yield
// (c1, c2).
template <class V>
struct RowMap {
  V mean, mean_low, rstd, c1, c2;
};

// LayerNorm given x_hat itself.
struct LayerNormOfXHat {
  static constexpr int kRowSums = 2;
  static constexpr int kColumnSums = 2;
  static constexpr bool kComputesRstd = false;
  static constexpr bool kMakesXHat = false;  // x_hat is what is read

  template <class V>
  static NORMGRAD_ALWAYS V x_hat(V x, const RowMap<V>&) {
    return x;
  }
  template <class V>
  static NORMGRAD_ALWAYS std::array<V, 2> row_terms(V dy, V w, V x_hat) {
    return {dy * w, (dy * w) * x_hat};  // one product; given a name, g++ 12 also stores it
  }
  template <class V>
  static NORMGRAD_ALWAYS void finish(const std::array<V, 2>& sums, V n, RowMap<V>& map) {
    map.c1 = sums[0] / n;
    map.c2 = sums[1] / n;
  }
  template <class V>
  static NORMGRAD_ALWAYS V dx(V dy, V w, V x_hat, const RowMap<V>& map) {
    return (product_minus(dy, w, map.c1) - x_hat * map.c2) * map.rstd;
  }
  // The sum for dw, one row on.
  template <class V>
  static NORMGRAD_ALWAYS V plus_weight_term(V sum, V dy, V x_hat, const RowMap<V>&) {
    return product_plus(dy, x_hat, sum);
  }
};

// LayerNorm given x, mean and rstd.
struct LayerNormOfX : LayerNormOfXHat {
  static constexpr bool kMakesXHat = true;

  template <class V>
  static NORMGRAD_ALWAYS V x_hat(V x, const RowMap<V>& map) {
    if constexpr (std::is_same_v<V, Vec<double>>) {
      return (x - map.mean) * map.rstd;  // a given mean has no more digits than f64
    }
    return centred(x, map.mean, map.mean_low) * map.rstd;
  }
  template <class V>
  static NORMGRAD_ALWAYS V plus_weight_term(V sum, V dy, V x_hat, const RowMap<V>&) {
    return sum + dy * x_hat;
  }
};

// RMSNorm: x_hat = x*rstd with rstd = 1/sqrt(mean(x^2)). One sweep over x gives both sums, so rstd
// comes in afterwards: mean(a*x_hat) = rstd*sum(a*x)/n =: c, and c2 = rstd*c.
struct RmsNorm {
  static constexpr int kRowSums = 2;
  static constexpr int kColumnSums = 1;
  static constexpr bool kComputesRstd = true;
  static constexpr bool kMakesXHat = false;

  template <class V>
  static NORMGRAD_ALWAYS V x_hat(V x, const RowMap<V>&) {
    return x;  // rstd is applied below
  }
  template <class V>
  static NORMGRAD_ALWAYS std::array<V, 2> row_terms(V dy, V w, V x) {
    return {(dy * w) * x, x * x};
  }
  template <class V>
  static NORMGRAD_ALWAYS void finish(const std::array<V, 2>& sums, V n, RowMap<V>& map) {
    map.rstd = 1.0 / square_root(sums[1] / n);
    map.c1 = sums[1];  // dx has no such term; the loops look at it to see whether f32 has lost the
                       // squares
    set_c2(sums[0], n, map);
  }
  template <class V>
  static NORMGRAD_ALWAYS void set_c2(V sum_a_x, V n, RowMap<V>& map) {
    const V c = map.rstd * sum_a_x / n;
    map.c2 = map.rstd * c;
  }
  template <class V>
  static NORMGRAD_ALWAYS V dx(V dy, V w, V x, const RowMap<V>& map) {
    return map.rstd * product_minus(dy, w, x * map.c2);
  }
  template <class V>
  static NORMGRAD_ALWAYS V plus_weight_term(V sum, V dy, V x, const RowMap<V>& map) {
    return sum + (dy * x) * map.rstd;
  }
};

// RMSNorm given rstd.
struct RmsNormOfRstd : RmsNorm {
  static constexpr int kRowSums = 1;
  static constexpr bool kComputesRstd = false;

  template <class V>
  static NORMGRAD_ALWAYS std::array<V, 1> row_terms(V dy, V w, V x) {
    return {(dy * w) * x};
  }
  template <class V>
  static NORMGRAD_ALWAYS void finish(const std::array<V, 1>& sums, V n, RowMap<V>& map) {
    set_c2(sums[0], n, map);
  }
};

// Forward. kCentres: there is a mean, and b.
struct LayerNormY {
  static constexpr bool kCentres = true;
  template <class V>
  static NORMGRAD_ALWAYS V value(V x, V w, V b, const RowMap<V>& map) {
    return centred(x, map.mean, map.mean_low) * map.rstd * w + b;
  }
};
struct RmsNormY {
  static constexpr bool kCentres = false;
  template <class V>
  static NORMGRAD_ALWAYS V value(V x, V w, const RowMap<V>& map) {
    return x * map.rstd * w;
  }
};

// BatchNorm: the weight is constant along the reduction, so it stays outside the sums. Its formulas
// say what they read of an element (dy, x, or x - mean, called x_mu) and what they make of it. kHasRest:
// the mean was computed here and may have a low part whatever the arithmetic.

// A channel's constants; mean_low is what rounding left of the mean. Backward: scale = w*rstd, c1 = db/n, c2 = rstd*dw/n. Forward: scale = w*rstd,
// c1 = b.
template <class V>
struct ChannelMap {
  V mean, mean_low, scale, c1, c2;
};

struct BatchNormGradientSums {
  static constexpr int kSums = 2;
  static constexpr bool kReadsDy = true, kReadsX = true, kCentres = true, kInF64 = false,
                        kHasRest = false;
  template <class V>
  static NORMGRAD_ALWAYS std::array<V, 2> value(V dy, V x_mu, const ChannelMap<V>&) {
    return {dy, dy * x_mu};
  }
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
struct BatchNormTrainingDx {
  static constexpr bool kReadsDy = true, kReadsX = true, kCentres = true, kHasRest = false;
  template <class V>
  static NORMGRAD_ALWAYS V value(V dy, V x_mu, const ChannelMap<V>& map) {
    return map.scale * (minus(dy, map.c1) - x_mu * map.c2);
  }
};
struct BatchNormInferenceDx {
  static constexpr bool kReadsDy = true, kReadsX = false, kCentres = false, kHasRest = false;
  template <class V>
  static NORMGRAD_ALWAYS V value(V dy, V, const ChannelMap<V>& map) {
    return dy * map.scale;
  }
};
struct BatchNormY {
  static constexpr bool kReadsDy = false, kReadsX = true, kCentres = true, kHasRest = true;
  template <class V>
  static NORMGRAD_ALWAYS V value(V, V x_mu, const ChannelMap<V>& map) {
    return x_mu * map.scale + map.c1;
  }
};

struct ChannelGradients {
  double dw, db;
};
inline ChannelGradients batch_norm_gradients(std::array<double, 2> sums, double rstd) {
  return {rstd * sums[1], sums[0]};
}
// What dx needs in inference: the mean and the sums have no part in it.
inline ChannelMap<double> batch_norm_inference_map(double rstd, double w) {
  return {0, 0, w * rstd, 0, 0};
}
// And in training.
inline ChannelMap<double> batch_norm_map(ChannelGradients sums, double rstd, double w, double n,
                                         double mean) {
  return {mean, 0, batch_norm_inference_map(rstd, w).scale, sums.db / n, rstd * sums.dw / n};
}

NORMGRAD_TARGET_END
#endif
