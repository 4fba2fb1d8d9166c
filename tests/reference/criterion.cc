// |y - r| <= 1/2*ulp(r) + c*T, where the first term is the one rounding at the store and the second
// bounds everything before it. T is the sum of the magnitudes of the terms that make up r, so a
// relative error e of each term moves the result by at most e*T.
//
// exact, c = 2^-40 for every data type. Everything is f64, u = 2^-53: a term has at most 4 roundings, no chain of
// additions has more than 2^12 terms, the map to dx has some 8 roundings more: below 2^13*u.
//
// fast, every data type. Elements and chains of 8 are f32, u = 2^-24; all above is f64 and stays below 2^-32. Roundings
// between the stored elements and the result, at most:
//   a sum along memory   dy*w 1, x - mean 2 (high part, low part), chain 8, folds of lanes 2             13
//   a sum down columns   x - mean 2, r 1, dy*r 1, chain 8                                                12
//   dw of RMSNorm        r 1, dy*r 1, chain 8, and half of the 10 in the sum of squares under the root   15
//   dx: the term of B    the sum 13, B 1, x - mean 2, the outer sum 1                                    17
//   dx of RMSNorm        the sum 11, r^3 15, B 1, the outer sum 1                                        28
//   rstd of a row        x - pivot 1 (2 in its square), chain 8, folds 2; 2*sqrt(1/7) of the 11 in d, as pivots may be off
//                        (kernels::is_far), all by 8/7; across blocks 2*11*sqrt(8/7) of sqrt(W*(1 - W)), W the share of the
//                        variance within blocks: at most 28 of the variance, of which the root has half  14
//   its mean             the 11 of mean|x - pivot|; but where the pivot is off by more than mean|x|, by up to 7 times that
//                        (kernels::is_far), nearly all terms are alike, and halves of their sums' last places add up to
//                        33/8 of the pivot's distance                                                      30
//   y of LayerNorm       x - mean 1, r 15, sum 1 of x_hat; the mean 30, its rest 1 of mean|x_hat|         31
//   y of RMSNorm         r 7, x*r 1, *w 1                                                                  9
//   forward, of a channel with m near its mean (no x is nearer to it than the f32 of the mean):
//     mean               of mean|x - m|: x - m 1, chain 8, folds 2                                       11
//     variance           squares 2, chain 8, folds 2; twice, as m may be as far from the mean as x       24
//     y                  the mean 11, half of the variance 12, x - m 1, A 1, C 1, the sum 1              27
// So c = 2^-20 = 16*u for sums, and 2^-19 = 32*u for elements and forward statistics.
//
// GatherStats computes numbers per channel in f64: 2^-40.
//
// Overflow: round-to-nearest goes to infinity from max + 1/2 ulp(max) on. Within 1/2 ulp of that
// point (the rounding) plus c*T (the arithmetic), max and infinity are both right.
#include "reference/criterion.h"

#include <cmath>

namespace reference {
namespace {

double relative_error(const Rule& rule) {
  constexpr double kF64 = 0x1p-40, kF32 = 0x1p-20;
  if (rule.arithmetic == Arithmetic::kExact) return kF64;
  return rule.which == Output::kSum ? kF32 : 2 * kF32;
}

bool same_class(double y, Quad r) {
  if (is_nan(r)) return std::isnan(y);
  return std::isinf(y) && (y > 0) == (r > 0);
}

}  // namespace

double ulp(Quad r, Format format) {
  const FormatFacts& f = facts(format);
  const Quad size = magnitude(r);
  int exponent = f.min_exponent;
  if (size > std::ldexp(1.0, f.min_exponent)) {
    exponent = std::ilogb(static_cast<double>(size));
    if (Quad{std::ldexp(1.0, exponent)} > size) --exponent;  // the conversion to double rounded up
  }
  return std::ldexp(1.0, exponent - f.precision + 1);
}

Verdict within_bound(double y, Quad r, Quad T, const Rule& rule, Quad further) {
  const Format output = rule.output;
  if (!is_finite(r)) return {rule.classes_count ? same_class(y, r) : !std::isfinite(y), 0, 0};
  if (std::isnan(y)) return {};
  const Quad max = largest(output), slack = Quad{relative_error(rule)} * T + further;
  const Quad towards_y = y > 0 ? r : -r;  // T may be so large that the sign of r is open
  if (std::isinf(y)) return {towards_y > max - slack, 0, 0};
  if (magnitude(y) == max && towards_y > max) {
    const Quad excess = towards_y - max, allowance = ulp(max, output) + slack;
    return {excess <= allowance, static_cast<double>(excess), static_cast<double>(allowance)};
  }
  const Quad allowance = Quad{ulp(r, output)} / 2 + slack;
  const Quad error = magnitude(y - r);
  return {error <= allowance, static_cast<double>(error), static_cast<double>(allowance)};
}

}  // namespace reference
