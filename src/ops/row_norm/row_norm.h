// Row norms (LayerNorm, RMSNorm): sums along rows, weight gradients down columns. What they share
// outside the loops: the shape checks, the split into blocks, the workspace.
#ifndef NORMGRAD_OPS_ROW_NORM_ROW_NORM_H
#define NORMGRAD_OPS_ROW_NORM_ROW_NORM_H

#include <cstddef>
#include <cstdint>

#include "normgrad/plan.h"

namespace normgrad {

// Which argument plays which part; kAbsent: this operator has none.
inline constexpr int kAbsent = -1;
struct RowRoles {
  int dx, dw, db, dy, w, x, mean, rstd;
  bool rstd_is_sigma = false;  // the statistic given is 1/rstd
};

struct RowForwardRoles {
  int y, mean, rstd, x, w, b;
};

// Reductions along a row are cut into chunks of this many elements.
inline constexpr std::int64_t kRowChunk = 4096;
// Prepared weights of a row: whole steps of the summation tree.
inline std::int64_t row_weights(const RowSplit& split) { return (split.columns + 15) / 16 * 16; }

// Checks shapes and dtypes of the arguments in plan.argument, fills plan.row but for its blocks.
Status plan_row_norm(Plan& plan, const RowRoles& roles);

// The same for the forward operators.
Status plan_row_forward(Plan& plan, const RowForwardRoles& roles);

// Few long rows, of which at most so many are in work at once: threads share each row.
inline constexpr std::int64_t kWideForwardRows = 64;
bool is_wide_forward(const RowSplit& split);

struct RowForwardWorkspace {
  std::size_t w, b;      // as the loops want them
  std::size_t partials;  // wide: [row of a batch][chunk] f64
  std::size_t bytes;
};
RowForwardWorkspace row_forward_workspace(const Plan& plan);

// Element offset of row `row` in an argument that has rows.
inline std::int64_t row_offset(const RowSplit& split, int argument, std::int64_t row) {
  if (split.rank == 1) return row * split.strides[argument][0];
  std::int64_t offset = 0;
  for (int d = split.rank - 1; d > 0; --d) {
    offset += row % split.extents[d] * split.strides[argument][d];
    row /= split.extents[d];
  }
  return split.rank == 0 ? 0 : offset + row * split.strides[argument][0];
}

}  // namespace normgrad

#endif
