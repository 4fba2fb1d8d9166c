#include "reference/number_format.h"

#include <bit>
#include <cmath>

namespace reference {
namespace {

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

// 2^exponent, a normal double. (ldexp, a call for every case, took a quarter of the time of tests of bits.)
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// value = significand * 2^exponent, value > 0: a double's own fields.
struct Scaled {
  std::uint64_t significand;
  int exponent;

  explicit Scaled(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const bool normal = bits >> 52 != 0;
    significand = (bits & all_ones(52)) | (std::uint64_t{normal} << 52);
    exponent = (normal ? static_cast<int>(bits >> 52) : 1) - 1023 - 52;
  }
};

// The integer nearest to value * 2^-exponent_of_unit, ties to even; the quotient is below 2^54.
std::uint64_t nearest_multiple(const Scaled& value, int exponent_of_unit) {
  const int dropped = exponent_of_unit - value.exponent;
  if (dropped <= 0) return value.significand << -dropped;
  if (dropped > 54) return 0;
  const std::uint64_t whole = value.significand >> dropped;
  const std::uint64_t rest = value.significand & all_ones(dropped);
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
  return whole + (rest > half || (rest == half && (whole & 1) != 0));
}

}  // namespace

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
    value = static_cast<double>(hidden | fraction) * power_of_two(scale - fraction_bits(f));
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
  if (size > power_of_two(f.max_exponent + 1)) return assemble(f, {negative, top, 0});
  if (size == 0) return assemble(f, {negative, 0, 0});
  const Scaled scaled(size);
  const int exponent = scaled.exponent + 52;  // of a subnormal too great, but below every format's
  const int e = exponent > f.min_exponent ? exponent : f.min_exponent;
  const std::uint64_t significand = nearest_multiple(scaled, e - fraction_bits(f));
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
