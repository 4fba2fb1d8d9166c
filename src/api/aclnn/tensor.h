// What a caller said about a tensor, unchecked. Operators and executors read it in phase 1 and keep
// copies of what they need.
#ifndef NORMGRAD_API_ACLNN_TENSOR_H
#define NORMGRAD_API_ACLNN_TENSOR_H

#include <algorithm>
#include <cstdint>
#include <memory>

#include "aclnn/acl_meta.h"
#include "normgrad/tensor.h"
#include "runtime/handle_registry.h"
#include "runtime/retirement.h"

namespace normgrad::api {

// A list of extents or strides; only one that no operator takes needs memory of its own.
class Dims {
 public:
  static constexpr std::uint64_t kMax = 64;  // more is a mistake, and might not be readable

  Dims() = default;
  Dims(const std::int64_t* values, std::uint64_t size) : size_(size) {
    if (size > kMaxRank) many_ = std::make_unique_for_overwrite<std::int64_t[]>(size);
    if (size > 0) std::copy_n(values, size, begin());
  }

  std::uint64_t size() const { return size_; }
  std::int64_t* begin() { return many_ ? many_.get() : few_; }
  const std::int64_t* begin() const { return many_ ? many_.get() : few_; }
  const std::int64_t* end() const { return begin() + size_; }
  std::int64_t operator[](std::uint64_t i) const { return begin()[i]; }

 private:
  std::uint64_t size_ = 0;
  std::int64_t few_[kMaxRank];  // the first size_ are set
  std::unique_ptr<std::int64_t[]> many_;
};

}  // namespace normgrad::api

struct aclTensor {
  static constexpr normgrad::HandleKind kKind = normgrad::HandleKind::kAclTensor;

  normgrad::api::Dims shape;
  normgrad::api::Dims strides;  // as many as shape has
  normgrad::api::Dims storage;  // nothing: the caller did not say
  std::int64_t offset = 0;
  void* address = nullptr;
  aclDataType dtype = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  normgrad::Retirement retirement;

  bool is_empty() const { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }
};

#endif
