// BatchNorm of a batch that is spread over ranks (processes, machines, threads), forward and
// backward: what one rank does for its part (docs/sync_batch_norm.md). The library has no
// communicator: the ranks exchange numbers through two functions of the caller.
#ifndef NORMGRAD_SYNC_BATCH_NORM_H
#define NORMGRAD_SYNC_BATCH_NORM_H

#include "normgrad/plan.h"

namespace normgrad {

// What the ranks' engine does: MPI_Allgather and MPI_Allreduce, or their like. Both return when this
// rank has its result, with 0; any other number says that there is none, because a rank died, a
// time ran out: run() then answers kExchangeFailed. How long to wait for a rank is theirs to know:
// run() waits as long as they do. They are called in the thread of run(), in which an exception of
// theirs is the caller's too.
struct Exchange {
  // Rank r's `bytes` bytes at `part` are to be at parts + r*bytes on every rank.
  int (*all_gather)(void* context, const void* part, void* parts, std::size_t bytes) = nullptr;
  // Each of the `count` numbers at `sums`, of `dtype` f32 or f64, is to become its sum over all
  // ranks. Never called, and may be null, with in_rank_order.
  int (*all_reduce)(void* context, void* sums, std::size_t count, DataType dtype) = nullptr;
  void* context = nullptr;  // handed to both
};

// A problem of one rank, which holds its part of the batch; a part may be without elements (extent 0
// in any dimension but the channels). All ranks take part in every run, in the same order of runs,
// whichever outputs each of them wants. The number of channels, `ranks`, eps, `sums` and
// in_rank_order must be the same on all: nobody else can see that they are not. What can be wrong on
// one rank alone is looked at before its first exchange. A rank that is refused takes part in no
// exchange: its caller then has to end the engine (MPI_Abort), or the others wait for their timeout.

// kSyncBatchNorm: y, mean, rstd and the running statistics from x, w, b, all but x optional.
//   y = (x - mean)*rstd*w + b with the mean and rstd = 1/sqrt(var + eps) of the whole batch, var its biased variance. One
//   exchange: all_gather of 2*channels + 1 f64 numbers. The rules of kBatchNorm in training hold for each part; keep mean and
//   rstd in f64 for backward. One rank alone has kBatchNorm's bits. A whole batch without elements has mean 0, rstd NaN, and
//   updates no running statistic.
//
// kSyncBatchNormBackward: dx, dw, db from dy, x, w and the whole batch's mean and rstd; outputs and w optional.
//   dx is that of the whole batch's gradient; dw and db are those of the part, to be added up over the ranks like the gradient
//   of any other parameter. One exchange of 2*channels + 4 numbers: sum(dy) and sum(dy*(x - mean)) of every channel, and the
//   number of elements per channel. The rules are those of kBatchNormBackward in training.
struct SyncProblem : Problem {
  int ranks = 1;
  // Backward. In which the sums travel: f64, or f32, half of the bytes and about 2^-22 of T off.
  DataType sums = DataType::kF64;
  // The sums are gathered, and added here in the order of the ranks: the same bits wherever the ranks run and however their
  // engine arranges an all-reduce. Forward always does that.
  bool in_rank_order = false;

  NORMGRAD_COMPARABLE(SyncProblem)
};

struct SyncBody;

// A checked problem. Like a Plan it holds no address and is only read by run().
class NORMGRAD_API SyncPlan {
 public:
  SyncPlan() = default;  // none
  explicit SyncPlan(std::shared_ptr<const SyncBody> body) : body_(std::move(body)) {}

  explicit operator bool() const { return body_ != nullptr; }
  // A function of the part's shape and ranks.
  std::size_t workspace_bytes() const;

  const SyncBody* body() const { return body_.get(); }  // of the library's own

 private:
  std::shared_ptr<const SyncBody> body_;
};

// Leaves *plan as it was unless the answer is kOk. Throws std::bad_alloc.
NORMGRAD_API Status make_plan(const SyncProblem& problem, SyncPlan* plan);

// On failure, that of the exchange included, nothing has been written but the workspace. No allocation, but for those of the
// engine.
NORMGRAD_API Status run(const SyncPlan& plan, const Addresses& addresses, const Exchange& exchange,
                        void* workspace, std::size_t workspace_bytes);

}  // namespace normgrad

#endif
