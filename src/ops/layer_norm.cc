// LayerNorm, forward and backward.
#include "ops/forward.h"
#include "ops/operators.h"
#include "ops/row_backward.h"
#include "runtime/failure.h"

namespace normgrad {
namespace {

using enum Direction;
using enum Shape;
using enum Types;

// ---- forward: y = w*x_hat + b with x_hat = (x - mean)*r, r = 1/sqrt(var + eps) ----

constexpr Rule kForwardRules[] = {
    {Arg::kY, kOut, kWhole, kElements},    {Arg::kMean, kOut, kRows, kStatistic},
    {Arg::kRstd, kOut, kRows, kStatistic}, {Arg::kX, kIn, kWhole, kElements, Presence::kRequired},
    {Arg::kW, kIn, kColumns, kParameter},  {Arg::kB, kIn, kColumns, kParameter},
};

void execute_forward(const PlanBody& plan, void* const* data, std::byte* workspace) {
  choose_layer_norm(isa())(plan, data, workspace);
}

// ---- backward ----

constexpr Rule kBackwardRules[] = {
    {Arg::kDx, kOut, kWhole, kElements},    {Arg::kDw, kOut, kColumns, kParameter},
    {Arg::kDb, kOut, kColumns, kParameter}, {Arg::kDy, kIn, kWhole, kElements, Presence::kRequired},
    {Arg::kW, kIn, kColumns, kParameter},   {Arg::kXHat, kIn, kWhole, kElements},
    {Arg::kSigma, kIn, kRows, kStatistic},  {Arg::kX, kIn, kWhole, kElements},
    {Arg::kMean, kIn, kRows, kStatistic},   {Arg::kRstd, kIn, kRows, kStatistic},
};
constexpr RowRoles kRolesOfXHat{.dx = index_of(Arg::kDx),
                                .dw = index_of(Arg::kDw),
                                .db = index_of(Arg::kDb),
                                .dy = index_of(Arg::kDy),
                                .w = index_of(Arg::kW),
                                .x = index_of(Arg::kXHat),
                                .mean = kAbsent,
                                .rstd = index_of(Arg::kSigma)};
constexpr RowRoles kRolesOfX{.dx = index_of(Arg::kDx),
                             .dw = index_of(Arg::kDw),
                             .db = index_of(Arg::kDb),
                             .dy = index_of(Arg::kDy),
                             .w = index_of(Arg::kW),
                             .x = index_of(Arg::kX),
                             .mean = index_of(Arg::kMean),
                             .rstd = index_of(Arg::kRstd)};

// Let a = w*dy; means run over the n columns of a row. d(loss)/d(x_hat) = a; the path through the mean of x takes the mean of
// a away, the path through r takes away the component of a along x_hat, and all paths share the factor r:
//   dx = r*(a - mean(a) - x_hat*mean(a*x_hat))
//   dw = sum(dy*x_hat), db = sum(dy)     down columns
kernels::RowMap of_x_hat(double, double sigma) { return {.scale = 1.0 / sigma}; }
kernels::RowMap of_x(double mean, double rstd) { return {.mean = mean, .r = rstd, .scale = rstd}; }
void finish(double sum_a, double sum_a_x_hat, double n, kernels::RowMap& map) {
  map.c1 = sum_a / n;
  map.c2 = sum_a_x_hat / n;
}
constexpr RowRecipe kOfXHat = row_recipe<kernels::Terms::kWg, of_x_hat, finish>;
constexpr RowRecipe kOfX = row_recipe<kernels::Terms::kWg, of_x, finish>;

Status check_backward(const Problem& p) {
  const bool x_hat = p[Arg::kXHat].present(), x = p[Arg::kX].present();
  if (x_hat == x || x_hat != p[Arg::kSigma].present()) {
    return fail(Status::kNullPointer, "either x_hat and sigma must be given, or x, mean and rstd");
  }
  if (x == p[Arg::kMean].present() && x == p[Arg::kRstd].present()) return Status::kOk;
  return fail(Status::kNullPointer, "x, mean and rstd must be given together");
}

bool is_given_x_hat(const PlanBody& plan) { return plan.tensor(Arg::kXHat).present(); }

Status prepare_backward(PlanBody& plan) {
  split_rows(plan);
  return plan_row_backward(plan, is_given_x_hat(plan) ? kRolesOfXHat : kRolesOfX);
}

void execute_backward(const PlanBody& plan, void* const* data, std::byte* workspace) {
  if (is_given_x_hat(plan)) {
    run_row_backward(plan, kRolesOfXHat, kOfXHat, data, workspace);
  } else {
    run_row_backward(plan, kRolesOfX, kOfX, data, workspace);
  }
}

}  // namespace

constinit const Operator kLayerNorm{"LayerNorm", Walk::kRows,         Arg::kX,        kForwardRules,
                                    nullptr,     prepare_row_forward, execute_forward};
constinit const Operator kLayerNormBackward{"LayerNormBackward", Walk::kRows,    Arg::kDy,
                                            kBackwardRules,      check_backward, prepare_backward,
                                            execute_backward};

}  // namespace normgrad
