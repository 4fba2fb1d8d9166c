// LayerNorm, forward and backward.
#include "ops/operators.h"
#include "ops/row_backward.h"
#include "ops/row_forward.h"
#include "ops/statistics.h"
#include "runtime/failure.h"

namespace normgrad {
namespace {

using enum Arg;
using enum Direction;
using enum Shape;
using enum Types;

// ---- forward: y = w*x_hat + b with x_hat = (x - mean)*r, r = 1/sqrt(var + eps) ----

// clang-format off
constexpr Rule kForwardRules[] = {
    {kY, kOut, kWhole, kParameter},
    {kY2, kOut, kWhole, kParameter},
    {kXSum, kOut, kWhole, kParameter},
    {kXHat, kOut, kWhole, kParameter},
    {kMean, kOut, kRows, kNumber},
    {kRstd, kOut, kRows, kNumber},
    {kSigma, kOut, kRows, kNumber},
    {kX, kIn, kWhole, kParameter, Presence::kRequired},
    {kX2, kIn, kWhole, kParameter},
    {kXBias, kIn, kSpread, kParameter},
    {kW, kIn, kColumns, kParameter},
    {kB, kIn, kColumns, kParameter},
    {kScale, kIn, kSpread, kParameter},
    {kShift, kIn, kSpread, kParameter},
};
// clang-format on

constexpr RowForwardRoles kForwardRoles{};

// With d = sum(x - pivot)/n, however near the pivot is:
//   mean = pivot + d,   var = sum((x - pivot)^2)/n - d^2
// It is so near that the difference loses nothing (kernels::is_far). Where it is 0, rounding may leave less; a NaN stays.
kernels::RowScale normalize(const kernels::Moments& m, double share, double eps) {
  const double d = m.sum * share, var = m.squares * share - d * d;
  const double mean = m.pivot + d;
  return {mean, (m.pivot - mean) + d, rstd_of(var < 0 ? 0 : var, eps)};
}
constexpr RowForwardRecipe kForward = row_forward_recipe<kernels::About::kMean, normalize>;

Status prepare_forward(PlanBody& plan) { return plan_row_forward(plan, kForwardRoles); }

void execute_forward(const PlanBody& plan, void* const* data, std::byte* workspace) {
  run_row_forward(plan, kForwardRoles, kForward, data, workspace);
}

// ---- backward ----

// clang-format off
constexpr Rule kBackwardRules[] = {
    {kDx, kOut, kWhole, kParameter},
    {kDx2, kOut, kWhole, kParameter},
    {kDw, kOut, kColumns, kNumber},
    {kDb, kOut, kColumns, kNumber},
    {kDy, kIn, kWhole, kParameter, Presence::kRequired},
    {kScale, kIn, kSpread, kParameter},
    {kDsum, kIn, kWhole, kParameter},
    {kW, kIn, kColumns, kParameter},
    {kXHat, kIn, kWhole, kParameter},
    {kSigma, kIn, kRows, kNumber},
    {kX, kIn, kWhole, kParameter},
    {kX2, kIn, kWhole, kParameter},
    {kMean, kIn, kRows, kNumber},
    {kRstd, kIn, kRows, kNumber},
};
// clang-format on
constexpr RowRoles kRolesOfXHat{.x = index_of(kXHat), .rstd = index_of(kSigma)};
constexpr RowRoles kRolesOfX{.mean = index_of(kMean)};

// Let a = w*dy; means run over the n columns of a row. d(loss)/d(x_hat) = a; the path through the mean of x takes the mean of
// a away, the path through r takes away the component of a along x_hat, and all paths share the factor r:
//   dx = r*(a - mean(a) - x_hat*mean(a*x_hat))
//   dw = sum(dy*x_hat), db = sum(dy)     down columns
void of_x_hat(double, double sigma, kernels::RowMap& map) { map.scale = 1.0 / sigma; }
void of_x(double mean, double rstd, kernels::RowMap& map) {
  map.mean = mean;
  map.r = map.scale = rstd;
}
void finish(double sum_a, double sum_a_x_hat, double share, kernels::RowMap& map) {
  map.c1 = sum_a * share;
  map.c2 = sum_a_x_hat * share;
}
constexpr RowRecipe kOfXHat = row_recipe<kernels::Terms::kWg, of_x_hat, finish>;
constexpr RowRecipe kOfX = row_recipe<kernels::Terms::kWg, of_x, finish>;

Status check_backward(const Problem& p) {
  const bool x_hat = p[kXHat].present(), x = p[kX].present();
  if (x_hat == x || x_hat != p[kSigma].present()) {
    return fail(Status::kNullPointer, "either x_hat and sigma must be given, or x, mean and rstd");
  }
  if (x_hat && p[kX2].present())
    return fail(Status::kBadParam, "x2 is given, but no x to add it to");
  if (x == p[kMean].present() && x == p[kRstd].present()) return Status::kOk;
  return fail(Status::kNullPointer, "x, mean and rstd must be given together");
}

bool is_given_x_hat(const PlanBody& plan) { return plan.tensor(kXHat).present(); }

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

constinit const Operator kLayerNorm{.name = "LayerNorm",
                                    .walk = Walk::kRows,
                                    .data = kX,
                                    .rules = kForwardRules,
                                    .prepare = prepare_forward,
                                    .execute = execute_forward};
constinit const Operator kLayerNormBackward{.name = "LayerNormBackward",
                                            .walk = Walk::kRows,
                                            .data = kDy,
                                            .rules = kBackwardRules,
                                            .check = check_backward,
                                            .prepare = prepare_backward,
                                            .execute = execute_backward};

}  // namespace normgrad
