// What both directions of SyncBatchNorm share: the workspace, its problem's checks, the exchange.
#ifndef NORMGRAD_OPS_SYNC_BATCH_NORM_SYNC_BATCH_NORM_H
#define NORMGRAD_OPS_SYNC_BATCH_NORM_SYNC_BATCH_NORM_H

#include <cstdint>

#include "core/sizes.h"
#include "normgrad/sync_batch_norm.h"
#include "ops/plan_checks.h"

namespace normgrad {

// Cuts a workspace into pieces, each a multiple of 64 bytes away from a multiple of 64. make_plan
// cuts one at address 0 to learn the size, run() cuts the caller's.
class Cut {
 public:
  explicit Cut(void* workspace = nullptr)
      : base_((reinterpret_cast<std::uintptr_t>(workspace) + (kAlignment - 1)) / kAlignment *
              kAlignment) {}

  // Only in make_plan may `bytes` be too large.
  void* take(Checked bytes) {
    const std::int64_t begin = end_.value();
    end_ = end_ + bytes + (kAlignment - 1);
    if (end_.ok()) end_ = end_.value() / kAlignment * kAlignment;
    return reinterpret_cast<void*>(base_ + static_cast<std::uintptr_t>(begin));
  }
  double* doubles(Checked count) { return static_cast<double*>(take(count * 8)); }

  // With what it may take to get to a multiple of 64.
  Checked bytes() const { return end_ + kAlignment; }

 private:
  static constexpr std::int64_t kAlignment = 64;
  std::uintptr_t base_;
  Checked end_ = 0;
};

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
inline Status finish(SyncPlan& plan, const char* op, const Cut& cut) {
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
