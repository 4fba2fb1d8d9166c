// What both directions of SyncBatchNorm share: the plan, its problem's checks, the exchange.
#ifndef NORMGRAD_OPS_SYNC_BATCH_NORM_H
#define NORMGRAD_OPS_SYNC_BATCH_NORM_H

#include <cstdint>

#include "normgrad/sync_batch_norm.h"
#include "ops/operators.h"
#include "ops/workspace.h"
#include "runtime/failure.h"

namespace normgrad {

// Two plans with an exchange between them.
struct SyncBody {
  PlanBody whole;    // all arguments, and the workspace of the run: for checks, not to be run
  PlanBody part;     // this rank's statistics, or sums
  PlanBody element;  // y, or dx; no operator where that is not wanted
  int ranks = 1;
  DataType sums = DataType::kF64;
  bool in_rank_order = false;

  std::int64_t channels() const { return whole.channel.channels; }
  // Elements per channel of this rank's part.
  std::int64_t count() const { return whole.channel.n * whole.channel.l; }
};

inline void execute(const PlanBody& plan, const Addresses& addresses, void* workspace) {
  plan.op->execute(plan, data_of(addresses), static_cast<std::byte*>(workspace));
}

// A tensor of (channels) f64 in the workspace.
inline Tensor in_workspace(std::int64_t channels, const char* name) {
  return {DataType::kF64, 1, {channels}, {1}, name};
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

// Plans of the part and the element, once the whole's is there; and the workspace that the run cuts.
struct SyncDirection {
  Status (*make_parts)(const SyncProblem& problem, SyncBody& plan);
  Checked (*workspace_bytes)(const SyncBody& plan);
  Status (*check_engine)(const SyncBody& plan, const Exchange& exchange);
  Status (*run)(const SyncBody& plan, const Addresses& addresses, const Exchange& exchange,
                void* workspace);
};
extern const SyncDirection kSyncForward;   // sync_batch_norm_forward.cc
extern const SyncDirection kSyncBackward;  // sync_batch_norm_backward.cc

}  // namespace normgrad

#endif
