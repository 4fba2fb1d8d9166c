// One number for all results of a fixed set of problems: it must not change with the machine, the
// compiler, the number of threads, the instruction set or the next optimization. A change of the
// arithmetic changes golden_hash.inc, sync_golden_hash.inc or row_forward_golden_hash.inc, on
// purpose.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "ops/examples.h"
#include "ops/hash.h"
#include "ops/model.h"

namespace ops_test {
namespace {

constexpr std::uint64_t kGoldenHash =
#include "ops/golden_hash.inc"
    ;
// Of the operators that came later: SyncBatchNorm's halves, the forward, the gathered statistics.
constexpr std::uint64_t kSyncGoldenHash =
#include "ops/sync_golden_hash.inc"
    ;

// LayerNorm's and RMSNorm's forward.
constexpr std::uint64_t kRowForwardGoldenHash =
#include "ops/row_forward_golden_hash.inc"
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
      if (slot == kRstd || slot == kSigma || slot == kVar || slot == kRunningVar)
        v = std::fabs(random.normal());
      if (slot == kB || slot == kRunningMean) v = random.normal();
      if (slot == kSumDyGiven || slot == kSumDyXmuGiven) v = 16 * random.normal();
      if (slot == kCounts) v = static_cast<double>(1 + random.below(100));
    }
    if (!big && kind == Kind::kZeros) values[random.below(values.size())] = 0;
    if (slot == kX && kind == Kind::kZeros)
      std::fill_n(values.begin(), p.tensor[kX].shape.back(), 0.0);
  }
  settle(p);
}

std::vector<Shape> shapes_of(Form form) {
  if (form == Form::kGatherStats) return {{3, 7}, {1, 1}, {17, 40}};
  if (is_batch_norm(form)) return {{5, 3, 7, 9}, {900, 2, 5}, {3, 2, 4100}, {1, 1, 1}};
  return {{4, 5, 67}, {700, 19}, {17000, 2}, {3, 8300}, {1, 1}};
}

template <class Forms>
std::vector<Problem> fixed_problems(const Forms& forms, std::uint64_t seed) {
  std::vector<Problem> out;
  for (const Form form : forms) {
    for (const Format data : kDataFormats) {
      for (const Shape& shape : shapes_of(form)) {
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

struct FixedSet {
  std::vector<Problem> problems;
  std::uint64_t hash;
};

std::vector<FixedSet> fixed_sets() {
  constexpr Form kLaterForms[] = {Form::kBatchNormSums, Form::kElemtBackward,
                                  Form::kForwardTraining, Form::kForwardGiven, Form::kGatherStats};
  return {{fixed_problems(kForms, 100), kGoldenHash},
          {fixed_problems(kLaterForms, 100000), kSyncGoldenHash},
          {fixed_problems(kRowForwardForms, 200000), kRowForwardGoldenHash}};
}

std::uint64_t library_hash(const std::vector<Problem>& problems, const RunSettings& settings) {
  Hash hash;
  for (const Problem& p : problems) {
    const Outputs outputs = run_library(p, settings);
    EXPECT_EQ(outputs.failure, "") << title(p);
    hash.add(p, outputs);
  }
  return hash.value();
}

TEST(GoldenHash, OfTheModel) {
  for (const FixedSet& set : fixed_sets()) {
    Hash hash;
    for (const Problem& p : set.problems) hash.add(p, run_model(p));
    std::cout << "hash of " << set.problems.size() << " problems: 0x" << std::hex << hash.value()
              << std::dec << "\n";
    EXPECT_EQ(hash.value(), set.hash);
  }
}

TEST(GoldenHash, OfTheLibraryOnEveryInstructionSetAndWithThreads) {
  for (const FixedSet& set : fixed_sets()) {
    for (const normgrad::Isa isa : available_isas()) {
      for (const int threads : {1, 3}) {
        const std::uint64_t hash = library_hash(set.problems, {threads, isa, 1});
        std::cout << name(isa) << ", " << threads << " threads: 0x" << std::hex << hash << std::dec
                  << "\n";
        EXPECT_EQ(hash, set.hash) << name(isa) << ", " << threads << " threads";
      }
    }
  }
}

}  // namespace
}  // namespace ops_test
