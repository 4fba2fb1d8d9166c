// One number for all results of an operator family, layout and arithmetic on a fixed set of problems: it must not change
// with the machine, the compiler, the number of threads, the instruction set or the next optimization. A change of the
// arithmetic changes golden_hash.inc, on purpose. The model writes a new one:
//   ops_golden_hash_test --gtest_filter=GoldenHash.OfTheModel | sed -n 's/^golden: //p' > tests/ops/golden_hash.inc
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <sstream>

#include "ops/examples.h"
#include "ops/hash.h"
#include "ops/layouts.h"
#include "ops/model.h"

namespace ops_test {
namespace {

struct Golden {
  const char *family, *layout, *arithmetic;
  std::uint64_t hash;
};
constexpr Golden kGolden[] = {
#include "ops/golden_hash.inc"
};

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
  if (is_batch_norm(form)) {
    return {{5, 3, 7, 9}, {900, 2, 5}, {3, 2, 4100}, {1, 1, 1}, {40, 65, 9}, {3000, 3}};
  }
  std::vector<Shape> out = {{4, 5, 67}, {700, 19}, {17000, 2}, {3, 8300}, {1, 1}};
  if (form < Form::kLayerNormForward) out.push_back({2100, 33});
  return out;
}

// What one hash is of.
struct Set {
  const char* family;
  std::vector<Form> forms;
  std::uint64_t seed;
  bool channels_last = false;
  Arithmetic arithmetic = Arithmetic::kFast;
  bool huge_channel = false;  // one whose squares f32 does not have

  const char* layout_name() const { return channels_last ? "channels-last" : "row-major"; }
  const char* arithmetic_name() const {
    const Op op = layout(forms[0], Format::kF32, {1, 1}).op;
    return has_two_arithmetics(op) ? name(arithmetic) : "forward";
  }
  std::string title() const {
    return std::string(family) + ", " + layout_name() + ", " + arithmetic_name();
  }
  std::uint64_t expected() const {
    for (const Golden& golden : kGolden) {
      if (std::string(golden.family) == family && golden.layout == std::string(layout_name()) &&
          golden.arithmetic == std::string(arithmetic_name()))
        return golden.hash;
    }
    ADD_FAILURE() << "golden_hash.inc has no " << title();
    return 0;
  }
};

std::vector<Set> sets() {
  std::vector<Set> out;
  for (const Arithmetic arithmetic : kArithmetics) {
    out.push_back(
        {"layer_norm", {Form::kLayerNormOfXHat, Form::kLayerNormOfX}, 100, false, arithmetic});
    out.push_back({"rms_norm", {Form::kRmsNorm, Form::kRmsNormOfRstd}, 1000, false, arithmetic});
    out.push_back({"row_forward",
                   {Form::kLayerNormForward, Form::kRmsNormForward},
                   200000,
                   false,
                   arithmetic});
    for (const bool channels_last : {false, true}) {
      out.push_back({"batch_norm",
                     {Form::kBatchNormTraining, Form::kBatchNormInference, Form::kBatchNormSums,
                      Form::kElemtBackward},
                     2000,
                     channels_last,
                     arithmetic});
      out.push_back({"batch_norm_forward",
                     {Form::kForwardTraining, Form::kForwardGiven},
                     100000,
                     channels_last,
                     arithmetic});
    }
  }
  for (const bool channels_last : {false, true}) {
    out.push_back({"batch_norm_of_a_huge_channel",
                   {Form::kBatchNormTraining, Form::kBatchNormSums, Form::kForwardTraining},
                   180000,
                   channels_last,
                   Arithmetic::kFast,
                   true});
  }
  out.push_back({"gather_stats", {Form::kGatherStats}, 150000});
  return out;
}

// Its exact kernels, and, where pixels take all along, those of its neighbours. f16 has no such numbers.
void make_channel_huge(Problem& p) {
  const ChannelExtents e = channel_extents(p);
  if (e.channels == 1 || p.data_format() == Format::kF16) return;
  for (std::size_t i = 0; i < p.value[kX].size(); ++i) {
    if (i / e.inner % e.channels == 1) p.value[kX][i] = std::ldexp(p.value[kX][i], 120);
  }
  settle(p);
}

std::vector<Problem> problems_of(const Set& set) {
  std::vector<Problem> out;
  std::uint64_t seed = set.seed;
  for (const Form form : set.forms) {
    for (const Format data : kDataFormats) {
      for (const Shape& shape : shapes_of(form)) {
        for (int kind = 0; kind < (set.huge_channel ? 1 : static_cast<int>(Kind::kCount)); ++kind) {
          Problem p = layout(form, data, shape, ++seed % 2 == 0);
          // In f64 the order of additions shows in exact arithmetic too.
          for (const Slot slot : {kSumDy, kSumDyXmu, kMeanOut, kVarOut}) {
            if (p.has(slot) && is_channel_norm(p.op)) p.tensor[slot].format = Format::kF64;
          }
          for (const Slot slot : {kDx, kDy, kX, kY}) {
            if (set.channels_last && p.has(slot))
              p.tensor[slot] = channels_last(data, shape, p.channel_axis);
          }
          Random random(seed);
          fill_fixed(p, static_cast<Kind>(kind), random);
          if (set.huge_channel) make_channel_huge(p);
          out.push_back(std::move(p));
        }
      }
    }
  }
  return out;
}

template <class Run>
std::uint64_t hash_of(const std::vector<Problem>& problems, const Run& run) {
  Hash hash;
  for (const Problem& p : problems) {
    const Outputs outputs = run(p);
    EXPECT_EQ(outputs.failure, "") << title(p);
    hash.add(p, outputs);
  }
  return hash.value();
}

std::string hexadecimal(std::uint64_t hash) {
  std::ostringstream out;
  out << "0x" << std::hex << hash << "u";
  return out.str();
}

TEST(GoldenHash, OfTheModel) {
  for (const Set& set : sets()) {
    const std::uint64_t hash =
        hash_of(problems_of(set), [&](const Problem& p) { return run_model(p, set.arithmetic); });
    std::cout << "golden: {\"" << set.family << "\", \"" << set.layout_name() << "\", \""
              << set.arithmetic_name() << "\", " << hexadecimal(hash) << "},\n";
    EXPECT_EQ(hash, set.expected()) << set.title();
  }
}

TEST(GoldenHash, OfTheLibraryOnEveryInstructionSetAndWithThreads) {
  for (const Set& set : sets()) {
    const std::vector<Problem> problems = problems_of(set);
    for (const normgrad::Isa isa : available_isas()) {
      if (set.arithmetic == Arithmetic::kExact && isa != normgrad::Isa::kPlain) continue;
      for (const int threads : {1, 3}) {
        const std::uint64_t hash = hash_of(problems, [&](const Problem& p) {
          return run_library(p, {threads, isa, 1, set.arithmetic});
        });
        std::cout << set.title() << ", " << name(isa) << ", " << threads
                  << " threads: " << hexadecimal(hash) << "\n";
        EXPECT_EQ(hash, set.expected())
            << set.title() << ", " << name(isa) << ", " << threads << " threads";
      }
    }
  }
}

}  // namespace
}  // namespace ops_test
