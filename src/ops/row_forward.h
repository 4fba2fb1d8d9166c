// Norms along rows: the moments of each row, what follows from them, and y.
#ifndef NORMGRAD_OPS_ROW_FORWARD_H
#define NORMGRAD_OPS_ROW_FORWARD_H

#include "kernels/kernels.h"
#include "ops/plan.h"
#include "ops/rows.h"

namespace normgrad {

struct RowForwardRoles {
  int mean = index_of(Arg::kMean), b = index_of(Arg::kB);
  int y = index_of(Arg::kY), rstd = index_of(Arg::kRstd);
  int x = index_of(Arg::kX), w = index_of(Arg::kW);
};

// What an operator makes of a row of n elements. About 0 it has neither mean nor b.
struct RowForwardRecipe {
  kernels::About about;
  kernels::RowScale (*finish)(const kernels::Moments& moments, double n, double eps);
};

// The split and the workspace, a function of the shape.
Status plan_row_forward(PlanBody& plan, const RowForwardRoles& roles);
void run_row_forward(const PlanBody& plan, const RowForwardRoles& roles,
                     const RowForwardRecipe& recipe, void* const* data, std::byte* workspace);

}  // namespace normgrad

#endif
