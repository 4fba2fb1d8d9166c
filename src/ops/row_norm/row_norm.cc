#include "ops/row_norm/row_norm.h"

#include <algorithm>

#include "runtime/sizes.h"
#include "ops/plan_checks.h"

namespace normgrad {
namespace {

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

// The arguments by what they look like; kAbsent where an operator has fewer.
struct RowKinds {
  int inputs[2];  // of the shape of the whole, and there; the others are held to the first
  int output;     // of that shape too
  int parameters[3];
  int statistics[2];
};

Status check_dtypes(const Plan& plan, const RowKinds& kinds) {
  const Tensor& data = plan.argument[kinds.inputs[0]].tensor;
  for (const int i : kinds.inputs) {
    if (i == kAbsent) continue;
    NORMGRAD_TRY(check_data_dtype(plan.argument[i].tensor));
  }
  for (const int i : {kinds.output, kinds.inputs[1]}) {
    if (i == kAbsent) continue;
    NORMGRAD_TRY(check_same_dtype(plan.argument[i].tensor, data));
  }
  for (const int i : kinds.parameters) {
    if (i == kAbsent) continue;
    NORMGRAD_TRY(check_parameter_dtype(plan.argument[i].tensor, data, Allow::kParameter));
  }
  for (const int i : kinds.statistics) {
    if (i == kAbsent) continue;
    NORMGRAD_TRY(check_parameter_dtype(plan.argument[i].tensor, data, Allow::kStatistic));
  }
  return Status::kOk;
}

Status check_shapes(Plan& plan, const RowKinds& kinds) {
  const Tensor& data = plan.argument[kinds.inputs[0]].tensor;
  if (data.rank < 1)
    return fail(Status::kBadShape, "%s is a scalar, but must have rows", data.name);
  const std::int64_t columns = data.shape[data.rank - 1];
  for (const int i : {kinds.output, kinds.inputs[1]}) {
    if (i == kAbsent) continue;
    NORMGRAD_TRY(check_same_shape(plan.argument[i].tensor, data));
  }
  for (const int i : kinds.parameters) {
    if (i == kAbsent) continue;
    NORMGRAD_TRY(check_vector(plan.argument[i].tensor, columns, "the length of a row"));
  }
  for (const int i : kinds.statistics) {
    if (i == kAbsent || !plan.argument[i].tensor.present()) continue;
    NORMGRAD_TRY(check_statistic(plan.argument[i].tensor, data));
  }
  NORMGRAD_TRY(check_sizes(plan));
  // With 64 f64 column sums the workspace is about 1 KiB per column.
  if ((Checked(columns) * 2048).ok()) return Status::kOk;
  return fail(Status::kBadShape, "%s has %lld columns: more than memory can hold", data.name,
              static_cast<long long>(columns));
}

Status check_strides(const Plan& plan, const RowKinds& kinds) {
  for (const int i : {kinds.output, kinds.inputs[0], kinds.inputs[1]}) {
    if (i == kAbsent || !plan.argument[i].tensor.present()) continue;
    NORMGRAD_TRY(check_last_stride(plan.argument[i].tensor));
  }
  return check_outputs(plan);
}

// Checks, and the split into rows and columns. Without elements there are no rows.
Status split_into_rows(Plan& plan, const RowKinds& kinds) {
  NORMGRAD_TRY(check_dtypes(plan, kinds));
  NORMGRAD_TRY(check_shapes(plan, kinds));
  NORMGRAD_TRY(check_strides(plan, kinds));
  const Tensor& data = plan.argument[kinds.inputs[0]].tensor;
  RowSplit& split = plan.row;
  split.columns = data.shape[data.rank - 1];
  split.rows = is_empty(data) ? 0 : 1;
  for (int d = 0; d + 1 < data.rank; ++d) {
    split.extents[d] = data.shape[d];
    if (split.rows > 0) split.rows *= data.shape[d];
    for (const int i : {kinds.output, kinds.inputs[0], kinds.inputs[1], kinds.statistics[0],
                        kinds.statistics[1]}) {
      if (i != kAbsent) split.strides[i][d] = plan.argument[i].tensor.strides[d];
    }
  }
  return Status::kOk;
}

// Rows whose statistics are wanted though they have no elements.
std::int64_t rows_of_nothing(const Plan& plan, const RowForwardRoles& roles) {
  for (const int i : {roles.mean, roles.rstd}) {
    if (i == kAbsent || !plan.argument[i].tensor.present()) continue;
    const Tensor& tensor = plan.argument[i].tensor;  // that fits into memory
    std::int64_t rows = 1;
    for (int d = 0; d < tensor.rank; ++d) rows *= tensor.shape[d];
    return rows;
  }
  return 0;
}

// Where the parts of a workspace lie, one behind the other.
class Layout {
 public:
  std::size_t take(std::int64_t bytes) {
    const std::size_t begin = end_;
    end_ += (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
    return begin;
  }
  std::size_t bytes() const { return end_ == 0 ? 0 : end_ + kAlignment; }  // it may begin anywhere

 private:
  std::size_t end_ = 0;
};

}  // namespace

Status plan_row_norm(Plan& plan, const RowRoles& roles) {
  NORMGRAD_TRY(split_into_rows(
      plan,
      {{roles.dy, roles.x}, roles.dx, {roles.dw, roles.db, roles.w}, {roles.mean, roles.rstd}}));
  RowSplit& split = plan.row;
  if (split.rows == 0) return Status::kOk;
  split.rank = collapse(plan.argument[roles.dy].tensor.rank - 1, split.extents, split.strides,
                        plan.arguments);
  return Status::kOk;
}

bool is_wide_forward(const RowSplit& split) {
  return split.rows < kWideForwardRows && split.columns > kRowChunk;
}

RowForwardWorkspace row_forward_workspace(const Plan& plan) {
  const RowSplit& split = plan.row;
  Layout layout;
  const std::int64_t weights = row_weights(split) * 8;
  const std::int64_t chunks =
      is_wide_forward(split) ? split.rows * ceil_div(split.columns, kRowChunk) : 0;
  RowForwardWorkspace at{};
  at.w = layout.take(weights);
  at.b = layout.take(weights);
  at.partials = layout.take(chunks * 8);
  at.bytes = layout.bytes();
  return at;
}

Status plan_row_forward(Plan& plan, const RowForwardRoles& roles) {
  NORMGRAD_TRY(split_into_rows(
      plan, {{roles.x, kAbsent}, roles.y, {roles.w, roles.b, kAbsent}, {roles.mean, roles.rstd}}));
  const Tensor& x = plan.argument[roles.x].tensor;
  RowSplit& split = plan.row;
  if (split.columns == 0) split.rows = rows_of_nothing(plan, roles);
  if (split.rows == 0) return Status::kOk;
  split.rank = collapse(x.rank - 1, split.extents, split.strides, plan.arguments);
  if (split.columns > 0) plan.workspace_bytes = row_forward_workspace(plan).bytes;
  return Status::kOk;
}

}  // namespace normgrad
