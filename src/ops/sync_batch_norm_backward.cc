// Backward. A rank sends its two sums per channel and its count; all ranks' are added up by the
// engine, or gathered and added here.
#include <algorithm>

#include "kernels/element.h"
#include "kernels/float_environment.h"
#include "ops/parameters.h"
#include "ops/sync_batch_norm.h"

namespace normgrad {
namespace {

// A count may have more digits than f32. So it travels as four of base 2^16: of up to 256 ranks f32
// adds them up exactly, of more as well as it adds the sums.
constexpr int kDigits = 4;
constexpr double kBase = 65536;

// What a rank sends: sum_dy, sum_dy_xmu, digits.
Checked message_length(const SyncBody& plan) { return Checked(plan.channels()) * 2 + kDigits; }

struct Memory {
  Memory(const SyncBody& plan, Workspace& cut)
      : sum_dy(cut.take<double>(plan.channels())),
        sum_dy_xmu(cut.take<double>(plan.channels())),
        dw(cut.take<double>(plan.channels())),
        db(cut.take<double>(plan.channels())),
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

void compute_part(const SyncBody& plan, Addresses addresses, const Memory& memory) {
  const kernels::FloatEnvironment environment;
  Addresses of_part;
  for (const Arg arg : {Arg::kDy, Arg::kX, Arg::kMean, Arg::kRstd}) of_part[arg] = addresses[arg];
  of_part[Arg::kSumDy] = memory.sum_dy, of_part[Arg::kSumDyXmu] = memory.sum_dy_xmu;
  of_part[Arg::kDw] = memory.dw, of_part[Arg::kDb] = memory.db;
  execute(plan.part, of_part, memory.rest);
  const std::int64_t channels = plan.channels();
  const auto send = [&](std::int64_t i, double value) {
    kernels::store_element(memory.message, plan.sums, i, value);
  };
  for (std::int64_t c = 0; c < channels; ++c) send(c, memory.sum_dy[c]);
  for (std::int64_t c = 0; c < channels; ++c) send(channels + c, memory.sum_dy_xmu[c]);
  for (std::int64_t digit = 0, left = plan.count(); digit < kDigits; ++digit, left >>= 16) {
    send(2 * channels + digit, static_cast<double>(left & 0xffff));
  }
}

Status exchange_sums(const SyncBody& plan, const Exchange& exchange, const Memory& memory) {
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
double total_of(const SyncBody& plan, const Memory& memory, std::int64_t i) {
  const std::int64_t length = message_length(plan).value();
  double total = kernels::load_element(memory.messages, plan.sums, i);
  for (std::int64_t r = 1; plan.in_rank_order && r < plan.ranks; ++r) {
    total += kernels::load_element(memory.messages, plan.sums, r * length + i);
  }
  return total;
}

void add_up(const SyncBody& plan, const Memory& memory) {
  const std::int64_t channels = plan.channels();
  for (std::int64_t c = 0; c < channels; ++c) {
    memory.sum_dy[c] = total_of(plan, memory, c);
    memory.sum_dy_xmu[c] = total_of(plan, memory, channels + c);
  }
  *memory.count = 0;
  for (std::int64_t digit = kDigits - 1; digit >= 0; --digit) {
    *memory.count = *memory.count * kBase + total_of(plan, memory, 2 * channels + digit);
  }
}

void compute_dx(const SyncBody& plan, Addresses addresses, const Memory& memory) {
  if (plan.element.op == nullptr) return;
  Addresses of_dx;
  for (const Arg arg : {Arg::kDx, Arg::kDy, Arg::kX, Arg::kW, Arg::kMean, Arg::kRstd}) {
    of_dx[arg] = addresses[arg];
  }
  of_dx[Arg::kSumDy] = memory.sum_dy;
  of_dx[Arg::kSumDyXmu] = memory.sum_dy_xmu;
  of_dx[Arg::kCounts] = memory.count;
  execute(plan.element, of_dx, memory.rest);
}

// After dx: they may lie in place of w, mean or rstd.
void store_gradients(const SyncBody& plan, const Addresses& addresses, const Memory& memory) {
  const Parameters parameters(plan.whole, data_of(addresses));
  for (std::int64_t c = 0; c < plan.channels(); ++c) {
    parameters.store(Arg::kDw, c, memory.dw[c]);
    parameters.store(Arg::kDb, c, memory.db[c]);
  }
}

Status make_parts(const SyncProblem& p, SyncBody& plan) {
  const std::int64_t channels = plan.channels();
  Problem part;
  part.op = Op::kBatchNormBackward;
  part.channel_axis = p.channel_axis;
  for (const Arg arg : {Arg::kDy, Arg::kX, Arg::kMean, Arg::kRstd}) part[arg] = p[arg];
  part[Arg::kSumDy] = in_workspace(channels, "sum_dy");
  part[Arg::kSumDyXmu] = in_workspace(channels, "sum_dy_xmu");
  part[Arg::kDw] = in_workspace(channels, "dw"), part[Arg::kDb] = in_workspace(channels, "db");
  NORMGRAD_TRY(make_body(part, plan.part));
  if (!p[Arg::kDx].present()) return Status::kOk;
  part.op = Op::kBatchNormElemtBackward;
  part[Arg::kDw] = part[Arg::kDb] = {};
  part[Arg::kDx] = p[Arg::kDx], part[Arg::kW] = p[Arg::kW];
  part[Arg::kCounts] = {DataType::kF64, 0, {}, {}, "count"};
  return make_body(part, plan.element);
}

Checked workspace_bytes(const SyncBody& plan) {
  Workspace cut;
  const Memory size(plan, cut);
  return cut.bytes();
}

Status check_engine(const SyncBody& plan, const Exchange& exchange) {
  return plan.in_rank_order
             ? check_exchange(reinterpret_cast<const void*>(exchange.all_gather), "all_gather")
             : check_exchange(reinterpret_cast<const void*>(exchange.all_reduce), "all_reduce");
}

Status run(const SyncBody& plan, const Addresses& addresses, const Exchange& exchange,
           void* workspace) {
  Workspace cut(workspace);
  const Memory memory(plan, cut);
  compute_part(plan, addresses, memory);
  NORMGRAD_TRY(exchange_sums(plan, exchange, memory));
  const kernels::FloatEnvironment environment;
  add_up(plan, memory);
  compute_dx(plan, addresses, memory);
  store_gradients(plan, addresses, memory);
  return Status::kOk;
}

}  // namespace

constinit const SyncDirection kSyncBackward{make_parts, workspace_bytes, check_engine, run};

}  // namespace normgrad
