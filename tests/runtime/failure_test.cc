#include "runtime/failure.h"

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

TEST(KeptErrors, AreTakenOnceInOrderWithTheirTitles) {
  EXPECT_EQ(take_kept_errors(), nullptr);
  EXPECT_EQ(fail(Status::kBadParam, "one"), Status::kBadParam);
  keep_last_error("Title(1)");
  EXPECT_EQ(fail(Status::kBadParam, "two"), Status::kBadParam);
  keep_last_error("Title(2)");
  EXPECT_STREQ(take_kept_errors(), "Title(1): one\nTitle(2): two");
  EXPECT_EQ(take_kept_errors(), nullptr);
}

TEST(KeptErrors, TheOldestGoWhenThereIsNoRoom) {
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(
        fail(Status::kBadParam, "%d %s", i, std::string(static_cast<std::size_t>(i), 'x').c_str()),
        Status::kBadParam);
    keep_last_error("T");
  }
  const std::string kept = take_kept_errors();
  EXPECT_EQ(kept.rfind("T: ", 0), 0u) << "begins with a whole line";
  EXPECT_NE(kept.find("T: 999 xxx"), std::string::npos);
  EXPECT_EQ(kept.find("T: 0 "), std::string::npos);
  EXPECT_EQ(kept.back(), 'x');
}

TEST(KeptErrors, TheLongestSentenceFits) {
  const std::string text(10000, 'y');
  EXPECT_EQ(fail(Status::kBadParam, "%s", text.c_str()), Status::kBadParam);
  for (int i = 0; i < 10; ++i) keep_last_error("AclNN_Parameter_Error(EZ1001)");
  const std::string kept = take_kept_errors();
  EXPECT_GT(kept.size(), 1000u);
  EXPECT_LT(kept.size(), 4096u);
}

TEST(KeptErrors, EveryThreadHasItsOwn) {
  EXPECT_EQ(fail(Status::kBadParam, "mine"), Status::kBadParam);
  keep_last_error("T");
  bool other_has_one = true;
  std::thread([&] { other_has_one = take_kept_errors() != nullptr; }).join();
  EXPECT_FALSE(other_has_one);
  EXPECT_STREQ(take_kept_errors(), "T: mine");
}

}  // namespace
}  // namespace normgrad
