// One result, whatever runs it: threads, instruction sets, addresses, strides, in place, again.
#include <gtest/gtest.h>

#include <limits>

#include "ops/examples.h"
#include "ops/layouts.h"
#include "ops/library.h"

namespace ops_test {
namespace {

using Shape = std::vector<std::int64_t>;

// Few and many rows, short and long ones, large enough for all threads.
std::vector<Shape> shapes(Form form) {
  if (is_batch_norm(form)) return {{3, 17, 33}, {40, 7, 20, 16}, {2, 3, 20000}, {30000, 3}};
  return {{5, 3, 33}, {310, 257}, {3, 30001}, {20000, 5}};
}

struct SameBits : testing::TestWithParam<std::tuple<Form, Format>> {
  template <class Body>
  void for_examples(const Body& body) {
    const auto [form, data] = GetParam();
    for (const Shape& shape : shapes(form)) {
      const Problem p = example(form, data, shape);
      SCOPED_TRACE(title(p));
      const Outputs expected = run_library(p, {1, normgrad::Isa::kPlain, 0});
      ASSERT_EQ(expected.failure, "");
      body(p, expected);
    }
  }
};

TEST_P(SameBits, WithAnyNumberOfThreads) {
  for_examples([](const Problem& p, const Outputs& expected) {
    for (const int threads : {1, 2, 3, 7, 16}) {
      ASSERT_EQ(normgrad::set_threads(threads), threads);
      EXPECT_EQ(first_difference(p, run_library(p, {threads, normgrad::Isa::kAvx512, 1}), expected),
                "")
          << threads;
    }
  });
}

TEST_P(SameBits, OnEveryInstructionSet) {
  for_examples([](const Problem& p, const Outputs& expected) {
    for (const normgrad::Isa isa : available_isas()) {
      ASSERT_EQ(normgrad::set_isa(isa), isa);
      ASSERT_EQ(normgrad::isa(), isa);
      EXPECT_EQ(first_difference(p, run_library(p, {2, isa, 1}), expected), "") << name(isa);
    }
  });
}

TEST_P(SameBits, InPlaceAndAgain) {
  for_examples([](const Problem& p, const Outputs& expected) {
    for (const Slot slot : {kDx, p.big_input(), p.has(kX) ? kX : kXHat}) {
      Problem shared = p;
      shared.dx_shares = slot;
      for (const normgrad::Isa isa : available_isas()) {
        EXPECT_EQ(first_difference(p, run_library(shared, {2, isa, 1}), expected), "")
            << name(slot);
      }
    }
  });
}

TEST_P(SameBits, AtAnyAddress) {
  const auto [form, data] = GetParam();
  const Problem p = example(form, data, is_batch_norm(form) ? Shape{3, 5, 37} : Shape{11, 67});
  const Outputs expected = run_library(p, {1, normgrad::Isa::kPlain, 0});
  for (const normgrad::Isa isa : available_isas()) {
    for (std::size_t shift = 0; shift < 64; shift += shift < 8 ? 1 : 3) {
      for (const Slot moved : {p.big_output(), p.big_input(), p.has(kX) ? kX : kXHat,
                               kSlotCount}) {  // kSlotCount: all together
        Problem at = p;
        for (std::size_t slot = 0; slot < kSlotCount; ++slot) {
          if (moved != kSlotCount && slot != moved) continue;
          at.tensor[slot].shift_bytes = shift;
        }
        ASSERT_EQ(first_difference(p, run_library(at, {1, isa, shift}), expected), "")
            << name(isa) << " +" << shift;
      }
    }
  }
}

// Padded, permuted and reversed layouts of the same values.
TEST_P(SameBits, WithAnyStrides) {
  for_examples([](const Problem& p, const Outputs& expected) {
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
      EXPECT_EQ(first_difference(p, run_library(strided, {2, kIsas[random.below(4)], 1}), expected),
                "")
          << describe(strided);
    }
  });
}

// Channels-last, all tensors or some; tiles of channels whole and cut, with and without gaps between pixels.
TEST_P(SameBits, WithChannelsLast) {
  const auto [form, data] = GetParam();
  if (!is_batch_norm(form)) return;
  for (const Shape& shape :
       {Shape{2, 300, 33}, Shape{3, 65, 40}, Shape{9, 257, 1}, Shape{4, 130, 5}, Shape{6, 24, 70},
        Shape{3, 3, 9000}, Shape{2, 18, 4100}}) {
    const Problem p = example(form, data, shape);
    SCOPED_TRACE(title(p));
    const Outputs expected = run_library(p, {1, normgrad::Isa::kPlain, 0});
    ASSERT_EQ(expected.failure, "");
    const Slot x = p.has(kX) ? kX : kXHat;
    for (const Slot kept : {kSlotCount, p.big_output(), p.big_input(), x}) {  // stays row-major
      for (const std::int64_t gap : {0, 5, 32}) {                             // between pixels
        if (kept != kSlotCount && gap != 0) continue;
        Problem last = p;
        for (std::size_t slot = 0; slot < kSlotCount; ++slot) {
          TensorSpec& spec = last.tensor[slot];
          if (slot == kept || !spec.present() || spec.shape != shape) continue;
          const std::int64_t pixel = shape[1] + gap;
          spec.strides = {pixel * shape[2], 1, pixel};
        }
        for (const normgrad::Isa isa : available_isas()) {
          EXPECT_EQ(first_difference(p, run_library(last, {2, isa, 1}), expected), "")
              << describe(last);
        }
      }
    }
  }
}

// Large enough for threads, in tiles and spans of several kinds; n evenly strided or not.
TEST_P(SameBits, WithChannelsLastOnThreads) {
  const auto [form, data] = GetParam();
  if (!is_batch_norm(form)) return;
  for (const Shape& shape :
       {Shape{64, 300, 7}, Shape{8, 2100, 5}, Shape{40, 130, 64}, Shape{1000, 49, 1}}) {
    const Problem p = example(form, data, shape);
    SCOPED_TRACE(title(p));
    const Outputs expected = run_library(p, {1, normgrad::Isa::kPlain, 0});
    ASSERT_EQ(expected.failure, "");
    for (const std::int64_t gap : {0, 3}) {  // between one n and the next
      Problem last = p;
      for (TensorSpec& spec : last.tensor) {
        if (spec.present() && spec.shape == shape) {
          spec.strides = {shape[1] * shape[2] + gap, 1, shape[1]};
        }
      }
      for (const int threads : {1, 2, 3, 7, 16}) {
        EXPECT_EQ(
            first_difference(p, run_library(last, {threads, normgrad::Isa::kAvx512, 1}), expected),
            "")
            << threads << " threads " << describe(last);
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
TEST_P(SameBits, WithAnyOutputsLeftOut) {
  for_examples([](const Problem& p, const Outputs& expected) {
    for (const Slot chosen : kOutputs) {
      for (const bool alone : {true, false}) {
        Problem some = p;
        std::size_t left = 0;
        for (const Slot slot : kOutputs) {
          if ((slot == chosen) != alone) some.tensor[slot] = {};
          left += some.has(slot);
        }
        if (!p.has(chosen) || left == 0) continue;
        EXPECT_EQ(
            first_difference(some, run_library(some, {2, normgrad::Isa::kAvx512, 1}), expected), "")
            << name(chosen) << (alone ? " alone" : " left out");
      }
    }
  });
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
#if defined(__x86_64__) && defined(NORMGRAD_HIGHWAY)
  EXPECT_EQ(isas.size(), __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")
                             ? 4u
                         : __builtin_cpu_supports("avx2")   ? 3u
                         : __builtin_cpu_supports("sse4.2") ? 2u
                                                            : 1u);
#endif
}

}  // namespace
}  // namespace ops_test
