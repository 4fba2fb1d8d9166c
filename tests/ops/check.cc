#include "ops/check.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "ops/fused.h"
#include "ops/model.h"

namespace ops_test {
namespace {

using reference::Expected;
using reference::Magnitudes;
using reference::Rule;
using reference::Verdict;

std::string complaint(Slot slot, std::size_t i, double y, const Expected& expected,
                      const Verdict& v) {
  std::ostringstream out;
  out << std::setprecision(17) << name(slot) << "[" << i << "]: got " << y << ", expected "
      << static_cast<double>(expected.value[i]) << ", scale T "
      << static_cast<double>(expected.scale[i]) << ", error " << v.error << ", allowed "
      << v.allowance;
  return out.str();
}

const char* name(reference::Arithmetic arithmetic) {
  constexpr const char* kNames[] = {" fast ", " exact "};
  return kNames[static_cast<int>(arithmetic)];
}

std::string check_output(const Problem& problem, const Outputs& got, Slot slot,
                         const Expected& expected, const Rule& rule, Tally& tally) {
  double& worst = tally.worst[name(problem.op) + std::string(name(rule.arithmetic)) +
                              facts(rule.data).name + " " + name(slot)];
  for (std::size_t i = 0; i < expected.value.size(); ++i) {
    const double y = decode(rule.output, got.bits[slot][i]);
    if (expected.scale[i] < 0) return complaint(slot, i, y, expected, Verdict());
    const Verdict verdict = within_bound(y, expected.value[i], expected.scale[i], rule);
    if (!verdict.pass) return complaint(slot, i, y, expected, verdict);
    worst = std::max(worst, verdict.used());
    ++tally.elements;
  }
  return "";
}

bool is_within(const Magnitudes& seen, double limit) {
  return seen.smallest >= 1 / limit && seen.largest <= limit;
}
bool has_infinity(const Values& values) {
  return std::any_of(values.begin(), values.end(), [](double v) { return std::isinf(v); });
}
bool fast_is_promised(const Problem& problem, const reference::Gradients& g) {
  const double limit = problem.has(kXHat) ? 1e7 : 1e5;
  return is_within(g.seen, limit) && is_within(g.rstd, limit);
}

// N, and N - 1, of counts of elements. Of what counts nothing, negative or split, they may be lost in roundings that no
// scale knows of.
bool counts_add_up(const Problem& problem) {
  reference::Quad sum = 0, size = 0;
  for (const double count : problem.value[kCounts]) {
    sum += count, size += reference::magnitude(count);
  }
  const auto is_lost = [&](reference::Quad left) {
    return left != 0 && size > 4096 * reference::magnitude(left);
  };
  return !is_lost(sum) && !(problem.op == Op::kGatherStats && is_lost(sum - 1));
}

ExpectedOutputs of_forward(const Problem& problem, normgrad::Arithmetic arithmetic) {
  const reference::Forward f = reference_forward(problem);
  ExpectedOutputs out;
  out.output[kY] = f.y;
  out.output[kMeanOut] = f.mean;
  out.output[kRstdOut] = f.rstd;
  out.output[kSigmaOut] = f.rstd;
  for (std::size_t i = 0; i < f.rstd.value.size(); ++i) {
    const reference::Quad sigma = 1 / f.rstd.value[i];
    out.output[kSigmaOut].set(i, sigma, reference::magnitude(sigma));
  }
  out.output[kVarOut] = f.var;
  out.output[kRunningMean] = f.running_mean;
  out.output[kRunningVar] = f.running_var;
  out.promised =
      arithmetic == normgrad::Arithmetic::kExact ||
      (problem.op == Op::kForward ? is_within(f.seen, 1e5) && is_within(f.rstd_seen, 1e5)
                                  : is_within(f.seen, 1e12) && is_within(f.rstd_seen, 1e24));
  out.infinite_statistics = f.rstd_seen.infinite || has_infinity(problem.value[kMean]);
  return out;
}

ExpectedOutputs of_gather_stats(const Problem& problem) {
  const reference::Whole w = reference_whole(problem);
  ExpectedOutputs out;
  out.output[kMeanOut] = w.mean;
  out.output[kRstdOut] = w.rstd;
  out.output[kRunningMean] = w.running_mean;
  out.output[kRunningVar] = w.running_var;
  out.promised = w.eps_share <= 64 && counts_add_up(problem);
  return out;
}

}  // namespace

reference::Output kind_of(Slot slot) {
  if (slot == kDx || slot == kY || slot == kDx2 || slot == kY2 || slot == kXHatOut || slot == kXSum)
    return reference::Output::kElement;
  return slot <= kSumDyXmu ? reference::Output::kSum : reference::Output::kStatistic;
}

reference::Arithmetic arithmetic_of(Op op, normgrad::Arithmetic arithmetic) {
  if (!has_two_arithmetics(op)) return reference::Arithmetic::kExact;
  return arithmetic == normgrad::Arithmetic::kFast ? reference::Arithmetic::kFast
                                                   : reference::Arithmetic::kExact;
}

namespace {

// x_hat is y without w and b; it and the stored sum lie between, too.
ExpectedOutputs of_fused(const Problem& problem, normgrad::Arithmetic arithmetic) {
  const Problem between = without_fusion(problem, arithmetic);
  ExpectedOutputs out = expected_outputs(between, arithmetic);
  add_fusion(problem, out);
  const Values& x = between.value[between.has(kXHat) ? kXHat : kX];
  out.output[kXSum] = Expected(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) out.output[kXSum].set(i, x[i], 0);
  if (!problem.has(kXHatOut)) return out;
  Problem plain = between;
  for (const Slot slot : {kW, kB}) plain.tensor[slot] = {}, plain.value[slot].clear();
  out.output[kXHatOut] = expected_outputs(plain, arithmetic).output[kY];
  return out;
}

}  // namespace

ExpectedOutputs expected_outputs(const Problem& problem, normgrad::Arithmetic arithmetic) {
  if (is_packed(problem)) return of_fused(problem, arithmetic);
  if (problem.op == Op::kForward || is_row_forward(problem.op)) {
    return of_forward(problem, arithmetic);
  }
  if (problem.op == Op::kGatherStats) return of_gather_stats(problem);
  const reference::Gradients g = reference_gradients(problem);
  ExpectedOutputs out;
  out.output[kDx] = g.dx;
  out.output[kDw] = g.dw;
  out.output[kDb] = g.db;
  out.output[kSumDy] = g.sum_dy;
  out.output[kSumDyXmu] = g.sum_dy_xmu;
  const bool fast = arithmetic == normgrad::Arithmetic::kFast;
  out.promised = (!fast || fast_is_promised(problem, g)) && counts_add_up(problem);
  out.infinite_statistics = g.rstd.infinite || has_infinity(problem.value[kMean]) ||
                            has_infinity(problem.value[kSumDyXmuGiven]);
  return out;
}

namespace {

std::string check_outputs(const Problem& problem, const Outputs& got,
                          const ExpectedOutputs& expected, Tally& tally,
                          normgrad::Arithmetic arithmetic) {
  const reference::Arithmetic of_op = arithmetic_of(problem.op, arithmetic);
  const bool classes_count = of_op != reference::Arithmetic::kFast || !expected.infinite_statistics;
  for (const Slot slot : kOutputs) {
    if (!problem.has(slot)) continue;
    const Rule rule{of_op, kind_of(slot), problem.tensor[slot].format, problem.data_format(),
                    classes_count};
    const std::string message =
        check_output(problem, got, slot, expected.output[slot], rule, tally);
    if (!message.empty()) return message;
  }
  return "";
}

}  // namespace

std::string check(const Problem& problem, const Outputs& got, Tally& tally,
                  normgrad::Arithmetic arithmetic) {
  if (!got.failure.empty()) return got.failure;
  ++tally.cases;
  const ExpectedOutputs expected = expected_outputs(problem, arithmetic);
  if (!expected.promised) {
    ++tally.by_model;
    for (const Slot slot : kOutputs) tally.elements += got.bits[slot].size();
    const std::string difference = first_difference(problem, got, run_model(problem, arithmetic));
    return difference.empty() ? "" : "from the model's bits: " + difference;
  }
  return check_outputs(problem, got, expected, tally, arithmetic);
}

std::string check_bound(const Problem& problem, const Outputs& got,
                        normgrad::Arithmetic arithmetic) {
  if (!got.failure.empty()) return got.failure;
  Tally tally;
  return check_outputs(problem, got, expected_outputs(problem, arithmetic), tally, arithmetic);
}

std::string Tally::report() const {
  std::ostringstream out;
  out << cases << " cases, " << elements << " elements checked; " << by_model
      << " cases outside the promised range were held to the model's bits\n";
  out << "largest error in units of the allowance 1/2*ulp(r) + c*T:\n";
  for (const auto& [what, error] : worst) {
    out << "  " << std::left << std::setw(38) << what << std::fixed << std::setprecision(4) << error
        << "\n";
  }
  return out.str();
}

}  // namespace ops_test
