// Numbers: conversions that are not IEEE's, sizes of types.
#include <cmath>
#include <limits>

#include "api/acl/world.h"

namespace acl_test {
namespace {

TEST(AclNumbers, EveryFloat16GoesThereAndBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<aclFloat16>(bits);
    const std::uint32_t exponent = bits >> 10 & 31;
    const std::uint32_t fraction = bits & 0x3FF;
    const double magnitude = exponent == 0
                                 ? std::ldexp(fraction, -24)
                                 : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
    const float value = aclFloat16ToFloat(half);
    ASSERT_EQ(static_cast<double>(value), (bits & 0x8000) != 0 ? -magnitude : magnitude) << bits;
    const aclFloat16 largest = (bits & 0x8000) != 0 ? 0xFBFF : 0x7BFF;
    ASSERT_EQ(aclFloatToFloat16(value), exponent == 31 ? largest : half) << bits;
  }
}

TEST(AclNumbers, FloatToFloat16RoundsToEvenAndSaturates) {
  const float infinity = std::numeric_limits<float>::infinity();
  const struct {
    float value;
    aclFloat16 expected;
  } cases[] = {
      {infinity, 0x7BFF}, {-infinity, 0xFBFF}, {std::numeric_limits<float>::quiet_NaN(), 0x7BFF},
      {65504.0f, 0x7BFF}, {65519.0f, 0x7BFF},  {65520.0f, 0x7BFF},
      {1e30f, 0x7BFF},    {-1e30f, 0xFBFF},    {2049.0f, 0x6800},
      {2051.0f, 0x6802},  {0x1p-25f, 0x0000},  {0x1.8p-25f, 0x0001},
      {-0.0f, 0x8000}};
  for (const auto& one : cases) EXPECT_EQ(aclFloatToFloat16(one.value), one.expected) << one.value;
  EXPECT_EQ(aclFloat16ToFloat(0x7C00), 65536.0f);
  EXPECT_EQ(aclFloat16ToFloat(0xFC00), -65536.0f);
  EXPECT_EQ(aclFloat16ToFloat(0x7E00), 98304.0f);
}

TEST(AclNumbers, TypesHaveSizes) {
  const struct {
    std::size_t size;
    std::vector<aclDataType> types;
  } rows[] = {{0, {ACL_DT_UNDEFINED, ACL_STRING}},
              {1,
               {ACL_UINT1, ACL_INT4, ACL_BOOL, ACL_INT8, ACL_UINT8, ACL_HIFLOAT8, ACL_FLOAT8_E5M2,
                ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E8M0}},
              {2, {ACL_FLOAT16, ACL_BF16, ACL_INT16, ACL_UINT16}},
              {4, {ACL_FLOAT, ACL_INT32, ACL_UINT32, ACL_COMPLEX32}},
              {8, {ACL_INT64, ACL_UINT64, ACL_DOUBLE, ACL_COMPLEX64, ACL_FLOAT4_E1M2}},
              {16, {ACL_COMPLEX128}}};
  for (const auto& row : rows) {
    for (const aclDataType type : row.types) EXPECT_EQ(aclDataTypeSize(type), row.size) << type;
  }
  EXPECT_EQ(aclDataTypeSize(as<aclDataType>(1000)), 8u);
}

TEST(AclLog, TakesAnything) {
  ACL_APP_LOG(ACL_DEBUG, "first");
  ACL_APP_LOG(ACL_INFO, "plain");
  ACL_APP_LOG(ACL_WARNING, "odd");
  ACL_APP_LOG(ACL_ERROR, "%s %d", "text", 1);
  aclAppLog(as<aclLogLevel>(99), nullptr, nullptr, 0, "unknown level");
  aclAppLog(ACL_INFO, nullptr, nullptr, 0, nullptr);
}

}  // namespace
}  // namespace acl_test
