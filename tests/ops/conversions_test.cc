// Every 16-bit number decoded, every f32 encoded, on every instruction set, against the definition
// of the formats; and the single rounding from f64.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "kernels/element.h"
#include "normgrad/settings.h"
#include "ops/convert.h"
#include "ops/isas.h"
#include "ops/random.h"
#include "reference/number_format.h"

namespace ops_test {
namespace {

using normgrad::DataType;
using normgrad::Isa;
using reference::decode;
using reference::encode;
using reference::Format;

struct Type {
  DataType dtype;
  Format format;
};
constexpr Type kTypes[] = {{DataType::kF16, Format::kF16}, {DataType::kBF16, Format::kBF16}};

std::vector<Isa> available_isas() {
  std::vector<Isa> out;
  for (const Isa isa : kIsas) {
    if (normgrad::set_isa(isa) == isa) out.push_back(isa);
  }
  return out;
}

class Conversions : public testing::TestWithParam<Type> {};

TEST_P(Conversions, DecodeEveryNumber) {
  std::vector<std::uint16_t> bits(65536);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
  for (const Isa isa : available_isas()) {
    std::vector<float> got(bits.size());
    normgrad::kernels::convert_to_f32(isa, GetParam().dtype, bits.data(), got.data(), got.size());
    for (std::size_t i = 0; i < bits.size(); ++i) {
      const double expected = decode(GetParam().format, i);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(got[i])) << i;  // a signalling one is quieted by its first use
      } else {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]),
                  std::bit_cast<std::uint32_t>(static_cast<float>(expected)))
            << i;
      }
    }
  }
}

// The bit pattern from which on f32 magnitudes round to the 16-bit magnitude k or above. The middle
// between k - 1 and k is an f32; at the middle itself the even one of the two is taken.
std::uint32_t first_that_rounds_to(Format format, std::uint32_t k) {
  if (k == 0) return 0;
  const double below = decode(format, k - 1);
  const double above =
      std::isinf(decode(format, k)) ? 2 * below - decode(format, k - 2) : decode(format, k);
  // Halved first: for bf16 the value after the largest is 2^128, which is no f32, but the middle is
  // one.
  const auto middle = std::bit_cast<std::uint32_t>(static_cast<float>(below / 2 + above / 2));
  return k % 2 == 0 ? middle : middle + 1;
}

// Expected encodings of the f32 magnitudes [begin, begin + n), filled stretch by stretch of equal
// result.
class ExpectedEncodings {
 public:
  explicit ExpectedEncodings(Format format)
      : infinity_(static_cast<std::uint32_t>(encode(format, HUGE_VAL))), first_(infinity_ + 2) {
    for (std::uint32_t k = 0; k <= infinity_; ++k) first_[k] = first_that_rounds_to(format, k);
    first_[infinity_ + 1] = 0x7f800001u;  // NaNs
  }
  void fill(std::uint32_t begin, std::vector<std::uint16_t>& out) const {
    const auto above = std::upper_bound(first_.begin(), first_.end(), begin);
    auto k = static_cast<std::uint32_t>(above - first_.begin()) - 1;
    for (std::size_t i = 0; i < out.size(); ++i) {
      while (k <= infinity_ && begin + i >= first_[k + 1]) ++k;
      out[i] = static_cast<std::uint16_t>(k);  // infinity_ + 1 stands for any NaN
    }
  }
  bool same(std::uint16_t got, std::uint16_t expected, std::uint16_t sign) const {
    if (expected <= infinity_) return got == (expected | sign);
    return (got & 0x7fff) > infinity_ && (got & quiet_bit()) != 0;
  }

 private:
  std::uint16_t quiet_bit() const { return infinity_ == 0x7c00 ? 0x0200 : 0x0040; }
  std::uint32_t infinity_;
  std::vector<std::uint32_t> first_;
};

constexpr std::uint32_t kBatch = 1u << 16;

// "" or the first wrong one among the f32 magnitudes of batches part, part + parts, ...
std::string encode_batches(Type type, const std::vector<Isa>& isas, std::uint32_t part,
                           std::uint32_t parts) {
  const ExpectedEncodings table(type.format);
  std::vector<float> in(kBatch);
  std::vector<std::uint16_t> expected(kBatch), got(kBatch), wanted(kBatch);
  for (std::uint32_t batch = part; batch < 0x80000000u / kBatch; batch += parts) {
    table.fill(batch * kBatch, expected);
    for (const std::uint16_t sign : {std::uint16_t{0}, std::uint16_t{0x8000}}) {
      for (std::uint32_t i = 0; i < kBatch; ++i) {
        in[i] = std::bit_cast<float>((batch * kBatch + i) | static_cast<std::uint32_t>(sign) << 16);
        wanted[i] = expected[i] | sign;
      }
      for (const Isa isa : isas) {
        normgrad::kernels::convert_from_f32(isa, type.dtype, in.data(), got.data(), kBatch);
        if (std::memcmp(got.data(), wanted.data(), kBatch * 2) == 0) continue;
        for (std::uint32_t i = 0; i < kBatch; ++i) {
          if (table.same(got[i], expected[i], sign)) continue;
          return "f32 bits " + std::to_string(std::bit_cast<std::uint32_t>(in[i])) + " became " +
                 std::to_string(got[i]) + ", expected " + std::to_string(wanted[i]) + ", isa " +
                 std::to_string(static_cast<int>(isa));
        }
      }
    }
  }
  return "";
}

TEST_P(Conversions, EncodeEveryF32) {
  const std::vector<Isa> isas = available_isas();
  std::string first, second;
  std::thread other([&] { second = encode_batches(GetParam(), isas, 1, 2); });
  first = encode_batches(GetParam(), isas, 0, 2);
  other.join();
  EXPECT_EQ(first, "");
  EXPECT_EQ(second, "");
}

// Every upper half of the bits with lower halves on both sides of all that rounding asks for, in runs of any length. bf16
// NaNs: as the kernels have them.
TEST_P(Conversions, EncodePairs) {
  std::vector<float> numbers;
  for (std::uint32_t upper = 0; upper < 65536; ++upper) {
    for (const std::uint32_t lower : {0x0000u, 0x0001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      const auto number = std::bit_cast<float>(upper << 16 | lower);
      if (!std::isnan(number) || lower == 0) numbers.push_back(number);
    }
  }
  for (const Isa isa : available_isas()) {
    std::vector<std::uint16_t> got(numbers.size());
    std::size_t begin = 0;
    for (std::size_t n = 1; begin < numbers.size(); begin += n, n = n % 70 + 1) {
      n = std::min(n, numbers.size() - begin);
      normgrad::kernels::convert_pairs_from_f32(isa, GetParam().dtype, numbers.data() + begin,
                                            got.data() + begin, n);
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double value = decode(GetParam().format, got[i]);
      if (std::isnan(numbers[i])) {
        ASSERT_TRUE(std::isnan(value)) << i;
      } else {
        ASSERT_EQ(got[i], encode(GetParam().format, static_cast<double>(numbers[i]))) << numbers[i];
      }
    }
  }
}

// Ends of a buffer: every length up to some vectors, nothing written past it.
TEST_P(Conversions, AnyLength) {
  for (const Isa isa : available_isas()) {
    for (std::size_t n = 0; n < 70; ++n) {
      std::vector<float> in(n, 1.5f);
      std::vector<std::uint16_t> out(n + 8, 0x1234);
      normgrad::kernels::convert_from_f32(isa, GetParam().dtype, in.data(), out.data(), n);
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(out[i], i < n ? encode(GetParam().format, 1.5) : 0x1234u);
      std::vector<float> back(n + 8, -3.0f);
      normgrad::kernels::convert_to_f32(isa, GetParam().dtype, out.data(), back.data(), n);
      for (std::size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], i < n ? 1.5f : -3.0f);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Conversions, testing::ValuesIn(kTypes), [](const auto& param_info) {
  return std::string(reference::facts(param_info.param.format).name);
});

template <class T>
std::uint64_t bits_of(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<std::uint32_t>(value);
  } else {
    return value.bits;
  }
}

template <class T>
void expect_single_rounding(Format format, double value) {
  for (const double v : {value, -value}) {
    const std::uint64_t got = bits_of(normgrad::kernels::round_to<T>(v)), expected = encode(format, v);
    if (std::isnan(v)) {
      ASSERT_TRUE(std::isnan(decode(format, got)));
    } else {
      ASSERT_EQ(got, expected) << std::hexfloat << v;
    }
  }
}

// Random numbers of all magnitudes; all middles of neighbours, and what lies next to a middle, far
// below f32's precision.
template <class T>
void expect_single_roundings(Format format) {
  const reference::FormatFacts& f = reference::facts(format);
  Random random(9);
  for (int i = 0; i < 2000000; ++i) {
    const int exponent = f.min_exponent - 40 +
                         static_cast<int>(random.below(
                             static_cast<std::size_t>(f.max_exponent - f.min_exponent + 60)));
    const double value =
        std::ldexp(1 + static_cast<double>(random.next() >> 12) * 0x1p-52, exponent);
    ASSERT_NO_FATAL_FAILURE(expect_single_rounding<T>(format, value));
  }
  const std::uint64_t infinity = encode(format, HUGE_VAL);
  const std::uint64_t step = infinity / 0x7c00;
  for (std::uint64_t k = 0; k + 1 < infinity; k += step) {
    const double middle = decode(format, k) / 2 + decode(format, k + 1) / 2;
    for (const double v : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, HUGE_VAL),
                           middle * (1 + 0x1p-30)}) {
      ASSERT_NO_FATAL_FAILURE(expect_single_rounding<T>(format, v));
    }
  }
  const double largest = reference::largest(format),
               half = std::ldexp(1.0, f.max_exponent - f.precision);
  for (const double v : {largest, largest + half, std::nextafter(largest + half, 0.0),
                         largest + 3 * half, 1e308, HUGE_VAL, std::nan(""), 0.0, 5e-324, 1e-310}) {
    ASSERT_NO_FATAL_FAILURE(expect_single_rounding<T>(format, v));
  }
}

TEST(RoundingFromF64, IsOneRoundingToF16) {
  expect_single_roundings<normgrad::kernels::Half>(Format::kF16);
}
TEST(RoundingFromF64, IsOneRoundingToBF16) {
  expect_single_roundings<normgrad::kernels::BFloat>(Format::kBF16);
}
TEST(RoundingFromF64, IsOneRoundingToF32) { expect_single_roundings<float>(Format::kF32); }

}  // namespace
}  // namespace ops_test
