// What phase 1 leaves for phase 2: a plan, the addresses it is for, and which of them belongs to
// which argument of the operator. It holds copies only; the caller's tensors may be gone.
#ifndef NORMGRAD_API_ACLNN_EXECUTOR_H
#define NORMGRAD_API_ACLNN_EXECUTOR_H

#include <cstddef>
#include <cstdint>
#include <memory>

#include "aclnn/acl_meta.h"
#include "api/acl_status.h"
#include "normgrad/plan.h"
#include "runtime/handle_registry.h"
#include "runtime/retirement.h"

namespace normgrad::api {

// A tensor argument of the operator.
struct TensorSlot {
  const char* name = nullptr;
  bool given = false;             // not null in phase 1
  Arg arg = Arg::kNone;           // kNone: it has no part in the computation
  Arg also = Arg::kNone;          // an output in place of it
  std::int64_t offset_bytes = 0;  // from tensorData to element (0, ..., 0)
};

inline constexpr int kMaxSlots = 13;

}  // namespace normgrad::api

struct aclOpExecutor {
  static constexpr normgrad::HandleKind kKind = normgrad::HandleKind::kAclOpExecutor;
  // Whether an executor survives phase 2 must be known before it is touched, since another thread
  // may be consuming it: hence two kinds of handle instead of a flag in here.
  static constexpr normgrad::HandleKind kRepeatableKind =
      normgrad::HandleKind::kAclRepeatableOpExecutor;

  const char* op = nullptr;  // the name of phase 2
  int inputs = 0;            // slots: inputs, then outputs
  int slots = 0;
  normgrad::api::TensorSlot slot[normgrad::api::kMaxSlots];
  normgrad::Addresses addresses;
  normgrad::Plan plan;  // none: there is nothing to do
  normgrad::Retirement retirement;

  bool has_work() const { return static_cast<bool>(plan); }

  void set_address(const normgrad::api::TensorSlot& of, void* address) {
    if (of.arg == normgrad::Arg::kNone) return;
    // Null stays null, so that it is found out.
    const void* at =
        address == nullptr ? nullptr : static_cast<std::byte*>(address) + of.offset_bytes;
    addresses[of.arg] = at;
    if (of.also != normgrad::Arg::kNone) addresses[of.also] = at;
  }
};

namespace normgrad::api {

// For one run. A copy is nobody else's; the caller's own may have visitors.
struct EndExecutor {
  bool is_copy = false;
  void operator()(aclOpExecutor* executor) const noexcept {
    is_copy ? delete executor : retire_object(executor);
  }
};
using OwnedExecutor = std::unique_ptr<aclOpExecutor, EndExecutor>;

inline int refuse_dead_executor(const aclOpExecutor* executor) {
  return refuse(
      kAclnnInner,
      "executor (%p) is not alive: phase 2 or aclDestroyAclOpExecutor destroyed it, or it "
      "was not made by phase 1 of an operator",
      static_cast<const void*>(executor));
}

}  // namespace normgrad::api

#endif
