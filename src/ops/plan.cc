#include "ops/plan.h"

#include "kernels/float_environment.h"
#include "ops/check.h"
#include "ops/operators.h"
#include "runtime/device_memory.h"
#include "runtime/failure.h"

namespace normgrad {

Status make_body(const Problem& problem, PlanBody& body) {
  if (static_cast<int>(problem.op) >= kOps) {
    return fail(Status::kBadParam, "op is %d, but there are %d operators",
                static_cast<int>(problem.op), kOps);
  }
  const Operator& op = operator_of(problem.op);
  body.op = &op;
  body.channel_axis = problem.channel_axis;
  body.row_axes = problem.row_axes;
  body.groups = problem.groups;
  body.eps = problem.eps;
  body.alpha = problem.alpha;
  body.momentum = problem.momentum;
  body.training = problem.training;
  body.arithmetic = arithmetic();
  NORMGRAD_TRY(check(op, problem, body));
  return op.prepare(body);
}

Status make_plan(const Problem& problem, Plan* plan) {
  auto body = std::make_shared<PlanBody>();
  NORMGRAD_TRY(make_body(problem, *body));
  if (body->op->execute == nullptr) {
    return fail(Status::kBadParam, "%s is not run without an exchange: make a SyncPlan of it",
                body->op->name);
  }
  *plan = Plan(std::move(body));
  return Status::kOk;
}

std::size_t Plan::workspace_bytes() const { return body_ ? body_->workspace_bytes : 0; }
Arithmetic Plan::arithmetic() const { return body_ ? body_->arithmetic : Arithmetic::kFast; }

namespace {

bool has_elements(const Argument& argument) {
  return argument.tensor.present() && argument.range.end > argument.range.begin;
}

Status check_place(const Argument& argument, const void* data) {
  const char* name = argument.tensor.name;
  switch (place_of(data, argument.range.begin, argument.range.end)) {
    case Place::kHost:
    case Place::kInside:
      return Status::kOk;
    case Place::kOutside:
      return fail(Status::kBadParam,
                  "%s with shape %s and strides %s leaves the device memory that it starts in",
                  name, shape_of(argument.tensor).text, strides_of(argument.tensor).text);
    case Place::kFreed:
      break;
  }
  return fail(Status::kBadParam, "%s lies in device memory that has been freed", name);
}

// Outputs may be exactly in place of an input; any other sharing would change results or destroy
// inputs.
Status check_overlaps(const PlanBody& plan, void* const* data, int output) {
  const Argument& out = plan.argument[output];
  for (const Rule& rule : plan.op->rules) {
    const int i = index_of(rule.arg);
    const Argument& other = plan.argument[i];
    const bool pair_done = other.is_output && i <= output;
    if (pair_done || !has_elements(other) || !share_memory(out, data[output], other, data[i]))
      continue;
    if (other.is_output) {
      return fail(Status::kBadParam, "%s and %s overlap, but outputs must not", out.tensor.name,
                  other.tensor.name);
    }
    // What many rows have in common is read again for each of them.
    const bool read_once = rule.shape != Shape::kSpread;
    if (read_once && same_view(out.tensor, data[output], other.tensor, data[i])) continue;
    return fail(
        Status::kBadParam,
        "%s overlaps %s: an output must lie apart from the inputs or exactly in place of one",
        out.tensor.name, other.tensor.name);
  }
  return Status::kOk;
}

Status check_workspace(const PlanBody& plan, void* const* data, const void* workspace) {
  const ByteRange range{0, static_cast<std::int64_t>(plan.workspace_bytes)};
  const Argument bytes{{DataType::kF16, 1, {range.end / 2}, {1}, "workspace"}, range, true};
  NORMGRAD_TRY(check_place(bytes, workspace));
  for (const Rule& rule : plan.op->rules) {
    const int i = index_of(rule.arg);
    const Argument& argument = plan.argument[i];
    if (has_elements(argument) && share_memory(bytes, workspace, argument, data[i])) {
      return fail(Status::kBadParam, "workspace overlaps %s", argument.tensor.name);
    }
  }
  return Status::kOk;
}

}  // namespace

Status check_run(const PlanBody& plan, void* const* data, void* workspace,
                 std::size_t workspace_bytes) {
  if (workspace_bytes < plan.workspace_bytes) {
    return fail(Status::kSmallWorkspace, "workspace_size is %zu bytes, but %zu are needed",
                workspace_bytes, plan.workspace_bytes);
  }
  if (workspace == nullptr && plan.workspace_bytes > 0) {
    return fail(Status::kNullPointer, "workspace is null, but %zu bytes are needed",
                plan.workspace_bytes);
  }
  for (const Rule& rule : plan.op->rules) {
    const Argument& argument = plan[rule.arg];
    if (!has_elements(argument)) continue;
    if (data[index_of(rule.arg)] == nullptr) {
      return fail(Status::kNullPointer, "%s is null", argument.tensor.name);
    }
    NORMGRAD_TRY(check_place(argument, data[index_of(rule.arg)]));
  }
  for (const Rule& rule : plan.op->rules) {
    const Argument& argument = plan[rule.arg];
    if (!argument.is_output || !has_elements(argument)) continue;
    NORMGRAD_TRY(check_overlaps(plan, data, index_of(rule.arg)));
  }
  return plan.workspace_bytes > 0 ? check_workspace(plan, data, workspace) : Status::kOk;
}

Status check_run(const Plan& plan, const Addresses& addresses, void* workspace,
                 std::size_t workspace_bytes) {
  if (!plan) return fail(Status::kBadParam, "the plan was not made");
  return check_run(*plan.body(), data_of(addresses), workspace, workspace_bytes);
}

Status run(const Plan& plan, const Addresses& addresses, void* workspace,
           std::size_t workspace_bytes) {
  NORMGRAD_TRY(check_run(plan, addresses, workspace, workspace_bytes));
  const PlanBody& body = *plan.body();
  const kernels::FloatEnvironment environment;
  body.op->execute(body, data_of(addresses), static_cast<std::byte*>(workspace));
  return Status::kOk;
}

}  // namespace normgrad
