#include "reference/number_format.h"

#include <bit>
#include <cmath>

namespace reference {
namespace {

constexpr FormatFacts kFacts[] = {
    {"none", 0, 0, 0, 0},      {"f16", 2, 11, -14, 15},     {"bf16", 2, 8, -126, 127},
    {"f32", 4, 24, -126, 127}, {"f64", 8, 53, -1022, 1023}, {"i32", 4, 31, 0, 30},
};

struct Fields {
  bool negative;
  std::uint64_t exponent, fraction;
};

std::uint64_t all_ones(int bits) { return (std::uint64_t{1} << bits) - 1; }
int fraction_bits(const FormatFacts& f) { return f.precision - 1; }
int total_bits(const FormatFacts& f) { return static_cast<int>(8 * f.bytes); }
int exponent_bits(const FormatFacts& f) { return total_bits(f) - f.precision; }

std::uint64_t assemble(const FormatFacts& f, const Fields& fields) {
  return (std::uint64_t{fields.negative} << (total_bits(f) - 1)) |
         (fields.exponent << fraction_bits(f)) | fields.fraction;
}

// The integer nearest to value * 2^-exponent_of_unit, ties to even; value >= 0 and the quotient is
// below 2^54.
std::uint64_t nearest_multiple(double value, int exponent_of_unit) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const auto significand = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  const int dropped =
      exponent_of_unit - (exponent - 53);  // value = significand * 2^(exponent - 53)
  if (dropped <= 0) return significand << -dropped;
  if (dropped > 54) return 0;
  const std::uint64_t whole = significand >> dropped;
  const std::uint64_t rest = significand & all_ones(dropped);
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
  return whole + (rest > half || (rest == half && (whole & 1) != 0));
}

}  // namespace

const FormatFacts& facts(Format format) { return kFacts[static_cast<int>(format)]; }

double decode(Format format, std::uint64_t bits) {
  if (format == Format::kF64) return std::bit_cast<double>(bits);
  if (format == Format::kI32) return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
  const FormatFacts& f = facts(format);
  const bool negative = (bits >> (total_bits(f) - 1)) & 1;
  const std::uint64_t exponent = (bits >> fraction_bits(f)) & all_ones(exponent_bits(f));
  const std::uint64_t fraction = bits & all_ones(fraction_bits(f));
  double value;
  if (exponent == all_ones(exponent_bits(f))) {
    value = fraction != 0 ? std::nan("") : HUGE_VAL;
  } else {
    const std::uint64_t hidden = exponent == 0 ? 0 : std::uint64_t{1} << fraction_bits(f);
    const int scale = (exponent == 0 ? 1 : static_cast<int>(exponent)) - 1 + f.min_exponent;
    value = std::ldexp(static_cast<double>(hidden | fraction), scale - fraction_bits(f));
  }
  return negative ? -value : value;
}

std::uint64_t encode(Format format, double value) {
  if (format == Format::kF64) return std::bit_cast<std::uint64_t>(value);
  if (format == Format::kI32) return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  const FormatFacts& f = facts(format);
  const bool negative = std::signbit(value);
  const std::uint64_t top = all_ones(exponent_bits(f));
  if (std::isnan(value))
    return assemble(f, {negative, top, std::uint64_t{1} << (fraction_bits(f) - 1)});
  const double size = std::fabs(value);
  if (size > std::ldexp(1.0, f.max_exponent + 1)) return assemble(f, {negative, top, 0});
  if (size == 0) return assemble(f, {negative, 0, 0});
  int exponent = 0;
  std::frexp(size, &exponent);  // size = [1/2, 1) * 2^exponent
  const int e = exponent - 1 > f.min_exponent ? exponent - 1 : f.min_exponent;
  const std::uint64_t significand = nearest_multiple(size, e - fraction_bits(f));
  // A significand with its hidden bit adds 1 to the biased exponent; one that rounded up to 2^p
  // adds 2 and leaves a zero fraction; one without it (subnormal) adds nothing. Past the largest
  // number this yields the infinity.
  const std::uint64_t biased = static_cast<std::uint64_t>(e - f.min_exponent);
  return (std::uint64_t{negative} << (total_bits(f) - 1)) |
         ((biased << fraction_bits(f)) + significand);
}

double rounded(Format format, double value) { return decode(format, encode(format, value)); }

double largest(Format format) {
  const FormatFacts& f = facts(format);
  return std::ldexp(2.0 - std::ldexp(1.0, 1 - f.precision), f.max_exponent);
}

}  // namespace reference
