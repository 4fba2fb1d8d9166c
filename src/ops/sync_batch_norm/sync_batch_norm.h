// What both directions of SyncBatchNorm share: the workspace, its problem's checks, the exchange.
#ifndef NORMGRAD_OPS_SYNC_BATCH_NORM_SYNC_BATCH_NORM_H
#define NORMGRAD_OPS_SYNC_BATCH_NORM_SYNC_BATCH_NORM_H

#include <cstdint>

#include "runtime/sizes.h"
#include "normgrad/sync_batch_norm.h"
#include "ops/plan_checks.h"
#include "ops/workspace.h"

namespace normgrad {

// A tensor of (channels) f64 in the workspace.
inline Tensor in_workspace(std::int64_t channels, const char* name) {
  return {DataType::kF64, 1, {channels}, {1}, name};
}

inline std::int64_t channels_of(const SyncPlan& plan) { return plan.whole.channel.channels; }
// Elements per channel of this rank's part.
inline std::int64_t count_of(const SyncPlan& plan) {
  return plan.whole.channel.n * plan.whole.channel.l;
}

inline Status check_ranks(int ranks) {
  if (ranks >= 1) return Status::kOk;
  return fail(Status::kBadParam, "ranks is %d, but must be at least 1", ranks);
}

// Of a plan that is else complete: it becomes one of `op`, which needs what `cut` says.
inline Status finish(SyncPlan& plan, const char* op, const Workspace& cut) {
  if (!cut.bytes().ok()) {
    return fail(Status::kBadShape, "%lld channels on %d ranks are more than memory can hold",
                static_cast<long long>(channels_of(plan)), plan.ranks);
  }
  plan.whole.workspace_bytes = static_cast<std::size_t>(cut.bytes().value());
  plan.whole.op = op;
  plan.whole.execute = nullptr;
  return Status::kOk;
}

inline Status check_exchange(const void* function, const char* name) {
  if (function != nullptr) return Status::kOk;
  return fail(Status::kNullPointer, "%s is null", name);
}

// What an engine's function answered.
inline Status exchanged(int answer, const char* name) {
  if (answer == 0) return Status::kOk;
  return fail(Status::kExchangeFailed, "%s failed: it answered %d", name, answer);
}

}  // namespace normgrad

#endif
