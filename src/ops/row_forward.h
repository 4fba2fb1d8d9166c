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

// What an operator makes of the moments of rows, share = 1/n of their n elements; about 0 it has neither mean nor b. For some rows at once, so
// that the processor need not wait for one's divisions to begin the next.
struct RowForwardRecipe {
  kernels::About about;
  void (*finish)(const kernels::GroupMoments& moments, std::int64_t rows, double share, double eps,
                 kernels::GroupScales& scales);
};
// Of an operator's formula for one row.
template <kernels::About kAbout,
          kernels::RowScale (*kFinish)(const kernels::Moments&, double share, double eps)>
inline constexpr RowForwardRecipe row_forward_recipe{
    kAbout, [](const kernels::GroupMoments& moments, std::int64_t rows, double share, double eps,
               kernels::GroupScales& scales) {
      for (std::int64_t r = 0; r < rows; ++r) scales.set(r, kFinish(moments.of(r), share, eps));
    }};

// The split and the workspace, a function of the shape.
Status plan_row_forward(PlanBody& plan, const RowForwardRoles& roles);
void run_row_forward(const PlanBody& plan, const RowForwardRoles& roles,
                     const RowForwardRecipe& recipe, void* const* data, std::byte* workspace);

}  // namespace normgrad

#endif
