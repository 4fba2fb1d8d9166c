// One call of an aclnn operator as bytes describe it, and what a validator that was written from docs/aclnn.md says to it.
#ifndef FUZZ_ACLNN_CALL_H
#define FUZZ_ACLNN_CALL_H

#include <acl/acl.h>

#include <optional>
#include <vector>

#include "aclnn_phases.h"
#include "bytes.h"
#include "drafts.h"

namespace fuzz::aclnn {

struct Call {
  Api api;
  std::vector<Argument> arguments;
  std::vector<Draft> t;
  bool training = true;
  std::vector<bool> wanted;  // outputMask, or the three flags of the reduction
  bool mask_is_null = false;
  std::int64_t channels = 0, rows = 0;

  // Not asked for, so never looked at.
  bool is_ignored(std::size_t i) const {
    switch (api) {
      case Api::kBatchNorm:
        return i >= 6 && !training;
      case Api::kBackward:
      case Api::kFastBackward:
        return i >= 7 && i - 7 < wanted.size() && !wanted[i - 7];  // a mask may be too short
      case Api::kReduce:
        return i >= 5 && !wanted[i < 7 ? 0 : i - 6];
      default:
        return false;
    }
  }
  bool is_given(std::size_t i) const { return !is_ignored(i) && !t[i].null; }
  // The running statistics are updated in training; by the gathering, both or none.
  bool is_written(std::size_t i) const {
    if (!is_given(i) || !arguments[i].output) return false;
    if (i != 3 && i != 4) return true;
    if (api == Api::kBatchNorm) return training;
    return api != Api::kGather || (is_given(3) && is_given(4));
  }
};

Call make_call(Bytes& bytes);

// The code of phase 1 (profile Ascend950). Nothing: the documents leave it open.
std::optional<int> expected_code(const Call& call);

inline bool is_listed(int dtype) {
  return dtype == ACL_FLOAT || dtype == ACL_FLOAT16 || dtype == ACL_BF16;
}

}  // namespace fuzz::aclnn

#endif
