#include "ops/check.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "ops/model.h"

namespace ops_test {
namespace {

using reference::Expected;
using reference::Magnitudes;
using reference::Verdict;

reference::Output kind_of(Slot slot) {
  if (slot == kDx || slot == kY) return reference::Output::kElement;
  return slot <= kSumDyXmu ? reference::Output::kSum : reference::Output::kStatistic;
}

std::string complaint(Slot slot, std::size_t i, double y, const Expected& expected,
                      const Verdict& v) {
  std::ostringstream out;
  out << std::setprecision(17) << name(slot) << "[" << i << "]: got " << y << ", expected "
      << static_cast<double>(expected.value[i]) << ", scale T "
      << static_cast<double>(expected.scale[i]) << ", error " << v.error << ", allowed "
      << v.allowance;
  return out.str();
}

std::string check_output(const Problem& problem, const Outputs& got, Slot slot,
                         const Expected& expected, Tally& tally) {
  const Format output = problem.tensor[slot].format, data = problem.data_format();
  double& worst =
      tally.worst[std::string(name(problem.op)) + " " + facts(data).name + " " + name(slot)];
  for (std::size_t i = 0; i < expected.value.size(); ++i) {
    const double y = decode(output, got.bits[slot][i]);
    if (expected.scale[i] < 0) return complaint(slot, i, y, expected, Verdict());
    const auto verdict_with = [&](reference::Quad slack) {
      return within_bound(y, expected.value[i], expected.scale[i], output, data, kind_of(slot),
                          slack);
    };
    Verdict verdict = verdict_with(0);
    if (!verdict.pass && expected.slack[i] > 0) {
      verdict = verdict_with(expected.slack[i]);
      ++tally.with_slack;
    }
    if (!verdict.pass) return complaint(slot, i, y, expected, verdict);
    worst = std::max(worst, verdict.used());
    ++tally.elements;
  }
  return "";
}

bool in_promised_range(Format data, const Magnitudes& seen, const Magnitudes& rstd) {
  if (data == Format::kF32) return true;
  return seen.smallest >= 1e-12 && seen.largest <= 1e12 && rstd.smallest >= 1e-24 &&
         rstd.largest <= 1e24;
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

ExpectedOutputs of_forward(const Problem& problem) {
  const reference::Forward f = reference_forward(problem);
  ExpectedOutputs out;
  out.output[kY] = f.y;
  out.output[kMeanOut] = f.mean;
  out.output[kRstdOut] = f.rstd;
  out.output[kVarOut] = f.var;
  out.output[kRunningMean] = f.running_mean;
  out.output[kRunningVar] = f.running_var;
  out.promised = in_promised_range(problem.data_format(), f.seen, f.rstd_seen);
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

ExpectedOutputs expected_outputs(const Problem& problem) {
  if (problem.op == Op::kForward || is_row_forward(problem.op)) return of_forward(problem);
  if (problem.op == Op::kGatherStats) return of_gather_stats(problem);
  const reference::Gradients g = reference_gradients(problem);
  ExpectedOutputs out;
  out.output[kDx] = g.dx;
  out.output[kDw] = g.dw;
  out.output[kDb] = g.db;
  out.output[kSumDy] = g.sum_dy;
  out.output[kSumDyXmu] = g.sum_dy_xmu;
  out.promised = in_promised_range(problem.data_format(), g.seen, g.rstd) && counts_add_up(problem);
  return out;
}

std::string check(const Problem& problem, const Outputs& got, Tally& tally) {
  if (!got.failure.empty()) return got.failure;
  ++tally.cases;
  const ExpectedOutputs expected = expected_outputs(problem);
  if (!expected.promised) {
    ++tally.by_model;
    for (const Slot slot : kOutputs) tally.elements += got.bits[slot].size();
    const std::string difference = first_difference(problem, got, run_model(problem));
    return difference.empty() ? "" : "from the model's bits: " + difference;
  }
  for (const Slot slot : kOutputs) {
    if (!problem.has(slot)) continue;
    const std::string message = check_output(problem, got, slot, expected.output[slot], tally);
    if (!message.empty()) return message;
  }
  return "";
}

std::string Tally::report() const {
  std::ostringstream out;
  out << cases << " cases, " << elements << " elements checked, " << with_slack
      << " of them beyond the bound by a mean's rounding; " << by_model
      << " cases outside the promised range were held to the model's bits\n";
  out << "largest error in units of the allowance 1/2*ulp(r) + c*T:\n";
  for (const auto& [what, error] : worst) {
    out << "  " << std::left << std::setw(32) << what << std::fixed << std::setprecision(4) << error
        << "\n";
  }
  return out.str();
}

}  // namespace ops_test
