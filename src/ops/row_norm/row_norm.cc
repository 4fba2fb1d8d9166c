#include "ops/row_norm/row_norm.h"

#include "ops/operators.h"
#include "runtime/sizes.h"

namespace normgrad {
namespace {

constexpr std::size_t kAlignment = 64;

// Rows whose statistics are wanted though they have no elements.
std::int64_t rows_of_nothing(const PlanBody& plan) {
  for (const Arg arg : {Arg::kMean, Arg::kRstd}) {
    const Tensor& tensor = plan.tensor(arg);  // that fits into memory
    if (!tensor.present()) continue;
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

void split_rows(PlanBody& plan) {
  const Tensor& data = plan.tensor(plan.op->data);
  RowSplit& split = plan.row;
  split.columns = data.shape[data.rank - 1];
  split.rows = is_empty(data) ? 0 : 1;
  for (int d = 0; d + 1 < data.rank; ++d) {
    split.extents[d] = data.shape[d];
    if (split.rows > 0) split.rows *= data.shape[d];
    for (const Rule& rule : plan.op->rules) {
      if (rule.shape != Shape::kWhole && rule.shape != Shape::kRows) continue;
      split.strides[index_of(rule.arg)][d] = plan.tensor(rule.arg).strides[d];
    }
  }
  if (split.rows > 0) split.rank = collapse(data.rank - 1, split.extents, split.strides, kArgs);
}

bool is_wide_forward(const RowSplit& split) {
  return split.rows < kWideForwardRows && split.columns > kRowChunk;
}

RowForwardWorkspace row_forward_workspace(const PlanBody& plan) {
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

Status prepare_row_forward(PlanBody& plan) {
  split_rows(plan);
  RowSplit& split = plan.row;
  if (split.columns > 0) {
    if (split.rows > 0) plan.workspace_bytes = row_forward_workspace(plan).bytes;
    return Status::kOk;
  }
  split.rows = rows_of_nothing(plan);
  if (split.rows == 0) return Status::kOk;
  split.rank = collapse(plan.tensor(plan.op->data).rank - 1, split.extents, split.strides, kArgs);
  return Status::kOk;
}

}  // namespace normgrad
