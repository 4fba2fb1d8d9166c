// Generated cases that the aclnn interface can express: a problem in the core's words, and how it is
// put to the operator.
#ifndef TESTS_ACLNN_CASES_H
#define TESTS_ACLNN_CASES_H

#include <acl/acl.h>

#include <set>
#include <string>

#include "ops/cases.h"

namespace aclnn_test {

using ops_test::Format;
using ops_test::Problem;
using ops_test::Slot;

enum class Api {
  kBatchNormBackward,
  kFastBatchNormBackward,
  kReduceBackward,
  kElemtBackward,
  kBatchNorm,
  kElemt,
  kStats,
  kGatherStats
};
inline constexpr Api kApis[] = {Api::kBatchNormBackward,
                                Api::kFastBatchNormBackward,
                                Api::kReduceBackward,
                                Api::kElemtBackward,
                                Api::kBatchNorm,
                                Api::kElemt,
                                Api::kStats,
                                Api::kGatherStats};
const char* name(Api api);

// NORMGRAD_SOC=Ascend910B: saveInvstd is the variance, and NHWC means nothing.
bool is_910b();

struct Case {
  Api api;
  Problem problem;
  aclFormat format;     // of the big tensors
  std::set<Slot> null;  // given to the core, but a null pointer here: the same by default

  std::string description() const;
};

// plain: every output in memory of its own, nothing updated in place, so that it can run again.
Case make_case(Api api, std::uint64_t master_seed, std::size_t index, bool plain = false);

}  // namespace aclnn_test

#endif
