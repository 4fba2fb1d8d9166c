#include "ops/row_norm/row_norm.h"

#include <algorithm>

#include "core/sizes.h"
#include "ops/plan_checks.h"

namespace normgrad {
namespace {

constexpr std::int64_t kMaxBlocks = 64;
constexpr std::size_t kAlignment = 64;

// One statistic per row: the leading dims, or those and a 1.
Status check_statistic(const Tensor& tensor, const Tensor& data) {
  const int leading = data.rank - 1;
  const bool trailing_one = tensor.rank == data.rank && tensor.shape[leading] == 1;
  const bool rank_fits = tensor.rank == leading || trailing_one;
  if (rank_fits && std::equal(tensor.shape, tensor.shape + leading, data.shape)) return Status::kOk;
  return fail(Status::kBadShape,
              "%s has shape %s, but must have shape %s, that of %s without the last dimension",
              tensor.name, shape_of(tensor).text, text_of(leading, data.shape).text, data.name);
}

Status check_last_stride(const Tensor& tensor) {
  const int last = tensor.rank - 1;
  const bool unused =
      is_empty(tensor) || tensor.shape[last] == 1;  // a stride that is not used may be any number
  if (unused || tensor.strides[last] == 1) return Status::kOk;
  return fail(Status::kBadStrides, "%s has strides %s, but its last stride must be 1", tensor.name,
              strides_of(tensor).text);
}

Status check_dtypes(const Plan& plan, const RowRoles& roles) {
  const Tensor& dy = plan.argument[roles.dy].tensor;
  NORMGRAD_TRY(check_data_dtype(dy));
  NORMGRAD_TRY(check_data_dtype(plan.argument[roles.x].tensor));
  for (const int role : {roles.dx, roles.x}) {
    NORMGRAD_TRY(check_same_dtype(plan.argument[role].tensor, dy));
  }
  for (const int role : {roles.dw, roles.db, roles.w}) {
    if (role == kAbsent) continue;
    NORMGRAD_TRY(check_parameter_dtype(plan.argument[role].tensor, dy, Allow::kParameter));
  }
  for (const int role : {roles.mean, roles.rstd}) {
    if (role == kAbsent) continue;
    NORMGRAD_TRY(check_parameter_dtype(plan.argument[role].tensor, dy, Allow::kStatistic));
  }
  return Status::kOk;
}

Status check_shapes(Plan& plan, const RowRoles& roles) {
  const Tensor& dy = plan.argument[roles.dy].tensor;
  if (dy.rank < 1) return fail(Status::kBadShape, "%s is a scalar, but must have rows", dy.name);
  for (const int role : {roles.dx, roles.x}) {
    NORMGRAD_TRY(check_same_shape(plan.argument[role].tensor, dy));
  }
  for (const int role : {roles.dw, roles.db, roles.w}) {
    if (role == kAbsent) continue;
    NORMGRAD_TRY(
        check_vector(plan.argument[role].tensor, dy.shape[dy.rank - 1], "the length of a row"));
  }
  for (const int role : {roles.mean, roles.rstd}) {
    if (role == kAbsent || !plan.argument[role].tensor.present()) continue;
    NORMGRAD_TRY(check_statistic(plan.argument[role].tensor, dy));
  }
  NORMGRAD_TRY(check_sizes(plan));
  // With 64 f64 column sums the workspace is about 1 KiB per column.
  if ((Checked(dy.shape[dy.rank - 1]) * 2048).ok()) return Status::kOk;
  return fail(Status::kBadShape, "%s has %lld columns: more than memory can hold", dy.name,
              static_cast<long long>(dy.shape[dy.rank - 1]));
}

Status check_strides(const Plan& plan, const RowRoles& roles) {
  for (const int role : {roles.dx, roles.dy, roles.x}) {
    const Tensor& tensor = plan.argument[role].tensor;
    if (tensor.present()) NORMGRAD_TRY(check_last_stride(tensor));
  }
  return check_outputs(plan);
}

// Blocks of rows for the column sums: at most 64, each a multiple of 64 rows long.
void split_rows(RowSplit& split) {
  const std::int64_t share = ceil_div(split.rows, kMaxBlocks);
  split.block_rows = std::max(kMaxBlocks, ceil_div(share, 64) * 64);
  split.blocks = ceil_div(split.rows, split.block_rows);
}

}  // namespace

bool is_wide(const RowSplit& split) {
  constexpr std::int64_t kFewBlocks = 4;
  constexpr std::int64_t kManyElements = 65536;
  const bool runs_too_long = split.block_rows > kRunRows && split.columns > kMaxRunColumns;
  return runs_too_long ||
         (split.blocks < kFewBlocks && split.rows * split.columns >= kManyElements);
}

RowWorkspace row_workspace(const Plan& plan, const RowRoles& roles) {
  const RowSplit& split = plan.row;
  const auto present = [&](int role) {
    return role != kAbsent && plan.argument[role].tensor.present();
  };
  const Tensor& w = plan.argument[roles.w].tensor;
  const DataType dtype = plan.argument[roles.dy].tensor.dtype;
  const bool in_f64 = dtype == DataType::kF32;
  // For bf16 the loops may want w in another order.
  const bool w_as_is =
      dtype == DataType::kF16 && w.present() && w.dtype == DataType::kF32 && w.strides[0] == 1;
  const std::int64_t column_sums = roles.db == kAbsent ? 1 : 2;
  const bool sums_wanted = present(roles.dw) || present(roles.db);
  const std::int64_t wide_rows = is_wide(split) ? std::min(split.block_rows, kRunRows) : 0;
  RowWorkspace at{};
  std::size_t end = 0;
  const auto take = [&end](std::int64_t bytes) {
    const std::size_t begin = end;
    end += (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
    return begin;
  };
  at.w_as_is = w_as_is;
  at.weights = take(w_as_is ? 0 : row_weights(split) * (in_f64 ? 8 : 4));
  at.slots = take(sums_wanted ? split.blocks * column_sums * split.columns * 8 : 0);
  at.partials = take(wide_rows * ceil_div(split.columns, kRowChunk) * 2 * 8);
  at.maps = take(wide_rows * kRowMapBytes);
  at.bytes = end == 0 ? 0 : end + kAlignment;  // the workspace may begin anywhere
  return at;
}

Status plan_row_norm(Plan& plan, const RowRoles& roles) {
  NORMGRAD_TRY(check_dtypes(plan, roles));
  NORMGRAD_TRY(check_shapes(plan, roles));
  NORMGRAD_TRY(check_strides(plan, roles));
  const Tensor& dy = plan.argument[roles.dy].tensor;
  RowSplit& split = plan.row;
  split.columns = dy.shape[dy.rank - 1];
  split.rows = is_empty(dy) ? 0 : 1;
  for (int d = 0; d + 1 < dy.rank; ++d) {
    split.extents[d] = dy.shape[d];
    if (split.rows > 0) split.rows *= dy.shape[d];
    for (const int role : {roles.dx, roles.dy, roles.x, roles.mean, roles.rstd}) {
      if (role != kAbsent) split.strides[role][d] = plan.argument[role].tensor.strides[d];
    }
  }
  if (split.rows == 0) return Status::kOk;
  split.rank = collapse(dy.rank - 1, split.extents, split.strides, plan.arguments);
  split_rows(split);
  plan.workspace_bytes = row_workspace(plan, roles).bytes;
  return Status::kOk;
}

}  // namespace normgrad
