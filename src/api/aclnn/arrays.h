// Arrays, lists and scalars behind their handles: copies of what the caller gave.
#ifndef NORMGRAD_API_ACLNN_ARRAYS_H
#define NORMGRAD_API_ACLNN_ARRAYS_H

#include <cstdint>
#include <memory>

#include "aclnn/acl_meta.h"
#include "runtime/handle_registry.h"
#include "runtime/retirement.h"

namespace normgrad::api {

template <class T, HandleKind kind>
struct Array {
  using Value = T;
  static constexpr HandleKind kKind = kind;

  std::uint64_t size = 0;
  std::unique_ptr<T[]> values;  // null if there are none
  Retirement retirement;
};

}  // namespace normgrad::api

struct aclIntArray : normgrad::api::Array<std::int64_t, normgrad::HandleKind::kAclIntArray> {};
struct aclFloatArray : normgrad::api::Array<float, normgrad::HandleKind::kAclFloatArray> {};
struct aclBoolArray : normgrad::api::Array<bool, normgrad::HandleKind::kAclBoolArray> {};
struct aclTensorList
    : normgrad::api::Array<const aclTensor*, normgrad::HandleKind::kAclTensorList> {};
struct aclScalarList
    : normgrad::api::Array<const aclScalar*, normgrad::HandleKind::kAclScalarList> {};

struct aclScalar {
  static constexpr normgrad::HandleKind kKind = normgrad::HandleKind::kAclScalar;

  aclDataType dtype;
  unsigned char value[16];  // the largest type, a complex number of two doubles
  normgrad::Retirement retirement;
};

#endif
