#include "ops/row_backward_space.h"

#include <algorithm>

#include "runtime/failure.h"

namespace normgrad {
namespace {

using kernels::kChain;

// Rows of the column sums' blocks, at least and at most, and how many blocks there are if that lets them.
constexpr std::int64_t kLeastBlockRows = 32, kMostBlockRows = 32768, kBlocks = 64;
// Of few long rows, so many bytes of dy and x are in work between the sums and the map.
constexpr std::int64_t kBatchBytes = std::int64_t{4} << 20;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t to) {
  return ceil_div(value, to) * to;
}

}  // namespace

bool shares_rows(const RowSplit& split) {
  return split.columns > kRowBlockColumns && split.rows < 256;
}

std::int64_t batch_rows(const RowSplit& split, DataType dtype) {
  const std::int64_t row_bytes = 2 * split.columns * size_of(dtype);
  return std::clamp(kBatchBytes / row_bytes / kChain * kChain, kChain,
                    round_up(split.rows, kChain));
}

RowBackwardSpace::RowBackwardSpace(const PlanBody& plan, const RowRoles& roles, void* at)
    : cut(at) {
  const RowSplit& split = plan.row;
  const auto wanted = [&](int role) {
    return role != kAbsent && plan.argument[role].tensor.present();
  };
  pitch = kernels::padded(split.columns);
  sum_count = !wanted(roles.dw) && !wanted(roles.db) ? 0 : roles.db == kAbsent ? 1 : 2;
  const Checked slots = Checked(split.blocks) * sum_count * pitch;
  w = cut.take<float>(pitch);
  sums = cut.take<double>(slots);
  chains = cut.take<double>(slots);
  if (!shares_rows(split)) return;
  const std::int64_t rows = batch_rows(split, plan.argument[roles.dy].tensor.dtype);
  partials =
      cut.take<kernels::RowSums>(Checked(rows) * ceil_div(split.columns, row_block_columns(split)));
  maps = cut.take<kernels::RowMap>(rows);
  exact = cut.take<bool>(rows);
}

Status plan_row_backward(PlanBody& plan, const RowRoles& roles) {
  RowSplit& split = plan.row;
  if (split.rows == 0) return Status::kOk;
  const std::int64_t share = round_up(ceil_div(split.rows, kBlocks), kChain);
  split.block_rows = shares_rows(split) ? round_up(split.rows, kChain)
                                        : std::clamp(share, kLeastBlockRows, kMostBlockRows);
  split.blocks = ceil_div(split.rows, split.block_rows);
  const Checked bytes = RowBackwardSpace(plan, roles).cut.bytes();
  if (!bytes.ok()) {
    return fail(Status::kBadShape, "%lld columns are more than memory can hold the sums of",
                static_cast<long long>(split.columns));
  }
  plan.workspace_bytes = static_cast<std::size_t>(bytes.value());
  return Status::kOk;
}

}  // namespace normgrad
