// The tests' own instruments notice what they are there to notice.
#include <gtest/gtest.h>

#include <cstring>

#include "ops/cases.h"
#include "ops/check.h"
#include "ops/examples.h"
#include "ops/model.h"

namespace ops_test {
namespace {

TEST(Check, AcceptsTheModelAndRejectsTwoUlpsMore) {
  for (const Form form : kForms) {
    for (const Format data : kDataFormats) {
      const Problem p = example(form, data, {4, 6, 19});
      const Outputs right = run_model(p);
      Tally tally;
      ASSERT_EQ(check(p, right, tally), "") << title(p);
      for (const Slot slot : kOutputs) {
        if (!p.has(slot)) continue;
        Outputs wrong = right;
        wrong.bits[slot].back() += 2;
        const std::string message = check(p, wrong, tally);
        EXPECT_EQ(message.rfind(name(slot), 0), 0u) << title(p) << message;
        EXPECT_NE(first_difference(p, wrong, right), "");
      }
      EXPECT_EQ(tally.by_model, 0u) << title(p);
    }
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

// What the generator is meant to reach, it reaches.
TEST(Cases, CoverTheirGround) {
  std::size_t in_place = 0, expanded = 0, reversed = 0, mixed = 0, ranks[9] = {}, classes[32] = {},
              formats[5] = {};
  for (const Op op : kOps) {
    for (std::size_t index = 0; index < 300; ++index) {
      const Case c = make_case(op, 1, index);
      const TensorSpec& dy = c.problem.tensor[kDy];
      ++ranks[dy.shape.size()], ++classes[static_cast<int>(c.data_class)],
          ++formats[static_cast<int>(dy.format)];
      in_place += c.problem.dx_shares != kDx;
      mixed += c.problem.has(kW) && c.problem.tensor[kW].format != dy.format;
      for (std::size_t d = 0; d < dy.shape.size(); ++d) {
        expanded += dy.strides[d] == 0 && dy.shape[d] > 1;
        reversed += dy.strides[d] < 0 && dy.shape[d] > 1;
      }
    }
  }
  for (const std::size_t count : {in_place, expanded, reversed, mixed}) EXPECT_GT(count, 20u);
  for (int rank = 1; rank <= 8; ++rank) EXPECT_GT(ranks[rank], 0u) << rank;
  for (int i = 0; i < static_cast<int>(DataClass::kCount); ++i) EXPECT_GT(classes[i], 20u) << i;
  for (const Format format : kDataFormats) EXPECT_GT(formats[static_cast<int>(format)], 200u);
}

}  // namespace
}  // namespace ops_test
