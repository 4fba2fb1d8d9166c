// RMSNorm, forward and backward.
#include <cmath>

#include "ops/operators.h"
#include "ops/row_backward.h"
#include "ops/row_forward.h"
#include "ops/statistics.h"

namespace normgrad {
namespace {

using enum Arg;
using enum Direction;
using enum Shape;
using enum Types;

// ---- forward: y = w*x_hat with x_hat = x*r, r = 1/sqrt(mean(x^2) + eps) ----

// clang-format off
constexpr Rule kForwardRules[] = {
    {kY, kOut, kWhole, kParameter},
    {kY2, kOut, kWhole, kParameter},
    {kXSum, kOut, kWhole, kParameter},
    {kRstd, kOut, kRows, kNumber},
    {kX, kIn, kWhole, kParameter, Presence::kRequired},
    {kX2, kIn, kWhole, kParameter},
    {kW, kIn, kColumns, kParameter},
    {kScale, kIn, kSpread, kParameter},
};
// clang-format on

constexpr RowForwardRoles kForwardRoles{.mean = kAbsent, .b = kAbsent};

kernels::RowScale normalize(const kernels::Moments& m, double share, double eps) {
  return {.mean = 0, .rest = 0, .r = rstd_of(m.squares * share, eps)};
}
constexpr RowForwardRecipe kForward = row_forward_recipe<kernels::About::kZero, normalize>;

Status prepare_forward(PlanBody& plan) { return plan_row_forward(plan, kForwardRoles); }

void execute_forward(const PlanBody& plan, void* const* data, std::byte* workspace) {
  run_row_forward(plan, kForwardRoles, kForward, data, workspace);
}

// ---- backward ----

// clang-format off
constexpr Rule kBackwardRules[] = {
    {kDx, kOut, kWhole, kParameter},
    {kDw, kOut, kColumns, kNumber},
    {kDy, kIn, kWhole, kParameter, Presence::kRequired},
    {kDsum, kIn, kWhole, kParameter},
    {kW, kIn, kColumns, kParameter},
    {kX, kIn, kWhole, kParameter, Presence::kRequired},
    {kX2, kIn, kWhole, kParameter},
    {kRstd, kIn, kRows, kNumber},
};
// clang-format on
constexpr RowRoles kRoles{.db = kAbsent};

// As for LayerNorm, but nothing was centred: with a = w*dy
//   dx = r*(a - x_hat*mean(a*x_hat)),   dw = sum(dy*x_hat) down columns
void of_x(double, double, kernels::RowMap&) {}
void finish_of_x(double sum_a_x, double sum_squares, double share, kernels::RowMap& map) {
  map.r = map.scale = 1.0 / std::sqrt(sum_squares * share);
  map.c2 = sum_a_x * map.r * share;
}
void of_rstd(double, double rstd, kernels::RowMap& map) { map.r = map.scale = rstd; }
void finish_of_rstd(double, double sum_a_x_hat, double share, kernels::RowMap& map) {
  map.c2 = sum_a_x_hat * share;
}
constexpr RowRecipe kOfX = row_recipe<kernels::Terms::kWgxAndSquares, of_x, finish_of_x>;
constexpr RowRecipe kOfRstd = row_recipe<kernels::Terms::kWg, of_rstd, finish_of_rstd>;

Status prepare_backward(PlanBody& plan) {
  split_rows(plan);
  return plan_row_backward(plan, kRoles);
}

void execute_backward(const PlanBody& plan, void* const* data, std::byte* workspace) {
  const bool given = plan.tensor(kRstd).present();
  run_row_backward(plan, kRoles, given ? kOfRstd : kOfX, data, workspace);
}

}  // namespace

constinit const Operator kRmsNorm{.name = "RmsNorm",
                                  .walk = Walk::kRows,
                                  .data = kX,
                                  .rules = kForwardRules,
                                  .prepare = prepare_forward,
                                  .execute = execute_forward};
constinit const Operator kRmsNormBackward{.name = "RmsNormBackward",
                                          .walk = Walk::kRows,
                                          .data = kDy,
                                          .rules = kBackwardRules,
                                          .prepare = prepare_backward,
                                          .execute = execute_backward};

}  // namespace normgrad
