// Forward. A rank sends sum(x), the squares around its own mean, and its count. In f64, sums of
// ordinary data are exact, and then so is their sum over the ranks: the mean of the whole and what
// rounding left of it are those of BatchNorm. BatchNormGatherStats, which starts from mean and rstd,
// cannot know them, nor a variance far below eps.
#include "ops/sync_batch_norm/sync_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/float_environment.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/channel_norm/parameters.h"

namespace normgrad {
namespace {

using namespace batch_norm_argument;  // NOLINT
constexpr char kName[] = "SyncBatchNorm";
constexpr int kArguments = kMeanRest + 1;

// What a rank sends: sums, squares, and at the end its count.
Checked message_length(const SyncPlan& plan) { return Checked(channels_of(plan)) * 2 + 1; }

struct Memory {
  Memory(const SyncPlan& plan, Workspace& cut)
      : message(cut.take<double>(message_length(plan))),
        messages(cut.take<double>(message_length(plan) * plan.ranks)),
        mean(cut.take<double>(channels_of(plan))),
        mean_rest(cut.take<double>(channels_of(plan))),
        rstd(cut.take<double>(channels_of(plan))),
        squares(cut.take<double>(channels_of(plan))),
        rest(cut.take<std::byte>(static_cast<std::int64_t>(plan.part.workspace_bytes))) {}

  double *message, *messages;                 // this rank's; those of all ranks
  double *mean, *mean_rest, *rstd, *squares;  // of the whole batch
  std::byte* rest;
};

void compute_part(const SyncPlan& plan, void* const* data, const Memory& memory) {
  const kernels::FloatEnvironment environment;
  const std::int64_t channels = channels_of(plan), count = count_of(plan);
  std::fill_n(memory.message, 2 * channels, 0.0);
  memory.message[2 * channels] = static_cast<double>(count);
  if (count == 0) return;
  void* part_data[kArguments] = {};
  part_data[kX] = data[kX];
  part_data[kSum] = memory.message;
  part_data[kSquares] = memory.message + channels;
  plan.part.execute(plan.part, part_data, memory.rest);
}

// The statistics of the whole batch, from the messages of all ranks, in their order.
class Whole {
 public:
  Whole(const SyncPlan& plan, const Memory& memory)
      : channels_(channels_of(plan)),
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

  // sum((x - mean)^2) of a part is that around its own mean, and count*distance^2 of the two means.
  void combine(std::int64_t channel, const Memory& memory) const {
    double total = 0, total_squares = 0;
    for (int r = 0; r < ranks_; ++r) total += sum(r, channel);
    const double mean = n_ == 0 ? 0 : total / n_;
    const double mean_rest = rest_of_mean(total, n_, mean);
    for (int r = 0; r < ranks_; ++r) {
      if (count(r) == 0) continue;
      const double part_mean = sum(r, channel) / count(r);
      const double part_rest = rest_of_mean(sum(r, channel), count(r), part_mean);
      const double distance = (part_mean - mean) + (part_rest - mean_rest);
      total_squares += squares(r, channel) + count(r) * (distance * distance);
    }
    memory.mean[channel] = mean;
    memory.mean_rest[channel] = mean_rest;
    memory.rstd[channel] = rstd_of(total_squares / n_, eps_);  // of nothing: 0/0, NaN
    memory.squares[channel] = total_squares;
  }

  std::int64_t channels_;
  int ranks_;
  const double* messages_;
  double eps_;
  double n_ = 0;
};

void compute_y(const SyncPlan& plan, void* const* data, const Memory& memory) {
  if (plan.element.op == nullptr) return;
  void* element_data[kArguments] = {};
  for (const int argument : {kY, kX, kW, kB}) element_data[argument] = data[argument];
  element_data[kMean] = memory.mean;
  element_data[kRstd] = memory.rstd;
  element_data[kMeanRest] = memory.mean_rest;
  plan.element.execute(plan.element, element_data, nullptr);
}

// After y: these may lie in place of w or b.
void store_statistics(const SyncPlan& plan, void* const* data, const Memory& memory, double n) {
  const Parameters parameters(plan.whole, data);
  const auto update = [&](int running, std::int64_t channel, double now) {
    parameters.store(running, channel,
                     updated(parameters.load(running, channel, 0), plan.whole.momentum, now));
  };
  for (std::int64_t c = 0; c < channels_of(plan); ++c) {
    parameters.store(kMean, c, memory.mean[c]);
    parameters.store(kRstd, c, memory.rstd[c]);
    if (n == 0) continue;
    update(kRunningMean, c, memory.mean[c]);
    update(kRunningVar, c, memory.squares[c] / (n - 1));
  }
}

// No frame of the stack holds all plans.
[[gnu::noinline]] Status make_parts(const SyncBatchNorm& p, SyncPlan& plan) {
  const std::int64_t channels = channels_of(plan);
  BatchNorm statistics;
  statistics.x = p.x;
  statistics.channel_axis = p.channel_axis;
  const BatchNormOfPart sums{in_workspace(channels, "sum"), in_workspace(channels, "squares"), {}};
  NORMGRAD_TRY(make_plan(statistics, sums, &plan.part));
  if (!p.y.present()) return Status::kOk;
  BatchNorm element;
  element.y = p.y, element.x = p.x, element.w = p.w, element.b = p.b;
  element.mean = in_workspace(channels, "mean"), element.rstd = in_workspace(channels, "rstd");
  element.training = false;
  element.channel_axis = p.channel_axis;
  const BatchNormOfPart mean_rest{{}, {}, in_workspace(channels, "mean_rest")};
  return make_plan(element, mean_rest, &plan.element);
}

}  // namespace

Status make_plan(const SyncBatchNorm& p, SyncPlan* plan) {
  NORMGRAD_TRY(check_ranks(p.ranks));
  BatchNorm whole;
  whole.y = p.y, whole.mean = p.mean, whole.rstd = p.rstd;
  whole.running_mean = p.running_mean, whole.running_var = p.running_var;
  whole.x = p.x, whole.w = p.w, whole.b = p.b;
  whole.eps = p.eps, whole.momentum = p.momentum;
  whole.channel_axis = p.channel_axis;
  SyncPlan made;
  NORMGRAD_TRY(make_plan(whole, &made.whole));
  NORMGRAD_TRY(make_parts(p, made));
  made.ranks = p.ranks;
  made.in_rank_order = true;
  Workspace cut;
  const Memory size(made, cut);
  NORMGRAD_TRY(finish(made, kName, cut));
  *plan = made;
  return Status::kOk;
}

Status run(const SyncPlan& plan, const SyncBatchNormData& d, const Exchange& exchange,
           void* workspace, std::size_t workspace_bytes) {
  NORMGRAD_TRY(check_op(plan.whole, kName));
  const void* const constant_data[] = {d.y,           d.mean, d.rstd, nullptr, d.running_mean,
                                       d.running_var, d.x,    d.w,    d.b};
  void* const* data = const_cast<void* const*>(constant_data);
  NORMGRAD_TRY(check_exchange(reinterpret_cast<const void*>(exchange.all_gather), "all_gather"));
  NORMGRAD_TRY(check_run(plan.whole, data, workspace, workspace_bytes));
  Workspace cut(workspace);
  const Memory memory(plan, cut);
  compute_part(plan, data, memory);
  NORMGRAD_TRY(exchanged(
      exchange.all_gather(exchange.context, memory.message, memory.messages,
                          static_cast<std::size_t>(message_length(plan).value()) * sizeof(double)),
      "all_gather"));
  const kernels::FloatEnvironment environment;
  const Whole statistics(plan, memory);
  compute_y(plan, data, memory);
  store_statistics(plan, data, memory, statistics.n());
  return Status::kOk;
}

}  // namespace normgrad
