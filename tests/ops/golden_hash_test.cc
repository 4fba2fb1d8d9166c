// One number for all results of a fixed set of problems: it must not change with the machine, the
// compiler, the number of threads, the instruction set or the next optimization. A change of the
// arithmetic changes golden_hash.inc, on purpose.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "ops/examples.h"
#include "ops/model.h"

namespace ops_test {
namespace {

constexpr std::uint64_t kGoldenHash =
#include "ops/golden_hash.inc"
    ;

using Shape = std::vector<std::int64_t>;

// Values from a generator of its own, which nothing but this hash needs: integers, scaled exactly.
// The statistics need not belong to x; zero statistics, zero rows and overflow are part of the set.
enum class Kind { kPlain, kTails, kLarge, kSmall, kZeros, kCount };

double value(Kind kind, Random& random) {
  const double plain = random.normal();
  const int exponent = static_cast<int>(random.below(17)) - 8;
  switch (kind) {
    case Kind::kTails:
      return std::ldexp(plain, exponent);
    case Kind::kLarge:
      return std::ldexp(plain, 13);
    case Kind::kSmall:
      return std::ldexp(plain, -18);
    case Kind::kZeros:
      return exponent < 0 ? plain : 0;
    default:
      return plain;
  }
}

void fill_fixed(Problem& p, Kind kind, Random& random) {
  for (const Slot slot : kInputs) {
    if (!p.has(slot)) continue;
    Values& values = p.value[slot];
    values.resize(element_count(p.tensor[slot]));
    const bool big = slot == kDy || slot == kX || slot == kXHat;
    for (double& v : values) {
      if (big) v = value(kind, random);
      if (slot == kW) v = 1 + random.normal() / 4;
      if (slot == kMean) v = random.normal() / 16;
      if (slot == kRstd || slot == kSigma || slot == kVar) v = std::fabs(random.normal());
    }
    if (!big && kind == Kind::kZeros) values[random.below(values.size())] = 0;
    if (slot == kX && kind == Kind::kZeros)
      std::fill_n(values.begin(), p.tensor[kX].shape.back(), 0.0);
  }
  settle(p);
}

std::vector<Problem> fixed_problems() {
  std::vector<Problem> out;
  std::uint64_t seed = 100;
  for (const Form form : kForms) {
    for (const Format data : kDataFormats) {
      const std::vector<Shape> shapes =
          is_batch_norm(form)
              ? std::vector<Shape>{{5, 3, 7, 9}, {900, 2, 5}, {3, 2, 4100}, {1, 1, 1}}
              : std::vector<Shape>{{4, 5, 67}, {700, 19}, {17000, 2}, {3, 8300}, {1, 1}};
      for (const Shape& shape : shapes) {
        for (int kind = 0; kind < static_cast<int>(Kind::kCount); ++kind) {
          out.push_back(layout(form, data, shape, ++seed % 2 == 0));
          Random random(seed);
          fill_fixed(out.back(), static_cast<Kind>(kind), random);
        }
      }
    }
  }
  return out;
}

// FNV-1a over the values; all NaNs are one, and so are the two zeros.
class Hash {
 public:
  void add(Format format, std::uint64_t bits) {
    const double value = decode(format, bits);
    if (value == 0) bits = 0;
    if (value != value) bits = ~std::uint64_t{0};
    for (int byte = 0; byte < 64; byte += 8)
      hash_ = (hash_ ^ (bits >> byte & 0xff)) * 0x100000001b3u;
  }
  void add(const Problem& p, const Outputs& outputs) {
    for (const Slot slot : kOutputs) {
      for (const std::uint64_t bits : outputs.bits[slot]) add(p.tensor[slot].format, bits);
    }
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

std::uint64_t library_hash(const RunSettings& settings) {
  Hash hash;
  for (const Problem& p : fixed_problems()) {
    const Outputs outputs = run_library(p, settings);
    EXPECT_EQ(outputs.failure, "") << title(p);
    hash.add(p, outputs);
  }
  return hash.value();
}

TEST(GoldenHash, OfTheModel) {
  Hash hash;
  for (const Problem& p : fixed_problems()) hash.add(p, run_model(p));
  std::cout << "hash of " << fixed_problems().size() << " problems: 0x" << std::hex << hash.value()
            << "\n";
  EXPECT_EQ(hash.value(), kGoldenHash);
}

TEST(GoldenHash, OfTheLibraryOnEveryInstructionSetAndWithThreads) {
  for (const normgrad::Isa isa : available_isas()) {
    for (const int threads : {1, 3}) {
      const std::uint64_t hash = library_hash({threads, isa, 1});
      std::cout << name(isa) << ", " << threads << " threads: 0x" << std::hex << hash << std::dec
                << "\n";
      EXPECT_EQ(hash, kGoldenHash) << name(isa) << ", " << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace ops_test
