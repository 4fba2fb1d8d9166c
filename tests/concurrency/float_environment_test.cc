// The caller's rounding mode, FTZ, DAZ, exception masks and flags, through both C APIs and in every
// stream mode: no bit depends on them, and every call leaves them as they were. An exception that is
// not masked would end the test.
#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <immintrin.h>

#include "aclnn/device.h"
#include "aclnn/serial_run.h"
#include "concurrency/infiniop_call.h"

namespace concurrency_test {
namespace {

// Words of MXCSR: flags 0x3F, DAZ 0x40, masks 0x1F80, rounding 0x6000, FTZ 0x8000.
constexpr unsigned kDefault = 0x1F80;
constexpr unsigned kWords[] = {
    0x0000,                    // nothing masked, no flags
    0x2000,                    // and downwards
    0x4000 | 0x8040,           // and upwards, FTZ, DAZ
    0x6000 | 0x1F80 | 0x003F,  // towards 0, all masked, all flags
    0x8040 | 0x1F80,           // FTZ and DAZ alone
};

// body() under `word`; is it the word afterwards?
template <class Body>
bool holds(unsigned word, Body&& body) {
  _mm_setcsr(word);
  body();
  const unsigned after = _mm_getcsr();
  _mm_setcsr(kDefault);
  return after == word;
}

TEST(ControlWord, CallersWordDoesNotMatterToAclnn) {
  const aclnn_test::Device device;
  auto calls = aclnn_test::small_calls(66000000, 32);
  for (const unsigned word : kWords) {
    aclrtStream stream = nullptr;  // whose thread inherits the word
    int code = 0;
    EXPECT_TRUE(holds(word, [&] { code = aclrtCreateStream(&stream); })) << std::hex << word;
    ASSERT_EQ(code, ACL_SUCCESS);
    for (aclnn_test::Expectation& e : calls) {
      ASSERT_TRUE(e.call->reset());
      std::string failure;
      EXPECT_TRUE(holds(word, [&] { failure = e.call->start(stream); })) << std::hex << word;
      ASSERT_EQ(failure, "");
      EXPECT_TRUE(holds(word, [&] { code = aclrtSynchronizeStream(stream); })) << std::hex << word;
      ASSERT_EQ(code, ACL_SUCCESS);
      EXPECT_EQ(e.difference(), "") << std::hex << word << " " << e.call->what().description();
    }
    EXPECT_TRUE(holds(word, [&] { code = aclrtDestroyStream(stream); }));
    EXPECT_EQ(code, ACL_SUCCESS);
  }
}

TEST(ControlWord, CallersWordDoesNotMatterToInfiniop) {
  for (const api_test::Operator* op : api_test::operators()) {
    for (const std::vector<std::size_t>& shape : kShapes) {
      const api_test::Descriptor descriptor(*op, api_test::specs_for(*op, shape));
      const std::size_t bytes = descriptor.workspace_size();
      InfiniopCall call(*op, shape, 1);
      ASSERT_EQ(call.run(descriptor.get(), bytes), INFINI_STATUS_SUCCESS);
      call.expect_this();
      for (const unsigned word : kWords) {
        call.forget_outputs();
        int code = 0;
        EXPECT_TRUE(holds(word, [&] { code = call.run(descriptor.get(), bytes); }))
            << std::hex << word;
        EXPECT_EQ(code, INFINI_STATUS_SUCCESS);
        EXPECT_TRUE(call.is_as_expected()) << op->name << std::hex << " " << word;
      }
    }
  }
}

// What else has numbers that are not whole.
TEST(ControlWord, CallersWordDoesNotMatterToTheRuntimes) {
  const aclnn_test::Device device;
  aclrtEvent first = nullptr, last = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&first), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateEvent(&last), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(first, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(last, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  infinirtEvent_t begin = nullptr, end = nullptr;
  ASSERT_EQ(infinirtEventCreate(&begin), INFINI_STATUS_SUCCESS);
  ASSERT_EQ(infinirtEventCreate(&end), INFINI_STATUS_SUCCESS);
  ASSERT_EQ(infinirtEventRecord(begin, nullptr), INFINI_STATUS_SUCCESS);
  ASSERT_EQ(infinirtEventRecord(end, nullptr), INFINI_STATUS_SUCCESS);
  float expected_ms = 0, expected_infini_ms = 0;
  ASSERT_EQ(aclrtEventElapsedTime(&expected_ms, first, last), ACL_SUCCESS);
  ASSERT_EQ(infinirtEventElapsedTime(&expected_infini_ms, begin, end), INFINI_STATUS_SUCCESS);
  const float third = 1.0f / 3, subnormal = 1e-40f, least_half = aclFloat16ToFloat(1);
  const aclFloat16 half_third = aclFloatToFloat16(third), half_tiny = aclFloatToFloat16(3e-8f);
  for (const unsigned word : kWords) {
    SCOPED_TRACE(word);
    float ms = 0, infini_ms = 0, least = 0;
    aclFloat16 half = 0, tiny = 0, none = 1;
    EXPECT_TRUE(holds(word, [&] { aclrtEventElapsedTime(&ms, first, last); }));
    EXPECT_TRUE(holds(word, [&] { infinirtEventElapsedTime(&infini_ms, begin, end); }));
    EXPECT_TRUE(holds(word, [&] { half = aclFloatToFloat16(third); }));
    EXPECT_TRUE(holds(word, [&] { tiny = aclFloatToFloat16(3e-8f); }));
    EXPECT_TRUE(holds(word, [&] { none = aclFloatToFloat16(subnormal); }));
    EXPECT_TRUE(holds(word, [&] { least = aclFloat16ToFloat(1); }));
    EXPECT_EQ(ms, expected_ms);
    EXPECT_EQ(infini_ms, expected_infini_ms);
    EXPECT_EQ(half, half_third);
    EXPECT_EQ(tiny, half_tiny);
    EXPECT_EQ(none, 0);
    EXPECT_EQ(least, least_half);
  }
  EXPECT_EQ(aclrtDestroyEvent(first), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(last), ACL_SUCCESS);
  EXPECT_EQ(infinirtEventDestroy(begin), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infinirtEventDestroy(end), INFINI_STATUS_SUCCESS);
}

}  // namespace
}  // namespace concurrency_test
#endif
