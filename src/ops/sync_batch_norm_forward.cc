// Forward. A rank sends the moments of its part (kernels/merge.h) and its count. In exact arithmetic sums of ordinary data are
// exact, and then so is their sum over the ranks: the mean of the whole and what rounding left of it are those of BatchNorm.
// BatchNormGatherStats, which starts from mean and rstd, cannot know them, nor a variance far below eps.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/float_environment.h"
#include "kernels/merge.h"
#include "ops/parameters.h"
#include "ops/statistics.h"
#include "ops/sync_batch_norm.h"

namespace normgrad {
namespace {

// What a rank sends: sums, squares, and at the end its count.
Checked message_length(const SyncBody& plan) { return Checked(plan.channels()) * 2 + 1; }

struct Memory {
  Memory(const SyncBody& plan, Workspace& cut)
      : message(cut.take<double>(message_length(plan))),
        messages(cut.take<double>(message_length(plan) * plan.ranks)),
        mean(cut.take<double>(plan.channels())),
        mean_rest(cut.take<double>(plan.channels())),
        rstd(cut.take<double>(plan.channels())),
        squares(cut.take<double>(plan.channels())),
        rest(cut.take<std::byte>(static_cast<std::int64_t>(
            std::max(plan.part.workspace_bytes, plan.element.workspace_bytes)))) {}

  double *message, *messages;                 // this rank's; those of all ranks
  double *mean, *mean_rest, *rstd, *squares;  // of the whole batch
  std::byte* rest;
};

void compute_part(const SyncBody& plan, Addresses addresses, const Memory& memory) {
  const kernels::FloatEnvironment environment;
  const std::int64_t channels = plan.channels(), count = plan.count();
  std::fill_n(memory.message, 2 * channels, 0.0);
  memory.message[2 * channels] = static_cast<double>(count);
  if (count == 0) return;
  Addresses of_part;
  of_part[Arg::kX] = addresses[Arg::kX];
  of_part[Arg::kSum] = memory.message;
  of_part[Arg::kSquares] = memory.message + channels;
  execute(plan.part, of_part, memory.rest);
}

// The statistics of the whole batch, from the messages of all ranks, in their order.
class Whole {
 public:
  Whole(const SyncBody& plan, const Memory& memory)
      : channels_(plan.channels()),
        ranks_(plan.ranks),
        messages_(memory.messages),
        eps_(plan.whole.eps) {
    for (int r = 0; r < ranks_; ++r) n_ += count(r);
    for (std::int64_t c = 0; c < channels_; ++c) combine(c, memory);
  }
  double n() const { return n_; }

 private:
  const double* message(int rank) const { return messages_ + rank * (2 * channels_ + 1); }
  double count(int rank) const { return message(rank)[2 * channels_]; }
  double sum(int rank, std::int64_t channel) const { return message(rank)[channel]; }
  double squares(int rank, std::int64_t channel) const {
    return message(rank)[channels_ + channel];
  }

  void combine(std::int64_t channel, const Memory& memory) const {
    double total = 0, total_squares = 0, before = 0;
    for (int r = 0; r < ranks_; before += count(r++)) {
      kernels::Merge(before, count(r))(sum(r, channel), squares(r, channel), total, total_squares);
    }
    const double mean = n_ == 0 ? 0 : total / n_;
    memory.mean[channel] = mean;
    memory.mean_rest[channel] = rest_of_mean(total, n_, mean);
    memory.rstd[channel] = rstd_of(total_squares * (1 / n_), eps_);  // of nothing: NaN
    memory.squares[channel] = total_squares;
  }

  std::int64_t channels_;
  int ranks_;
  const double* messages_;
  double eps_;
  double n_ = 0;
};

void compute_y(const SyncBody& plan, Addresses addresses, const Memory& memory) {
  if (plan.element.op == nullptr) return;
  Addresses of_y;
  for (const Arg arg : {Arg::kY, Arg::kX, Arg::kW, Arg::kB}) of_y[arg] = addresses[arg];
  of_y[Arg::kMean] = memory.mean;
  of_y[Arg::kRstd] = memory.rstd;
  of_y[Arg::kMeanRest] = memory.mean_rest;
  execute(plan.element, of_y, memory.rest);
}

// After y: these may lie in place of w or b.
void store_statistics(const SyncBody& plan, const Addresses& addresses, const Memory& memory,
                      double n) {
  const Parameters parameters(plan.whole, data_of(addresses));
  const auto update = [&](Arg running, std::int64_t channel, double now) {
    const double old = parameters.load(running, channel);
    parameters.store(running, channel, updated(old, plan.whole.momentum, now));
  };
  for (std::int64_t c = 0; c < plan.channels(); ++c) {
    parameters.store(Arg::kMean, c, memory.mean[c]);
    parameters.store(Arg::kRstd, c, memory.rstd[c]);
    if (n == 0) continue;
    update(Arg::kRunningMean, c, memory.mean[c]);
    update(Arg::kRunningVar, c, memory.squares[c] * (1 / (n - 1)));
  }
}

Status make_parts(const SyncProblem& p, SyncBody& plan) {
  const std::int64_t channels = plan.channels();
  Problem part;
  part.op = Op::kBatchNorm;
  part.channel_axis = p.channel_axis;
  part.eps = p.eps;  // beside which squares that f32 lost are nothing: constant channels stay fast
  part[Arg::kX] = p[Arg::kX];
  part[Arg::kSum] = in_workspace(channels, "sum");
  part[Arg::kSquares] = in_workspace(channels, "squares");
  NORMGRAD_TRY(make_body(part, plan.part));
  if (!p[Arg::kY].present()) return Status::kOk;
  part[Arg::kSum] = part[Arg::kSquares] = {};
  for (const Arg arg : {Arg::kY, Arg::kW, Arg::kB}) part[arg] = p[arg];
  part[Arg::kMean] = in_workspace(channels, "mean");
  part[Arg::kRstd] = in_workspace(channels, "rstd");
  part[Arg::kMeanRest] = in_workspace(channels, "mean_rest");
  part.training = false;
  return make_body(part, plan.element);
}

Checked workspace_bytes(const SyncBody& plan) {
  Workspace cut;
  const Memory size(plan, cut);
  return cut.bytes();
}

Status check_engine(const SyncBody&, const Exchange& exchange) {
  return check_exchange(reinterpret_cast<const void*>(exchange.all_gather), "all_gather");
}

Status run(const SyncBody& plan, const Addresses& addresses, const Exchange& exchange,
           void* workspace) {
  Workspace cut(workspace);
  const Memory memory(plan, cut);
  compute_part(plan, addresses, memory);
  const auto bytes = static_cast<std::size_t>(message_length(plan).value()) * sizeof(double);
  NORMGRAD_TRY(exchanged(
      exchange.all_gather(exchange.context, memory.message, memory.messages, bytes), "all_gather"));
  const kernels::FloatEnvironment environment;
  const Whole statistics(plan, memory);
  compute_y(plan, addresses, memory);
  store_statistics(plan, addresses, memory, statistics.n());
  return Status::kOk;
}

}  // namespace

constinit const SyncDirection kSyncForward{make_parts, workspace_bytes, check_engine, run};

}  // namespace normgrad
