// Backward. A rank sends its two sums per channel and its count; all ranks' are added up by the
// engine, or gathered and added here.
#include <algorithm>
#include <cstring>

#include "kernels/element.h"
#include "kernels/float_environment.h"
#include "normgrad/batch_norm_backward.h"
#include "normgrad/batch_norm_elemt_backward.h"
#include "ops/batch_norm_backward/batch_norm_backward.h"
#include "ops/batch_norm_elemt_backward/batch_norm_elemt_backward.h"
#include "ops/channel_norm/parameters.h"
#include "ops/sync_batch_norm/sync_batch_norm.h"

namespace normgrad {
namespace {

namespace argument = batch_norm_backward_argument;
namespace element_argument = batch_norm_elemt_backward_argument;
constexpr char kName[] = "SyncBatchNormBackward";

// A count may have more digits than f32. So it travels as four of base 2^16: of up to 256 ranks f32
// adds them up exactly, of more as well as it adds the sums.
constexpr int kDigits = 4;
constexpr double kBase = 65536;

// What a rank sends: sum_dy, sum_dy_xmu, digits.
Checked message_length(const SyncPlan& plan) { return Checked(channels_of(plan)) * 2 + kDigits; }

struct Memory {
  Memory(const SyncPlan& plan, Workspace& cut)
      : sum_dy(cut.take<double>(channels_of(plan))),
        sum_dy_xmu(cut.take<double>(channels_of(plan))),
        dw(cut.take<double>(channels_of(plan))),
        db(cut.take<double>(channels_of(plan))),
        count(cut.take<double>(1)),
        message(cut.take<std::byte>(message_length(plan) * size_of(plan.sums))),
        messages(plan.in_rank_order
                     ? cut.take<std::byte>(message_length(plan) * size_of(plan.sums) * plan.ranks)
                     : message),
        rest(cut.take<std::byte>(static_cast<std::int64_t>(
            std::max(plan.part.workspace_bytes, plan.element.workspace_bytes)))) {}

  double *sum_dy, *sum_dy_xmu;  // of the part, then of the whole batch
  double *dw, *db;              // of the part
  double* count;                // of the whole batch
  void *message, *messages;     // this rank's, then their sum; those of all ranks
  std::byte* rest;
};

void compute_part(const SyncPlan& plan, void* const* data, const Memory& memory) {
  const kernels::FloatEnvironment environment;
  using namespace argument;  // NOLINT
  void* part_data[kVar + 1] = {};
  for (const int input : {kDy, kX, kMean, kRstd}) part_data[input] = data[input];
  part_data[kSumDy] = memory.sum_dy, part_data[kSumDyXmu] = memory.sum_dy_xmu;
  part_data[kDw] = memory.dw, part_data[kDb] = memory.db;
  plan.part.execute(plan.part, part_data, memory.rest);
  const std::int64_t channels = channels_of(plan);
  const auto send = [&](std::int64_t i, double value) {
    kernels::store_element(memory.message, plan.sums, i, value);
  };
  for (std::int64_t c = 0; c < channels; ++c) send(c, memory.sum_dy[c]);
  for (std::int64_t c = 0; c < channels; ++c) send(channels + c, memory.sum_dy_xmu[c]);
  for (std::int64_t digit = 0, left = count_of(plan); digit < kDigits; ++digit, left >>= 16) {
    send(2 * channels + digit, static_cast<double>(left & 0xffff));
  }
}

Status exchange_sums(const SyncPlan& plan, const Exchange& exchange, const Memory& memory) {
  const auto length = static_cast<std::size_t>(message_length(plan).value());
  if (!plan.in_rank_order) {
    return exchanged(exchange.all_reduce(exchange.context, memory.message, length, plan.sums),
                     "all_reduce");
  }
  const std::size_t bytes = length * static_cast<std::size_t>(size_of(plan.sums));
  return exchanged(exchange.all_gather(exchange.context, memory.message, memory.messages, bytes),
                   "all_gather");
}

// Number i of all messages, added up in f64; of one, where the engine has added up.
double total_of(const SyncPlan& plan, const Memory& memory, std::int64_t i) {
  const std::int64_t length = message_length(plan).value();
  double total = kernels::load_element(memory.messages, plan.sums, i);
  for (std::int64_t r = 1; plan.in_rank_order && r < plan.ranks; ++r) {
    total += kernels::load_element(memory.messages, plan.sums, r * length + i);
  }
  return total;
}

void add_up(const SyncPlan& plan, const Memory& memory) {
  const std::int64_t channels = channels_of(plan);
  for (std::int64_t c = 0; c < channels; ++c) {
    memory.sum_dy[c] = total_of(plan, memory, c);
    memory.sum_dy_xmu[c] = total_of(plan, memory, channels + c);
  }
  *memory.count = 0;
  for (std::int64_t digit = kDigits - 1; digit >= 0; --digit) {
    *memory.count = *memory.count * kBase + total_of(plan, memory, 2 * channels + digit);
  }
}

void compute_dx(const SyncPlan& plan, void* const* data, const Memory& memory) {
  if (plan.element.op == nullptr) return;
  void* element_data[element_argument::kCounts + 1] = {};
  element_data[element_argument::kDx] = data[argument::kDx];
  element_data[element_argument::kDy] = data[argument::kDy];
  element_data[element_argument::kX] = data[argument::kX];
  element_data[element_argument::kW] = data[argument::kW];
  element_data[element_argument::kMean] = data[argument::kMean];
  element_data[element_argument::kRstd] = data[argument::kRstd];
  element_data[element_argument::kSumDy] = memory.sum_dy;
  element_data[element_argument::kSumDyXmu] = memory.sum_dy_xmu;
  element_data[element_argument::kCounts] = memory.count;
  plan.element.execute(plan.element, element_data, memory.rest);
}

// After dx: they may lie in place of w, mean or rstd.
void store_gradients(const SyncPlan& plan, void* const* data, const Memory& memory) {
  const Parameters parameters(plan.whole, data);
  for (std::int64_t c = 0; c < channels_of(plan); ++c) {
    parameters.store(argument::kDw, c, memory.dw[c]);
    parameters.store(argument::kDb, c, memory.db[c]);
  }
}

// No frame of the stack holds all plans.
[[gnu::noinline]] Status make_parts(const SyncBatchNormBackward& p, SyncPlan& plan) {
  const std::int64_t channels = channels_of(plan);
  BatchNormBackward part;
  part.dy = p.dy, part.x = p.x, part.mean = p.mean, part.rstd = p.rstd;
  part.sum_dy = in_workspace(channels, "sum_dy");
  part.sum_dy_xmu = in_workspace(channels, "sum_dy_xmu");
  part.dw = in_workspace(channels, "dw"), part.db = in_workspace(channels, "db");
  part.channel_axis = p.channel_axis;
  NORMGRAD_TRY(make_plan(part, &plan.part));
  if (!p.dx.present()) return Status::kOk;
  BatchNormElemtBackward element;
  element.dx = p.dx, element.dy = p.dy, element.x = p.x, element.w = p.w;
  element.mean = p.mean, element.rstd = p.rstd;
  element.sum_dy = part.sum_dy, element.sum_dy_xmu = part.sum_dy_xmu;
  element.counts = {DataType::kF64, 0, {}, {}, "count"};
  element.channel_axis = p.channel_axis;
  return make_plan(element, &plan.element);
}

Status check_sums(DataType sums) {
  if (sums == DataType::kF32 || sums == DataType::kF64) return Status::kOk;
  return fail(Status::kBadDtype, "sums is %s, but must be f32 or f64", name_of(sums));
}

}  // namespace

Status make_plan(const SyncBatchNormBackward& p, SyncPlan* plan) {
  NORMGRAD_TRY(check_ranks(p.ranks));
  NORMGRAD_TRY(check_sums(p.sums));
  for (const Tensor* t : {&p.mean, &p.rstd}) NORMGRAD_TRY(check_present(*t));
  BatchNormBackward whole;
  whole.dx = p.dx, whole.dw = p.dw, whole.db = p.db;
  whole.dy = p.dy, whole.x = p.x, whole.w = p.w, whole.mean = p.mean, whole.rstd = p.rstd;
  whole.channel_axis = p.channel_axis;
  SyncPlan made;
  NORMGRAD_TRY(make_plan(whole, &made.whole));
  NORMGRAD_TRY(make_parts(p, made));
  made.ranks = p.ranks;
  made.sums = p.sums;
  made.in_rank_order = p.in_rank_order;
  Workspace cut;
  const Memory size(made, cut);
  NORMGRAD_TRY(finish(made, kName, cut));
  *plan = made;
  return Status::kOk;
}

Status run(const SyncPlan& plan, const SyncBatchNormBackwardData& d, const Exchange& exchange,
           void* workspace, std::size_t workspace_bytes) {
  NORMGRAD_TRY(check_op(plan.whole, kName));
  const void* const constant_data[] = {d.dx, d.dw, d.db,   nullptr, nullptr, d.dy,
                                       d.x,  d.w,  d.mean, d.rstd,  nullptr};
  void* const* data = const_cast<void* const*>(constant_data);
  NORMGRAD_TRY(
      plan.in_rank_order
          ? check_exchange(reinterpret_cast<const void*>(exchange.all_gather), "all_gather")
          : check_exchange(reinterpret_cast<const void*>(exchange.all_reduce), "all_reduce"));
  NORMGRAD_TRY(check_run(plan.whole, data, workspace, workspace_bytes));
  Workspace cut(workspace);
  const Memory memory(plan, cut);
  compute_part(plan, data, memory);
  NORMGRAD_TRY(exchange_sums(plan, exchange, memory));
  const kernels::FloatEnvironment environment;
  add_up(plan, memory);
  compute_dx(plan, data, memory);
  store_gradients(plan, data, memory);
  return Status::kOk;
}

}  // namespace normgrad
