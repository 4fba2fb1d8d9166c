#include "core/failure.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "normgrad/last_error.h"

namespace normgrad {
namespace {

TEST(Failure, SentenceBeginsWithTheEntryPoint) {
  const EntryPoint entry_point("someFunction");
  EXPECT_EQ(fail(Status::kBadShape, "x has %d dims", 3), Status::kBadShape);
  EXPECT_STREQ(normgradGetLastError(), "someFunction: x has 3 dims");
}

TEST(Failure, EntryPointsNest) {
  const EntryPoint outer("outer");
  { const EntryPoint inner("inner"); }
  EXPECT_EQ(fail(Status::kBadParam, "text"), Status::kBadParam);
  EXPECT_STREQ(normgradGetLastError(), "outer: text");
}

TEST(Failure, LongTextIsCut) {
  const std::string text(10000, 'x');
  EXPECT_EQ(fail(Status::kBadParam, "%s", text.c_str()), Status::kBadParam);
  EXPECT_GT(std::string(normgradGetLastError()).size(), 500u);
  EXPECT_LT(std::string(normgradGetLastError()).size(), 10000u);
}

TEST(Failure, EveryThreadHasItsOwn) {
  EXPECT_EQ(fail(Status::kBadParam, "mine"), Status::kBadParam);
  std::string other = "unset";
  std::thread([&] { other = normgradGetLastError(); }).join();
  EXPECT_EQ(other, "");
  EXPECT_STREQ(normgradGetLastError(), "mine");
}

}  // namespace
}  // namespace normgrad
