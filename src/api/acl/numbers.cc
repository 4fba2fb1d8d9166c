// Numbers of ACL's data types.
#include <cmath>

#include "acl/acl_base.h"
#include "kernels/element.h"
#include "kernels/float_environment.h"

using normgrad::kernels::FloatEnvironment;
using normgrad::kernels::Half;

float aclFloat16ToFloat(aclFloat16 value) {
  const FloatEnvironment environment;
  const std::uint32_t exponent_and_fraction = value & 0x7FFFu;
  if (exponent_and_fraction < 0x7C00u) return normgrad::kernels::to_float(Half{value});
  const float magnitude = 65536.0f + static_cast<float>(exponent_and_fraction & 0x3FFu) * 64.0f;
  return (value & 0x8000u) != 0 ? -magnitude : magnitude;
}

aclFloat16 aclFloatToFloat16(float value) {
  const FloatEnvironment environment;
  constexpr float kLargest = 65504.0f;
  if (std::abs(value) <= kLargest) return normgrad::kernels::round_to<Half>(value).bits;
  return value < 0 ? 0xFBFF : 0x7BFF;  // infinities too; every NaN is the latter
}

size_t aclDataTypeSize(aclDataType dataType) {
  switch (dataType) {
    case ACL_DT_UNDEFINED:
    case ACL_STRING:
      return 0;
    case ACL_UINT1:
    case ACL_INT4:
    case ACL_BOOL:
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_HIFLOAT8:
    case ACL_FLOAT8_E5M2:
    case ACL_FLOAT8_E4M3FN:
    case ACL_FLOAT8_E8M0:
      return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
      return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
      return 4;
    case ACL_COMPLEX128:
      return 16;
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_DOUBLE:
    case ACL_COMPLEX64:
    case ACL_FLOAT6_E3M2:
    case ACL_FLOAT6_E2M3:
    case ACL_FLOAT4_E2M1:
    case ACL_FLOAT4_E1M2:
      break;
  }
  return 8;  // also of numbers that are no data type, as the vendor's
}
