// SyncBatchNorm: its rows in the table, its plan, its run. What is computed: sync_batch_norm_forward.cc, _backward.cc.
#include "ops/sync_batch_norm.h"

#include "ops/channel_split.h"

namespace normgrad {
namespace {

using enum Arg;
using enum Direction;
using enum Shape;
using enum Types;
using enum Presence;

// clang-format off
constexpr Rule kForwardRules[] = {
    {kY, kOut, kWhole, kElements},
    {kMean, kOut, kChannels, kNumber},
    {kRstd, kOut, kChannels, kNumber},
    {kRunningMean, kOut, kChannels, kNumber},
    {kRunningVar, kOut, kChannels, kNumber},
    {kX, kIn, kWhole, kElements, kRequired},
    {kW, kIn, kChannels, kNumber},
    {kB, kIn, kChannels, kNumber},
};
// clang-format on
// clang-format off
constexpr Rule kBackwardRules[] = {
    {kDx, kOut, kWhole, kElements},
    {kDw, kOut, kChannels, kNumber},
    {kDb, kOut, kChannels, kNumber},
    {kDy, kIn, kWhole, kElements, kRequired},
    {kX, kIn, kWhole, kElements, kRequired},
    {kW, kIn, kChannels, kNumber},
    {kMean, kIn, kChannels, kNumber, kRequired},
    {kRstd, kIn, kChannels, kNumber, kRequired},
};
// clang-format on

Status prepare(PlanBody& plan) {
  split_channels(plan);
  return Status::kOk;
}

const SyncDirection& direction_of(const Operator& op) {
  return &op == &kSyncBatchNorm ? kSyncForward : kSyncBackward;
}

Status check_numbers(const SyncProblem& p) {
  if (p.op != Op::kSyncBatchNorm && p.op != Op::kSyncBatchNormBackward) {
    return fail(Status::kBadParam, "%s has no exchange: make a Plan of it", operator_of(p.op).name);
  }
  if (p.ranks < 1) {
    return fail(Status::kBadParam, "ranks is %d, but must be at least 1", p.ranks);
  }
  if (p.op == Op::kSyncBatchNorm || p.sums == DataType::kF32 || p.sums == DataType::kF64) {
    return Status::kOk;
  }
  return fail(Status::kBadDtype, "sums is %s, but must be f32 or f64", name_of(p.sums));
}

Status refuse_channels(const SyncBody& plan) {
  return fail(Status::kBadShape, "%lld channels on %d ranks are more than memory can hold",
              static_cast<long long>(plan.channels()), plan.ranks);
}

}  // namespace

constinit const Operator kSyncBatchNorm{.name = "SyncBatchNorm",
                                        .walk = Walk::kChannels,
                                        .data = kX,
                                        .rules = kForwardRules,
                                        .prepare = prepare};
constinit const Operator kSyncBatchNormBackward{.name = "SyncBatchNormBackward",
                                                .walk = Walk::kChannels,
                                                .data = kDy,
                                                .rules = kBackwardRules,
                                                .prepare = prepare};

Status make_plan(const SyncProblem& problem, SyncPlan* plan) {
  NORMGRAD_TRY(check_numbers(problem));
  auto body = std::make_shared<SyncBody>();
  NORMGRAD_TRY(make_body(problem, body->whole));
  body->whole.training = true;
  body->ranks = problem.ranks;
  body->sums = problem.sums;
  body->in_rank_order = problem.in_rank_order || problem.op == Op::kSyncBatchNorm;
  const SyncDirection& direction = direction_of(*body->whole.op);
  if (!(Checked(body->channels()) * 16).ok()) return refuse_channels(*body);
  NORMGRAD_TRY(direction.make_parts(problem, *body));
  const Checked bytes = direction.workspace_bytes(*body);
  if (!bytes.ok()) return refuse_channels(*body);
  body->whole.workspace_bytes = static_cast<std::size_t>(bytes.value());
  *plan = SyncPlan(std::move(body));
  return Status::kOk;
}

std::size_t SyncPlan::workspace_bytes() const { return body_ ? body_->whole.workspace_bytes : 0; }

Status run(const SyncPlan& plan, const Addresses& addresses, const Exchange& exchange,
           void* workspace, std::size_t workspace_bytes) {
  if (!plan) return fail(Status::kBadParam, "the plan was not made");
  const SyncBody& body = *plan.body();
  const SyncDirection& direction = direction_of(*body.whole.op);
  NORMGRAD_TRY(direction.check_engine(body, exchange));
  NORMGRAD_TRY(check_run(body.whole, data_of(addresses), workspace, workspace_bytes));
  return direction.run(body, addresses, exchange, workspace);
}

}  // namespace normgrad
