// Row norms (LayerNorm, RMSNorm): sums along rows, weight gradients down columns. What they share
// outside the loops: the split into rows and columns, the workspace.
#ifndef NORMGRAD_OPS_ROW_NORM_ROW_NORM_H
#define NORMGRAD_OPS_ROW_NORM_ROW_NORM_H

#include <cstddef>
#include <cstdint>

#include "ops/plan.h"

namespace normgrad {

// Which argument plays which part; kAbsent: this operator has none.
inline constexpr int kAbsent = -1;
struct RowRoles {
  int dx = index_of(Arg::kDx), dw = index_of(Arg::kDw), db = index_of(Arg::kDb);
  int dy = index_of(Arg::kDy), w = index_of(Arg::kW);
  int x = index_of(Arg::kX);  // or x_hat
  int mean = kAbsent;
  int rstd = index_of(Arg::kRstd);  // or sigma
};

struct RowForwardRoles {
  int y, mean, rstd, x, w, b;
};
inline constexpr RowForwardRoles kLayerNormRoles{index_of(Arg::kY),    index_of(Arg::kMean),
                                                 index_of(Arg::kRstd), index_of(Arg::kX),
                                                 index_of(Arg::kW),    index_of(Arg::kB)};
inline constexpr RowForwardRoles kRmsNormRoles{index_of(Arg::kY),    kAbsent,
                                               index_of(Arg::kRstd), index_of(Arg::kX),
                                               index_of(Arg::kW),    kAbsent};

// Reductions along a row are cut into chunks of this many elements.
inline constexpr std::int64_t kRowChunk = 4096;
// Prepared weights of a row: whole steps of the summation tree.
inline std::int64_t row_weights(const RowSplit& split) { return (split.columns + 15) / 16 * 16; }

// Fills plan.row but for its blocks. Without elements there are no rows.
void split_rows(PlanBody& plan);

// The same for the forward operators, and their workspace.
Status prepare_row_forward(PlanBody& plan);

// Few long rows, of which at most so many are in work at once: threads share each row.
inline constexpr std::int64_t kWideForwardRows = 64;
bool is_wide_forward(const RowSplit& split);

struct RowForwardWorkspace {
  std::size_t w, b;      // as the loops want them
  std::size_t partials;  // wide: [row of a batch][chunk] f64
  std::size_t bytes;
};
RowForwardWorkspace row_forward_workspace(const PlanBody& plan);

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
