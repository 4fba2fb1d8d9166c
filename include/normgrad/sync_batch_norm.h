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

// y = (x - mean)*rstd*w + b with the mean and rstd = 1/sqrt(var + eps) of the whole batch, var its
// biased variance. One exchange: all_gather of 2*channels + 1 f64 numbers.
// The shapes, dtypes and rules of BatchNorm in training (normgrad/batch_norm.h) hold for each part;
// keep mean and rstd in f64 for backward. One rank alone has BatchNorm's bits.
// A whole batch without elements has mean 0, rstd NaN, and updates no running statistic.
struct SyncBatchNorm {
  Tensor y, mean, rstd;              // out; absent: not wanted
  Tensor running_mean, running_var;  // in and out, with the unbiased variance; absent: not wanted
  Tensor x;
  Tensor w;  // absent: 1
  Tensor b;  // absent: 0
  double eps = 0;
  double momentum = 0;
  int channel_axis = 1;
  int ranks = 1;
};

struct SyncBatchNormData {
  void *y = nullptr, *mean = nullptr, *rstd = nullptr, *running_mean = nullptr,
       *running_var = nullptr;
  const void *x = nullptr, *w = nullptr, *b = nullptr;
};

// dx is that of the whole batch's gradient; dw and db are those of the part, to be added up over the
// ranks like the gradient of any other parameter. One exchange of 2*channels + 4 numbers: sum(dy)
// and sum(dy*(x - mean)) of every channel, and the number of elements per channel.
// Shapes, dtypes and rules: those of BatchNormBackward in training (normgrad/batch_norm_backward.h).
struct SyncBatchNormBackward {
  Tensor dx, dw, db;  // out; absent: not wanted
  Tensor dy, x;
  Tensor w;           // absent: 1
  Tensor mean, rstd;  // of the whole batch
  // In which the sums travel: f64, or f32, half of the bytes and about 2^-22 of T off.
  DataType sums = DataType::kF64;
  // The sums are gathered, and added here in the order of the ranks: the same bits wherever the ranks
  // run and however their engine arranges an all-reduce.
  bool in_rank_order = false;
  int channel_axis = 1;
  int ranks = 1;
};

struct SyncBatchNormBackwardData {
  void *dx = nullptr, *dw = nullptr, *db = nullptr;
  const void *dy = nullptr, *x = nullptr, *w = nullptr, *mean = nullptr, *rstd = nullptr;
};

// A checked problem: two plans with an exchange between them. Like a Plan it holds no address and is
// only read by run().
struct SyncPlan {
  Plan whole;    // all arguments, and the workspace of the run: for checks, not to be run by itself
  Plan part;     // this rank's statistics, or sums
  Plan element;  // y, or dx; not a plan where that is not wanted
  int ranks = 1;
  DataType sums = DataType::kF64;
  bool in_rank_order = false;
};

NORMGRAD_API Status make_plan(const SyncBatchNorm& problem, SyncPlan* plan);
NORMGRAD_API Status make_plan(const SyncBatchNormBackward& problem, SyncPlan* plan);

// workspace: plan.whole.workspace_bytes, of any alignment; a function of the part's shape and ranks.
// On failure, that of the exchange included, nothing has been written but the workspace. No
// allocation, but for those of the engine.
NORMGRAD_API Status run(const SyncPlan& plan, const SyncBatchNormData& data,
                        const Exchange& exchange, void* workspace, std::size_t workspace_bytes);
NORMGRAD_API Status run(const SyncPlan& plan, const SyncBatchNormBackwardData& data,
                        const Exchange& exchange, void* workspace, std::size_t workspace_bytes);

}  // namespace normgrad

#endif
