// The tests' own instruments notice what they are there to notice.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <iterator>

#include "ops/cases.h"
#include "ops/channel_sums.h"
#include "ops/check.h"
#include "ops/examples.h"
#include "ops/model.h"

namespace ops_test {
namespace {

// The next number beyond the allowance of an element.
std::uint64_t beyond(const ExpectedOutputs& expected, Slot slot, std::size_t i,
                     const reference::Rule& rule) {
  const reference::Quad r = expected.output[slot].value[i];
  const double allowance =
      within_bound(static_cast<double>(r), r, expected.output[slot].scale[i], rule).allowance;
  return encode(rule.output,
                static_cast<double>(r) + allowance + reference::ulp(r + allowance, rule.output));
}

TEST(Check, AcceptsTheModelAndRejectsWhatIsJustBeyondTheBound) {
  std::vector<Form> forms(std::begin(kNormForms), std::end(kNormForms));
  forms.push_back(Form::kGatherStats);
  for (const Form form : forms) {
    for (const Format data : kDataFormats) {
      for (const Arithmetic arithmetic : kArithmetics) {
        const bool gather = form == Form::kGatherStats;
        const Problem p = gather ? example(form, data, {4, 6}) : example(form, data, {4, 6, 19});
        const Outputs right = run_model(p, arithmetic);
        const ExpectedOutputs expected = expected_outputs(p, arithmetic);
        Tally tally;
        ASSERT_EQ(check(p, right, tally, arithmetic), "") << title(p);
        for (const Slot slot : kOutputs) {
          if (!p.has(slot)) continue;
          const reference::Rule rule{arithmetic_of(p.op, arithmetic), kind_of(slot),
                                     p.tensor[slot].format, p.data_format()};
          Outputs wrong = right;
          wrong.bits[slot].back() = beyond(expected, slot, wrong.bits[slot].size() - 1, rule);
          const std::string message = check(p, wrong, tally, arithmetic);
          EXPECT_EQ(message.rfind(name(slot), 0), 0u)
              << title(p) << " " << name(slot) << " " << name(arithmetic) << message;
          EXPECT_NE(first_difference(p, wrong, right), "");
        }
        EXPECT_EQ(tally.by_model, 0u) << title(p);
      }
    }
  }
}

// Most generated cases of fast arithmetic are within its promise; the others are held to the model's bits.
TEST(Check, MostCasesAreHeldToTheBound) {
  for (const Op op : kOps) {
    if (!has_two_arithmetics(op)) continue;
    std::size_t promised = 0;
    for (std::size_t index = 0; index < 100; ++index) {
      promised += expected_outputs(make_case(op, 1, index).problem).promised;
    }
    EXPECT_GT(promised, 55u) << name(op);
    EXPECT_LT(promised, 95u) << name(op);
  }
}

TEST(Storage, NoticesEveryByteOutsideTheElements) {
  const TensorSpec spec{Format::kF16, {3, 4}, {9, -2}, 6};
  Storage storage(spec);
  storage.write(Values(12, 1.5));
  storage.remember();
  auto* bytes = static_cast<std::uint8_t*>(storage.data());
  std::size_t noticed = 0;
  for (int at = -70; at < 110; ++at) {
    bytes[at] ^= 1;
    EXPECT_NE(storage.changes(false), "");
    noticed += storage.changes(true).empty() ? 0 : 1;
    bytes[at] ^= 1;
  }
  EXPECT_EQ(noticed, 180u - 24u);
  EXPECT_EQ(storage.changes(false), "");
}

TEST(Storage, PutsElementsWhereTheStridesSay) {
  const TensorSpec spec{Format::kF32, {2, 3}, {-5, 1}, 4};
  Storage storage(spec);
  storage.write({0, 1, 2, 3, 4, 5});
  float value = 0;
  std::memcpy(&value, static_cast<char*>(storage.data()) + (-5 + 2) * 4, 4);
  EXPECT_EQ(value, 5.0f);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(storage.data()) % 64, 4u);
  EXPECT_EQ(decode(Format::kF32, storage.read()[3]), 3.0);
}

struct Ground {
  std::size_t in_place = 0, expanded = 0, reversed = 0, mixed = 0;
  std::size_t pixels = 0, planes = 0, part_rows = 0;
  std::array<std::size_t, 9> ranks = {};
  std::array<std::size_t, 32> classes = {};
  std::array<std::size_t, 8> formats = {};

  void note(const Case& c) {
    const Problem& p = c.problem;
    const TensorSpec& big = p.tensor[p.op == Op::kGatherStats ? kMean : p.big_input()];
    ++ranks[big.shape.size()], ++classes[static_cast<std::size_t>(c.data_class)],
        ++formats[static_cast<std::size_t>(big.format)];
    in_place += p.dx_shares != kDx;
    if (is_channel_norm(p.op)) note_walk(p);
    mixed += p.has(kW) && p.tensor[kW].format != big.format;
    for (std::size_t d = 0; d < big.shape.size(); ++d) {
      expanded += big.strides[d] == 0 && big.shape[d] > 1;
      reversed += big.strides[d] < 0 && big.shape[d] > 1;
    }
  }
  void note_walk(const Problem& p) {
    const ChannelExtents e = channel_extents(p);
    const std::size_t count = e.outer * e.inner, k = pixels_in_a_row(e.channels, count);
    ++(walks_pixels(p) ? pixels : planes);
    part_rows += walks_pixels(p) && count > k && count % k != 0;
  }
};

// What the generator is meant to reach, it reaches.
TEST(Cases, CoverTheirGround) {
  for (const Op op : kOps) {
    SCOPED_TRACE(name(op));
    Ground g;
    for (std::size_t index = 0; index < 400; ++index) g.note(make_case(op, 1, index));
    EXPECT_GT(g.expanded, 10u);
    EXPECT_GT(g.reversed, 10u);
    for (int i = 0; i < static_cast<int>(DataClass::kCount); ++i) {
      EXPECT_GT(g.classes[static_cast<std::size_t>(i)], 10u) << i;
    }
    for (const Format format : kDataFormats) {
      EXPECT_GT(g.formats[static_cast<std::size_t>(format)], 50u);
    }
    if (op == Op::kGatherStats) continue;
    if (is_channel_norm(op)) {
      EXPECT_GT(g.pixels, 100u);
      EXPECT_GT(g.planes, 100u);
      EXPECT_GT(g.part_rows, 20u);
    }
    EXPECT_GT(g.in_place, 20u);
    EXPECT_GT(g.mixed, 20u);
    for (std::size_t rank = 2; rank <= 8; ++rank) EXPECT_GT(g.ranks[rank], 0u) << rank;
  }
}

// The new operators' options: every dtype of every vector, every output wanted and not, both modes.
TEST(Cases, CoverTheOptionsOfTheNewOperators) {
  for (const Op op : {Op::kBatchNormSums, Op::kElemtBackward, Op::kForward, Op::kGatherStats}) {
    std::array<std::size_t, kSlotCount> present = {}, f64 = {};
    std::size_t training = 0, i32 = 0;
    for (std::size_t index = 0; index < 400; ++index) {
      const Problem p = make_case(op, 1, index).problem;
      training += p.training;
      i32 += p.tensor[kCounts].format == Format::kI32;
      for (std::size_t slot = 0; slot < kSlotCount; ++slot) {
        present[slot] += p.has(Slot(slot)), f64[slot] += p.tensor[slot].format == Format::kF64;
      }
    }
    const bool both_modes = op == Op::kBatchNormSums || op == Op::kForward;
    EXPECT_EQ(training < 400, both_modes);
    EXPECT_EQ(i32 > 20, op == Op::kElemtBackward);
    for (std::size_t slot = 0; slot < kSlotCount; ++slot) {
      const bool big = slot == kDx || slot == kY || slot == kDy || slot == kX;
      if (present[slot] == 0 || big) continue;
      EXPECT_GT(present[slot], 40u) << name(op) << " " << name(Slot(slot));
      EXPECT_GT(f64[slot], 5u) << name(op) << " " << name(Slot(slot));
    }
  }
}

}  // namespace
}  // namespace ops_test
