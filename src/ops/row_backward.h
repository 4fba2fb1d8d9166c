// Gradients of norms along rows: sums along each row, its map, and column sums for dw and db.
#ifndef NORMGRAD_OPS_ROW_BACKWARD_H
#define NORMGRAD_OPS_ROW_BACKWARD_H

#include "kernels/kernels.h"
#include "ops/plan.h"
#include "ops/row_norm/row_norm.h"

namespace normgrad {

// How an operator's map follows from what is given about a row and from the row's sums.
struct RowRecipe {
  kernels::Terms terms;
  // Before the sums are known. statistic: as given, 1 if there is none.
  kernels::RowMap (*begin)(double mean, double statistic);
  // s0, s1: the sums over n columns that `terms` names, with x_n in place of x_mu.
  void (*finish)(double s0, double s1, double n, kernels::RowMap& map);
};

// Blocks of rows for the column sums, and the workspace: functions of the shape.
Status plan_row_backward(PlanBody& plan, const RowRoles& roles);
void run_row_backward(const PlanBody& plan, const RowRoles& roles, const RowRecipe& recipe,
                      void* const* data, std::byte* workspace);

}  // namespace normgrad

#endif
