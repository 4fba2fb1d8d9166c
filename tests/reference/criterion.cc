// |y - r| <= 1/2*ulp(r) + c*T, where the first term is the one rounding at the store and the second
// bounds everything before it. T is the sum of the magnitudes of the terms that make up r, so a
// relative error e of each term moves the result by at most e*T.
//
// f32 data, c = 2^-40. Everything is f64, u = 2^-53: a term has at most 4 roundings, a tree of 6e7
// rows at most 2^12 additions in sequence (256 rows in a run, up to 2^12 runs in a block, 6 folds),
// the map to dx some 8 more: below 2^13*u.
//
// 16-bit data. Terms and chains of 8 additions are f32, u = 2^-24: at most 3 roundings in a term
// and 7 in a chain, all above in f64: 10*u < 2^-20 = 16*u for sums. An element of dx takes 2
// roundings in its term, 2 in each of the two coefficients' products, 2 subtractions and one
// factor, besides the sums' own error through the coefficients: below 2^-19. An element of y takes
// fewer. Forward statistics of 16-bit data are f64 throughout: c = 2^-40.
//
// Overflow: round-to-nearest goes to infinity from max + 1/2 ulp(max) on. Within 1/2 ulp of that
// point (the rounding) plus c*T (the arithmetic), max and infinity are both right.
#include "reference/criterion.h"

#include <cmath>

namespace reference {
namespace {

double relative_error(Format data, Output which) {
  if (data == Format::kF32 || which == Output::kStatistic) return std::ldexp(1.0, -40);
  return std::ldexp(1.0, which == Output::kElement ? -19 : -20);
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

Verdict within_bound(double y, Quad r, Quad T, Format output, Format data, Output which,
                     Quad further) {
  if (!is_finite(r)) return {same_class(y, r), 0, 0};
  if (std::isnan(y)) return {};
  const Quad max = largest(output), slack = Quad{relative_error(data, which)} * T + further;
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
