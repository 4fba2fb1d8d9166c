// The vector layer of the fast kernels on every target that the processor has: every 16-bit number
// decoded, every f32 encoded, the fused multiply-add, and parts of a unit at the end of memory.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/lanes.h"
#include "normgrad/settings.h"
#include "ops/random.h"
#include "reference/number_format.h"

namespace kernels_test {
namespace {

using normgrad::DataType;
using normgrad::Isa;
using ops_test::Random;
using reference::decode;
using reference::encode;
using reference::Format;

struct Type {
  DataType dtype;
  Format format;
};
constexpr Type kF16 = {DataType::kF16, Format::kF16}, kBF16 = {DataType::kBF16, Format::kBF16},
               kF32 = {DataType::kF32, Format::kF32};

std::string name_of(const testing::TestParamInfo<Type>& type) {
  return reference::facts(type.param.format).name;
}

std::vector<const Layer*> available_layers() {
  std::vector<const Layer*> out = {&normgrad::plain::kLayer};
#if defined(__x86_64__)
  out.push_back(&normgrad::avx2::kLayer);
#if !NORMGRAD_WITHOUT_AVX512
  out.push_back(&normgrad::avx512::kLayer);
#endif
#else
  out.push_back(&normgrad::neon::kLayer);
#endif
  const Isa best = normgrad::set_isa(Isa::kAvx512);
  std::erase_if(out, [&](const Layer* layer) { return layer->isa > best; });
  return out;
}
const std::vector<const Layer*>& layers() {
  static const std::vector<const Layer*> available = available_layers();
  return available;
}

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
// NaNs are one; zeros are two.
bool same(float a, float b) { return std::isnan(a) ? std::isnan(b) : bits_of(a) == bits_of(b); }

class Vectors : public testing::TestWithParam<Type> {};

TEST_P(Vectors, DecodeEveryNumber) {
  std::vector<std::uint16_t> bits(65536);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
  for (const Layer* layer : layers()) {
    SCOPED_TRACE(layer->name);
    std::vector<float> got(bits.size());
    layer->decode(GetParam().dtype, bits.data(), got.data(), got.size());
    for (std::size_t i = 0; i < bits.size(); ++i) {
      const auto expected = static_cast<float>(decode(GetParam().format, i));
      ASSERT_TRUE(same(got[i], expected)) << i << " became " << got[i] << ", not " << expected;
    }
  }
}

// Expected encodings of f32 magnitudes, stretch by stretch of equal results.
class ExpectedEncodings {
 public:
  explicit ExpectedEncodings(Format format)
      : format_(format), infinity_(static_cast<std::uint32_t>(encode(format, HUGE_VAL))) {
    for (std::uint32_t k = 0; k <= infinity_; ++k) first_.push_back(first_that_rounds_to(k));
    first_.push_back(0x7F800001u);  // NaNs
  }
  void fill(std::uint32_t begin, std::vector<std::uint16_t>& out) const {
    const auto above = std::upper_bound(first_.begin(), first_.end(), begin);
    auto k = static_cast<std::uint32_t>(above - first_.begin()) - 1;
    for (std::size_t i = 0; i < out.size(); ++i) {
      while (k <= infinity_ && begin + i >= first_[k + 1]) ++k;
      out[i] = static_cast<std::uint16_t>(k);  // infinity_ + 1 stands for any NaN
    }
  }
  // A NaN stays one. To bf16 that is promised of those with nothing in the lower half of their
  // bits: others do not come up in the kernels (rounded() in vectors.h), and are left out.
  bool holds(float in, std::uint16_t got, std::uint16_t wanted) const {
    if (!std::isnan(in)) return got == wanted;
    if (format_ == Format::kBF16 && (bits_of(in) & 0xFFFF) != 0) return true;
    return (got & 0x7FFF) > infinity_ && (got & 0x8000) == (wanted & 0x8000);
  }

 private:
  // Bits from which on magnitudes round to the 16-bit magnitude k or above. The middle between
  // k - 1 and k is an f32; itself it goes to the even one.
  std::uint32_t first_that_rounds_to(std::uint32_t k) const {
    if (k == 0) return 0;
    const double below = decode(format_, k - 1);
    const double above = k == infinity_ ? 2 * below - decode(format_, k - 2) : decode(format_, k);
    return bits_of(static_cast<float>(below / 2 + above / 2)) + k % 2;
  }

  Format format_;
  std::uint32_t infinity_;
  std::vector<std::uint32_t> first_;
};

// "" or what is wrong with the encoding of `in`.
std::string encoding_error(Type type, const ExpectedEncodings& table, const std::vector<float>& in,
                           const std::vector<std::uint16_t>& wanted) {
  std::vector<std::uint16_t> got(in.size());
  for (const Layer* layer : layers()) {
    layer->encode(type.dtype, in.data(), got.data(), in.size());
    if (got == wanted) continue;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (table.holds(in[i], got[i], wanted[i])) continue;
      return "f32 bits " + std::to_string(bits_of(in[i])) + " became " + std::to_string(got[i]) +
             ", expected " + std::to_string(wanted[i]) + ", target " + layer->name;
    }
  }
  return "";
}

constexpr std::uint32_t kBatch = 1u << 16;

// "" or the first wrong one among the f32 magnitudes of batches part, part + parts, ...
std::string encode_batches(Type type, std::uint32_t part, std::uint32_t parts) {
  const ExpectedEncodings table(type.format);
  std::vector<float> in(kBatch);
  std::vector<std::uint16_t> expected(kBatch), wanted(kBatch);
  for (std::uint32_t batch = part; batch < 0x80000000u / kBatch; batch += parts) {
    table.fill(batch * kBatch, expected);
    for (const std::uint32_t sign : {0u, 0x8000u}) {
      for (std::uint32_t i = 0; i < kBatch; ++i) {
        in[i] = from_bits((batch * kBatch + i) | sign << 16);
        wanted[i] = static_cast<std::uint16_t>(expected[i] | sign);
      }
      if (std::string error = encoding_error(type, table, in, wanted); !error.empty()) return error;
    }
  }
  return "";
}

TEST_P(Vectors, EncodeEveryF32) {
  std::string first, second;
  std::thread other([&] { second = encode_batches(GetParam(), 1, 2); });
  first = encode_batches(GetParam(), 0, 2);
  other.join();
  EXPECT_EQ(first, "");
  EXPECT_EQ(second, "");
}

// Every upper half of the bits, with lower halves on both sides of all that rounding asks for:
// where the test above takes too long.
TEST_P(Vectors, EncodeEveryUpperHalf) {
  const ExpectedEncodings table(GetParam().format);
  std::vector<float> in;
  std::vector<std::uint16_t> wanted, one(1);
  for (std::uint32_t upper = 0; upper < 65536; ++upper) {
    for (const std::uint32_t lower :
         {0u, 1u, 0xFFFu, 0x1000u, 0x1001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      in.push_back(from_bits(upper << 16 | lower));
      table.fill(bits_of(in.back()) & 0x7FFFFFFFu, one);
      wanted.push_back(static_cast<std::uint16_t>(one[0] | (upper & 0x8000)));
    }
  }
  ASSERT_EQ(in.size() % 32, 0u);
  EXPECT_EQ(encoding_error(GetParam(), table, in, wanted), "");
}

INSTANTIATE_TEST_SUITE_P(Types, Vectors, testing::Values(kF16, kBF16), name_of);

// Memory whose end is that of a page, with a page behind it that nobody may touch.
class GuardedMemory {
 public:
  GuardedMemory() {
    const long page = sysconf(_SC_PAGESIZE);
    bytes_ = static_cast<std::size_t>(page);
    data_ = mmap(nullptr, 2 * bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(data_, MAP_FAILED);
    EXPECT_EQ(mprotect(begin() + bytes_, bytes_, PROT_NONE), 0);
  }
  ~GuardedMemory() { munmap(data_, 2 * bytes_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  unsigned char* begin() { return static_cast<unsigned char*>(data_); }
  unsigned char* end() { return begin() + bytes_; }

 private:
  void* data_;
  std::size_t bytes_;
};

class Units : public testing::TestWithParam<Type> {
 protected:
  // The numbers 1 to 32 as floats and as elements.
  Units() : size_(reference::facts(GetParam().format).bytes), elements_(32 * size_) {
    for (std::size_t i = 0; i < 32; ++i) {
      numbers_.push_back(static_cast<float>(i + 1));
      const std::uint64_t bits = encode(GetParam().format, static_cast<double>(i + 1));
      std::memcpy(elements_.data() + i * size_, &bits, size_);  // little-endian
    }
  }
  std::size_t bytes(int count) const { return static_cast<std::size_t>(count) * size_; }

  std::size_t size_;  // of an element
  std::vector<float> numbers_;
  std::vector<unsigned char> elements_;
  GuardedMemory memory_;
};

TEST_P(Units, OfAllElementsKeepTheirOrder) {
  for (const Layer* layer : layers()) {
    SCOPED_TRACE(layer->name);
    std::vector<float> read(32);
    layer->decode(GetParam().dtype, elements_.data(), read.data(), 32);
    EXPECT_EQ(read, numbers_);
    std::vector<unsigned char> written(elements_.size());
    layer->encode(GetParam().dtype, numbers_.data(), written.data(), 32);
    EXPECT_EQ(written, elements_);
  }
}

// The page behind them would end the test.
TEST_P(Units, OfFirstElementsReadAsZeroBehindThem) {
  for (const Layer* layer : layers()) {
    for (int count = 1; count < layer->unit; ++count) {
      SCOPED_TRACE(std::string(layer->name) + ", " + std::to_string(count));
      unsigned char* const from = memory_.end() - bytes(count);
      std::memcpy(from, elements_.data(), bytes(count));
      std::vector<float> read(static_cast<std::size_t>(layer->unit), -1.0f);
      layer->load_first(GetParam().dtype, from, count, read.data());
      for (int i = 0; i < layer->unit; ++i) {
        const auto at = static_cast<std::size_t>(i);
        ASSERT_EQ(bits_of(read[at]), i < count ? bits_of(numbers_[at]) : 0u) << i;
      }
    }
  }
}

// What lies there, also at addresses that are not aligned to an element, is not read either.
TEST_P(Units, OfFirstElementsDoNotReadWhatIsBehindThem) {
  for (const Layer* layer : layers()) {
    for (int count = 1; count < layer->unit; ++count) {
      for (const std::size_t offset : {0, 1}) {
        SCOPED_TRACE(std::string(layer->name) + ", " + std::to_string(count));
        unsigned char* const from = memory_.begin() + offset;
        std::memset(memory_.begin(), 0x55, 256);
        std::memcpy(from, elements_.data(), bytes(count));
        std::vector<float> read(static_cast<std::size_t>(layer->unit), -1.0f);
        layer->load_first(GetParam().dtype, from, count, read.data());
        for (int i = 0; i < layer->unit; ++i) {
          const auto at = static_cast<std::size_t>(i);
          ASSERT_EQ(bits_of(read[at]), i < count ? bits_of(numbers_[at]) : 0u) << i;
        }
      }
    }
  }
}

TEST_P(Units, OfFirstElementsWriteNothingElse) {
  constexpr std::size_t kAround = 256;
  for (const Layer* layer : layers()) {
    for (int count = 1; count < layer->unit; ++count) {
      SCOPED_TRACE(std::string(layer->name) + ", " + std::to_string(count));
      std::vector<unsigned char> expected(2 * kAround, 0x55);
      // With bytes behind them at an odd address, and with none.
      for (const std::size_t behind : {kAround / 2 + 1, std::size_t{0}}) {
        unsigned char* const to = memory_.end() - behind - bytes(count);
        std::memset(memory_.end() - 2 * kAround, 0x55, 2 * kAround);
        layer->store_first(GetParam().dtype, numbers_.data(), to, count);
        std::vector<unsigned char> wanted = expected;
        std::memcpy(wanted.data() + wanted.size() - behind - bytes(count), elements_.data(),
                    bytes(count));
        ASSERT_EQ(std::memcmp(memory_.end() - 2 * kAround, wanted.data(), wanted.size()), 0)
            << behind;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Units, testing::Values(kF16, kBF16, kF32), name_of);

// Compares multiply_add of what it is given with the standard library's, bit for bit.
class FusedMultiplyAdd : public testing::Test {
 protected:
  void TearDown() override { compare(); }

  void add(float a, float b, float c) {
    a_.push_back(a), b_.push_back(b), c_.push_back(c);
    if (a_.size() == kMany) compare();
  }
  void add_signs(float a, float b, float c) {
    add(a, b, c), add(-a, b, c), add(a, b, -c), add(a, -b, -c);
  }
  bool failed() const { return failed_; }

  Random random_{11};
  // +-[1, 2) * 2^exponent.
  float number(int exponent) {
    return std::ldexp(from_bits(0x3F800000u | static_cast<std::uint32_t>(random_.next() >> 41)),
                      exponent) *
           (random_.one_in(2) ? 1.0f : -1.0f);
  }
  int between(int first, int last) {
    return first + static_cast<int>(random_.below(static_cast<std::size_t>(last - first + 1)));
  }
  // Two factors whose product is 2^exponent, or next to it: off by at most 2^-20 of it, and down to
  // 2^-46 on both sides.
  std::pair<float, float> nearly_power(int exponent) {
    float a = 1, b = 1;
    if (const int kind = between(0, 4); kind == 1) {  // 1 - 2^-2t
      const int t = between(10, 23);
      a = 1 + std::ldexp(1.0f, -t), b = 1 - std::ldexp(1.0f, -t);
    } else if (kind == 2) {  // 1 + 2^-(4n + 2)
      const int n = between(5, 11);
      const float middle = 1 + std::ldexp(1.0f, -(2 * n + 1));
      a = middle - std::ldexp(1.0f, -n), b = middle + std::ldexp(1.0f, -n);
    } else if (kind == 3) {
      a = 1 + static_cast<float>(between(-4, 4)) * 0x1p-23f;
    } else if (kind == 4) {
      a = 1 + static_cast<float>(between(-4, 4)) * 0x1p-23f;
      b = 1 + static_cast<float>(between(-4, 4)) * 0x1p-23f;
    }
    const int part = exponent / 2 + between(-10, 10);
    return {std::ldexp(a, part), std::ldexp(b, exponent - part)};
  }

 private:
  static constexpr std::size_t kMany = 1 << 14;

  void compare() {
    const std::size_t count = a_.size();
    for (auto* numbers : {&a_, &b_, &c_}) numbers->resize((count + 31) / 32 * 32);
    std::vector<float> expected(a_.size()), got(a_.size());
    for (std::size_t i = 0; i < count; ++i) expected[i] = std::fma(a_[i], b_[i], c_[i]);
    for (const Layer* layer : layers()) {
      layer->multiply_add(a_.data(), b_.data(), c_.data(), got.data(), got.size());
      for (std::size_t i = 0; i < count && !failed_; ++i) {
        if (same(got[i], expected[i])) continue;
        failed_ = true;
        ADD_FAILURE() << std::hexfloat << a_[i] << " * " << b_[i] << " + " << c_[i] << " became "
                      << got[i] << ", expected " << expected[i] << ", target " << layer->name;
      }
    }
    for (auto* numbers : {&a_, &b_, &c_}) numbers->clear();
  }

  std::vector<float> a_, b_, c_;
  bool failed_ = false;
};

#if NORMGRAD_SANITIZED
constexpr int kRounds = 500000;
#else
constexpr int kRounds = 8000000;
#endif

TEST_F(FusedMultiplyAdd, OfRandomNumbers) {
  for (int i = 0; i < kRounds && !failed(); ++i) {
    // Any bits.
    const std::uint64_t ab = random_.next(), c = random_.next();
    add(from_bits(static_cast<std::uint32_t>(ab)), from_bits(static_cast<std::uint32_t>(ab >> 32)),
        from_bits(static_cast<std::uint32_t>(c)));
    // Product and addend that overlap, or just do not.
    const int at = between(-149, 127), first = between(-70, 60);
    const float a = number(std::clamp(first, at - 127, at + 126));
    const float b = number(at - std::clamp(first, at - 127, at + 126));
    add(a, b, number(std::clamp(at + between(-60, 60), -149, 127)));
    // What rounding leaves of a product.
    add(a, b, -(a * b));
  }
}

// The sum lies in the middle of two f32, or next to it by as little as f64 does not have.
TEST_F(FusedMultiplyAdd, NextToTies) {
  for (int i = 0; i < kRounds / 4 && !failed(); ++i) {
    // An addend and half of its last digit.
    const int exponent = between(-101, 127);
    const auto [a, b] = nearly_power(exponent - 24);
    add_signs(a, b, number(exponent));
    // A product of 25 bits, and little.
    const int first = 2 * between(1 << 10, (1 << 11) - 1) + 1;
    const int second = 2 * between(1 << 11, (1 << 12) - 1) + 1;
    if (first * second < 1 << 24) continue;
    const int scale = between(-79, 103), part = scale / 2;
    add_signs(std::ldexp(static_cast<float>(first), part),
              std::ldexp(static_cast<float>(second), scale - part),
              std::ldexp(static_cast<float>(between(1, 15)), scale - between(20, 70)));
  }
}

TEST_F(FusedMultiplyAdd, ThatIsSubnormal) {
  for (int i = 0; i < kRounds / 8 && !failed(); ++i) {
    const float c = from_bits(static_cast<std::uint32_t>(random_.next() >> 40));  // < 2^-125
    const auto [a, b] = nearly_power(-150 + between(-2, 2));
    add_signs(a, b, c);
    add_signs(a, b, from_bits(static_cast<std::uint32_t>(between(0, 3))));
    const int exponent = between(-155, -124), first = between(-100, -30);
    const float x = number(first), y = number(exponent - first);
    add(x, y, c), add(x, y, -c), add(x, y, 0.0f), add(x, y, number(-126));
  }
}

TEST_F(FusedMultiplyAdd, ThatOverflows) {
  for (int i = 0; i < kRounds / 8 && !failed(); ++i) {
    const float c = from_bits(0x7F7FFFFFu - static_cast<std::uint32_t>(between(0, 3)));
    const auto [a, b] = nearly_power(103 + between(-1, 2));
    add_signs(a, b, c);
    const auto [x, y] = nearly_power(128);
    add_signs(x, y, number(between(80, 127)));
    add(number(between(60, 66)), number(between(60, 66)), number(between(120, 127)));
  }
}

TEST_F(FusedMultiplyAdd, OfSpecialNumbers) {
  std::vector<float> numbers;
  for (const float x : {0.0f,     0x1p-149f, 0x1p-148f, 0x1.fffffcp-127f, 0x1p-126f, 0x1p-75f,
                        0x1p-74f, 0x1p-24f,  0.5f,      0x1.fffffep-1f,   1.0f,      0x1.000002p0f,
                        1.5f,     3.0f,      0x1p24f,   0x1p63f,          0x1p64f,   0x1p103f,
                        0x1p127f, FLT_MAX,   HUGE_VALF}) {
    numbers.push_back(x), numbers.push_back(-x);
  }
  for (const std::uint32_t nan : {0x7FC00000u, 0xFFC00000u, 0x7F800001u, 0x7FFFFFFFu}) {
    numbers.push_back(from_bits(nan));
  }
  for (const float a : numbers) {
    for (const float b : numbers) {
      for (const float c : numbers) add(a, b, c);
      add(a, b, -(a * b));
    }
  }
}

}  // namespace
}  // namespace kernels_test
