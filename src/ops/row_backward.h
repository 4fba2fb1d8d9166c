// Gradients of norms along rows: sums along each row, its map, and column sums for dw and db.
#ifndef NORMGRAD_OPS_ROW_BACKWARD_H
#define NORMGRAD_OPS_ROW_BACKWARD_H

#include "kernels/kernels.h"
#include "ops/plan.h"
#include "ops/rows.h"

namespace normgrad {

struct RowRoles {
  int dx = index_of(Arg::kDx), dw = index_of(Arg::kDw), db = index_of(Arg::kDb);
  int dy = index_of(Arg::kDy), w = index_of(Arg::kW);
  int x = index_of(Arg::kX);  // or x_hat
  int mean = kAbsent;
  int rstd = index_of(Arg::kRstd);  // or sigma
};

// How an operator's maps follow from what is given about rows and from their sums, which `terms` names, with x_n in place of x_mu; share = 1/n of a row's n elements. For some rows at once, so that the
// processor need not wait for one's divisions to begin the next.
struct RowRecipe {
  kernels::Terms terms;
  // Before the sums are known. statistics: as given, 1 if there are none.
  void (*begin)(const double* means, const double* statistics, std::int64_t rows,
                kernels::RowMap* maps);
  void (*finish)(const kernels::GroupSums& sums, std::int64_t rows, double share,
                 kernels::RowMap* maps);
};
// Of an operator's formulas for one row. They set what a map has in place: a copy would wait for its parts to be stored.
template <kernels::Terms kTerms,
          void (*kBegin)(double mean, double statistic, kernels::RowMap& map),
          void (*kFinish)(double first, double second, double share, kernels::RowMap& map)>
inline constexpr RowRecipe row_recipe{
    kTerms,
    [](const double* means, const double* statistics, std::int64_t rows, kernels::RowMap* maps) {
      for (std::int64_t r = 0; r < rows; ++r) {
        maps[r] = {};
        kBegin(means[r], statistics[r], maps[r]);
      }
    },
    [](const kernels::GroupSums& sums, std::int64_t rows, double share, kernels::RowMap* maps) {
      for (std::int64_t r = 0; r < rows; ++r) {
        kFinish(sums.first[r], sums.second[r], share, maps[r]);
      }
    }};

// Blocks of rows for the column sums, and the workspace: functions of the shape.
Status plan_row_backward(PlanBody& plan, const RowRoles& roles);
void run_row_backward(const PlanBody& plan, const RowRoles& roles, const RowRecipe& recipe,
                      void* const* data, std::byte* workspace);

}  // namespace normgrad

#endif
