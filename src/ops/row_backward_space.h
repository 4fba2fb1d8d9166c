// Gradients of norms along rows: how rows and columns are cut, and the workspace.
#ifndef NORMGRAD_OPS_ROW_BACKWARD_SPACE_H
#define NORMGRAD_OPS_ROW_BACKWARD_SPACE_H

#include <cstdint>

#include "kernels/kernels.h"
#include "ops/row_backward.h"
#include "ops/workspace.h"

namespace normgrad {

// A row's sums are cut into blocks of so many columns, which threads may share.
inline constexpr std::int64_t kRowBlockColumns = 8192;
// Of rows that go by way of tiles, those that a tile has room for.
inline constexpr std::int64_t kRowTileColumns = 512;
constexpr std::int64_t row_block_columns(const RowSplit& split) {
  return split.packed ? kRowTileColumns : kRowBlockColumns;
}

// Few long rows: threads share each row, so many rows at once.
bool shares_rows(const RowSplit& split);
std::int64_t batch_rows(const RowSplit& split, DataType dtype);

struct RowBackwardSpace {
  RowBackwardSpace(const PlanBody& plan, const RowRoles& roles, void* at = nullptr);

  Workspace cut;
  std::int64_t pitch;  // of rows of numbers per column
  int sum_count;       // dw and db, dw, or none
  float* w;
  double *sums, *chains;                 // [block][sum][column]; a chain may use half of its bytes
  kernels::RowSums* partials = nullptr;  // [row of a batch][block of columns]
  kernels::RowMap* maps = nullptr;
  bool* exact = nullptr;
};

}  // namespace normgrad

#endif
