// f16, bf16, f32 and f64 as bit patterns, decoded and rounded from the definition of the formats;
// and i32, for counts.
#ifndef TESTS_REFERENCE_NUMBER_FORMAT_H
#define TESTS_REFERENCE_NUMBER_FORMAT_H

#include <cstddef>
#include <cstdint>

namespace reference {

enum class Format { kNone, kF16, kBF16, kF32, kF64, kI32 };

struct FormatFacts {
  const char* name;
  std::size_t bytes;
  int precision;     // p: bits of the significand, the leading one included
  int min_exponent;  // emin: of the smallest normal number
  int max_exponent;  // of the largest number
};

inline constexpr FormatFacts kFormatFacts[] = {
    {"none", 0, 0, 0, 0},      {"f16", 2, 11, -14, 15},     {"bf16", 2, 8, -126, 127},
    {"f32", 4, 24, -126, 127}, {"f64", 8, 53, -1022, 1023}, {"i32", 4, 31, 0, 30},
};
inline const FormatFacts& facts(Format format) { return kFormatFacts[static_cast<int>(format)]; }

// The value of the low bits of `bits`; every value of every format is a double.
double decode(Format format, std::uint64_t bits);

// The nearest value, ties to even, in one rounding; a NaN becomes a quiet NaN.
std::uint64_t encode(Format format, double value);

// decode(encode(value)).
double rounded(Format format, double value);

double largest(Format format);

}  // namespace reference

#endif
