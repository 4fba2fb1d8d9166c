// One result, whatever runs it: threads, instruction sets, addresses, strides, in place, again. BatchNorm has two,
// one where x is channels-last.
#include <gtest/gtest.h>

#include <iterator>
#include <limits>

#include "ops/channel_sums.h"
#include "ops/examples.h"
#include "ops/layouts.h"
#include "ops/library.h"
#include "ops/operators.h"

namespace ops_test {
namespace {

using Shape = std::vector<std::int64_t>;

// Few and many rows, short and long ones, large enough for all threads.
std::vector<Shape> shapes(Form form) {
  if (is_batch_norm(form)) return {{3, 17, 33}, {40, 7, 20, 16}, {2, 3, 20000}, {30000, 3}};
  return {{5, 3, 33}, {310, 257}, {3, 30001}, {20000, 5}};
}

// GatherStats has one arithmetic.
std::vector<Arithmetic> arithmetics(const Problem& p) {
  if (!has_two_arithmetics(p.op)) return {Arithmetic::kFast};
  return {Arithmetic::kFast, Arithmetic::kExact};
}

// One thread, plain C++.
Outputs run_simply(const Problem& p, Arithmetic arithmetic) {
  Outputs out = run_library(p, {1, normgrad::Isa::kPlain, 0, arithmetic});
  EXPECT_EQ(out.failure, "");
  return out;
}

// All big tensors, but for one that keeps its layout.
Problem with_channels_last(const Problem& p, std::int64_t gap = 0, Slot kept = kSlotCount) {
  Problem out = p;
  for (const Slot slot : {kDx, kDy, kX, kY}) {
    if (!p.has(slot) || slot == kept) continue;
    out.tensor[slot] = channels_last(p.tensor[slot].format, p.tensor[slot].shape, 1, gap);
  }
  return out;
}

// What a problem of the same values as p gives in any layout.
struct BothWalks {
  Outputs planes, pixels;

  BothWalks(const Problem& p, Arithmetic arithmetic)
      : planes(run_simply(p, arithmetic)),
        pixels(is_channel_norm(p.op) ? run_simply(with_channels_last(p), arithmetic) : planes) {}
  const Outputs& of(const Problem& p) const {
    return is_channel_norm(p.op) && walks_pixels(p) ? pixels : planes;
  }
};

struct SameBits : testing::TestWithParam<std::tuple<Form, Format>> {
  template <class Body>
  void for_examples(const Body& body) {
    const auto [form, data] = GetParam();
    for (const Shape& shape : shapes(form)) {
      const Problem p = example(form, data, shape);
      for (const Arithmetic arithmetic : arithmetics(p)) {
        SCOPED_TRACE(title(p) + " " + name(arithmetic));
        body(p, run_simply(p, arithmetic), arithmetic);
      }
    }
  }
};

TEST_P(SameBits, WithAnyNumberOfThreads) {
  for_examples([](const Problem& p, const Outputs& expected, Arithmetic arithmetic) {
    for (const int threads : {1, 2, 3, 7, 16}) {
      ASSERT_EQ(normgrad::set_threads(threads), threads);
      const RunSettings settings{threads, normgrad::Isa::kAvx512, 1, arithmetic};
      EXPECT_EQ(first_difference(p, run_library(p, settings), expected), "") << threads;
    }
  });
}

TEST_P(SameBits, OnEveryInstructionSet) {
  for_examples([](const Problem& p, const Outputs& expected, Arithmetic arithmetic) {
    for (const normgrad::Isa isa : available_isas()) {
      ASSERT_EQ(normgrad::set_isa(isa), isa);
      ASSERT_EQ(normgrad::isa(), isa);
      EXPECT_EQ(first_difference(p, run_library(p, {2, isa, 1, arithmetic}), expected), "")
          << name(isa);
    }
  });
}

TEST_P(SameBits, InPlaceAndAgain) {
  for_examples([](const Problem& p, const Outputs& expected, Arithmetic arithmetic) {
    for (const Slot slot : {kDx, p.big_input(), p.has(kX) ? kX : kXHat}) {
      Problem shared = p;
      shared.dx_shares = slot;
      for (const normgrad::Isa isa : available_isas()) {
        EXPECT_EQ(first_difference(p, run_library(shared, {2, isa, 1, arithmetic}), expected), "")
            << name(slot);
      }
    }
  });
}

TEST_P(SameBits, AtAnyAddress) {
  const auto [form, data] = GetParam();
  std::vector<Problem> problems = {
      example(form, data, is_batch_norm(form) ? Shape{3, 5, 37} : Shape{11, 67})};
  if (is_batch_norm(form)) problems.push_back(with_channels_last(problems[0]));
  for (const Problem& p : problems) {
    const Outputs expected = run_simply(p, Arithmetic::kFast);
    const Slot x = p.has(kX) ? kX : kXHat;
    for (const normgrad::Isa isa : available_isas()) {
      for (std::size_t shift = 0; shift < 64; shift += shift < 8 ? 1 : 3) {
        for (const Slot moved : {p.big_output(), p.big_input(), x, kSlotCount}) {  // the last: all
          Problem at = p;
          for (std::size_t slot = 0; slot < kSlotCount; ++slot) {
            if (moved != kSlotCount && slot != moved) continue;
            at.tensor[slot].shift_bytes = shift;
          }
          ASSERT_EQ(first_difference(p, run_library(at, {1, isa, shift}), expected), "")
              << name(isa) << " +" << shift << " " << describe(p);
        }
      }
    }
  }
}

// Padded, permuted and reversed layouts of the same values.
TEST_P(SameBits, WithAnyStrides) {
  for_examples([](const Problem& p, const Outputs&, Arithmetic arithmetic) {
    const BothWalks expected(p, arithmetic);
    const LastStride last = is_channel_norm(p.op) ? LastStride::kAny : LastStride::kOne;
    Random random(5);
    for (int round = 0; round < 8; ++round) {
      Problem strided = p;
      for (std::size_t slot = 0; slot < kSlotCount; ++slot) {
        TensorSpec& spec = strided.tensor[slot];
        if (!spec.present()) continue;
        const bool big = spec.shape == p.tensor[p.big_input()].shape;
        spec = random_layout(random, spec.format, spec.shape, Role::kOutput,
                             big ? last : LastStride::kAny);
      }
      const RunSettings settings{2, kIsas[random.below(std::size(kIsas))], 1, arithmetic};
      EXPECT_EQ(first_difference(p, run_library(strided, settings), expected.of(strided)), "")
          << describe(strided);
    }
  });
}

// Channels-last, all tensors or some; rows of one pixel and of several, with and without gaps between pixels.
TEST_P(SameBits, WithChannelsLast) {
  const auto [form, data] = GetParam();
  if (!is_batch_norm(form)) return;
  for (const Shape& shape :
       {Shape{2, 300, 33}, Shape{3, 65, 40}, Shape{9, 257, 1}, Shape{4, 130, 5}, Shape{6, 24, 70},
        Shape{3, 3, 9000}, Shape{2, 18, 4100}}) {
    const Problem p = example(form, data, shape);
    for (const Arithmetic arithmetic : arithmetics(p)) {
      SCOPED_TRACE(title(p) + " " + name(arithmetic));
      const BothWalks expected(p, arithmetic);
      for (const Slot kept : {kSlotCount, p.big_output(), p.big_input(), kX}) {  // row-major
        for (const std::int64_t gap : {0, 5, 32}) {                              // between pixels
          if (kept != kSlotCount && gap != 0) continue;
          const Problem last = with_channels_last(p, gap, kept);
          for (const normgrad::Isa isa : available_isas()) {
            const Outputs got = run_library(last, {2, isa, 1, arithmetic});
            EXPECT_EQ(first_difference(p, got, expected.of(last)), "") << describe(last);
          }
        }
      }
    }
  }
}

// Large enough for threads, in tiles and spans of several kinds; n evenly strided or not.
TEST_P(SameBits, WithChannelsLastOnThreads) {
  const auto [form, data] = GetParam();
  if (!is_batch_norm(form)) return;
  for (const Shape& shape : {Shape{64, 300, 7}, Shape{8, 2100, 5}, Shape{40, 130, 64},
                             Shape{1000, 49, 1}, Shape{2, 3, 40000}}) {
    const Problem p = with_channels_last(example(form, data, shape));
    for (const Arithmetic arithmetic : arithmetics(p)) {
      SCOPED_TRACE(title(p) + " " + name(arithmetic));
      const Outputs expected = run_simply(p, arithmetic);
      for (const std::int64_t gap : {0, 3}) {  // between one n and the next
        Problem last = p;
        for (const Slot slot : {kDx, kDy, kX, kY}) {
          if (p.has(slot)) last.tensor[slot].strides[0] += gap;
        }
        for (const int threads : {1, 2, 3, 7, 16}) {
          const RunSettings settings{threads, normgrad::Isa::kAvx512, 1, arithmetic};
          EXPECT_EQ(first_difference(p, run_library(last, settings), expected), "")
              << threads << " threads " << describe(last);
        }
      }
    }
  }
}

// A stride that is not used may be any number.
TEST_P(SameBits, WithAnyStrideOfASingleN) {
  const auto [form, data] = GetParam();
  if (!is_batch_norm(form)) return;
  for (const std::int64_t stride : {std::int64_t{1} << 60, std::numeric_limits<std::int64_t>::max(),
                                    std::numeric_limits<std::int64_t>::min()}) {
    const Problem p = example(form, data, {1, 8, 1});
    Problem strided = p;
    for (TensorSpec& spec : strided.tensor) {
      if (spec.present() && spec.shape == p.tensor[p.big_input()].shape) {
        spec.strides = {stride, 1, stride};
      }
    }
    EXPECT_EQ(first_difference(p, run_library(strided, {2, normgrad::Isa::kAvx512, 1}),
                               run_library(p, {1, normgrad::Isa::kPlain, 0})),
              "")
        << describe(strided);
  }
}

// An input with stride 0 is the same as one that holds the copies.
TEST_P(SameBits, WithExpandedInputs) {
  const auto [form, data] = GetParam();
  Problem p = example(form, data, {6, 5, 35});
  for (const Slot slot : {p.big_input(), p.has(kX) ? kX : kXHat}) {
    for (std::size_t d = 0; d < 2; ++d) {
      Problem expanded = p;
      expanded.tensor[slot].strides[d] = 0;
      settle(expanded);
      const Outputs expected = run_library(packed(expanded), {1, normgrad::Isa::kPlain, 0});
      for (const normgrad::Isa isa : available_isas()) {
        EXPECT_EQ(first_difference(p, run_library(expanded, {2, isa, 1}), expected), "")
            << name(slot) << d;
      }
    }
  }
}

// Outputs that are not wanted change nothing in those that are: each alone, and each left out.
void expect_without_outputs(const Problem& p, const Outputs& expected, Arithmetic arithmetic) {
  for (const Slot chosen : kOutputs) {
    for (const bool alone : {true, false}) {
      Problem some = p;
      std::size_t left = 0;
      for (const Slot slot : kOutputs) {
        if ((slot == chosen) != alone) some.tensor[slot] = {};
        left += some.has(slot);
      }
      if (!p.has(chosen) || left == 0) continue;
      const RunSettings settings{2, normgrad::Isa::kAvx512, 1, arithmetic};
      EXPECT_EQ(first_difference(some, run_library(some, settings), expected), "")
          << name(chosen) << (alone ? " alone" : " left out");
    }
  }
}

TEST_P(SameBits, WithAnyOutputsLeftOut) { for_examples(expect_without_outputs); }

// Nor do they where some rows or channels go through the exact kernels.
TEST_P(SameBits, WithAnyOutputsLeftOutOfMixedGroups) {
  const auto [form, data] = GetParam();
  const Shape shape = is_batch_norm(form) ? Shape{9, 5, 63} : Shape{70, 67};
  for (const DataClass data_class : {DataClass::kMixedGroups, DataClass::kSpecial}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Problem row_major = example(form, data, shape, seed, data_class);
      for (const bool last : {false, true}) {
        if (last && !is_batch_norm(form)) continue;
        const Problem p = last ? with_channels_last(row_major) : row_major;
        expect_without_outputs(p, run_simply(p, Arithmetic::kFast), Arithmetic::kFast);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, SameBits,
                         testing::Combine(testing::ValuesIn(kNormForms),
                                          testing::ValuesIn(kDataFormats)),
                         [](const auto& param_info) {
                           return std::string(name(std::get<0>(param_info.param))) + "_" +
                                  reference::facts(std::get<1>(param_info.param)).name;
                         });

// GatherStats has no big tensors: its bits by instruction set, thread count and layout.
TEST(SameBitsOfGatherStats, WhateverRunsIt) {
  for (const Format data : kDataFormats) {
    for (const Shape& shape : std::vector<Shape>{{2, 3}, {8, 257}, {17, 3000}}) {
      const Problem p = example(Form::kGatherStats, data, shape);
      SCOPED_TRACE(title(p));
      const Outputs expected = run_library(p, {1, normgrad::Isa::kPlain, 0});
      Random random(6);
      for (const normgrad::Isa isa : available_isas()) {
        for (const int threads : {1, 2, 3, 7}) {
          Problem strided = p;
          for (TensorSpec& spec : strided.tensor) {
            if (!spec.present()) continue;
            spec = random_layout(random, spec.format, spec.shape, Role::kOutput, LastStride::kAny);
          }
          EXPECT_EQ(first_difference(p, run_library(strided, {threads, isa, 1}), expected), "")
              << name(isa) << " " << threads << " threads " << describe(strided);
        }
      }
    }
  }
}

TEST(InstructionSets, EachOneOfThisProcessorTakesEffect) {
  std::vector<normgrad::Isa> isas;  // also those that have no kernels of their own
  for (const normgrad::Isa isa : kIsas) {
    if (normgrad::set_isa(isa) == isa) isas.push_back(isa);
  }
  ASSERT_FALSE(isas.empty());
  EXPECT_EQ(isas.front(), normgrad::Isa::kPlain);
  EXPECT_EQ(normgrad::set_isa(normgrad::Isa::kAvx512), isas.back());
#if defined(__x86_64__)
  for (const normgrad::Isa none : {normgrad::Isa::kBaseline, normgrad::Isa::kSse4}) {
    EXPECT_EQ(normgrad::set_isa(none), normgrad::Isa::kPlain);
  }
  normgrad::set_isa(normgrad::Isa::kAvx512);
  EXPECT_EQ(isas.size(), __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")
                             ? 3u
                         : __builtin_cpu_supports("avx2") ? 2u
                                                          : 1u);
#endif
}

TEST(Arithmetics, APlanKeepsTheOneItWasMadeWith) {
  const Problem p = example(Form::kLayerNormOfX, Format::kF32, {70, 67});
  const Outputs fast = run_library(p),
                exact = run_library(p, {1, normgrad::Isa::kAvx512, 1, Arithmetic::kExact});
  EXPECT_NE(first_difference(p, fast, exact), "");
  for (const Arithmetic made_with : kArithmetics) {
    normgrad::Plan plan;
    EXPECT_EQ(normgrad::set_arithmetic(made_with), made_with);
    ASSERT_EQ(make_plan(p, &plan), normgrad::Status::kOk);
    for (const Arithmetic later : kArithmetics) {
      normgrad::set_arithmetic(later);
      EXPECT_EQ(
          first_difference(p, run_plan(p, plan), made_with == Arithmetic::kFast ? fast : exact),
          "");
    }
  }
  normgrad::set_arithmetic(Arithmetic::kFast);
}

}  // namespace
}  // namespace ops_test
