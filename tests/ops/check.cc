#include "ops/check.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "ops/model.h"

namespace ops_test {
namespace {

using reference::Expected;
using reference::Gradients;
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

std::string check_output(const Problem& problem, const Outputs& got, Slot slot,
                         const Expected& expected, Tally& tally) {
  const Format output = problem.tensor[slot].format, data = problem.data_format();
  double& worst =
      tally.worst[std::string(name(problem.op)) + " " + facts(data).name + " " + name(slot)];
  for (std::size_t i = 0; i < expected.value.size(); ++i) {
    const double y = decode(output, got.bits[slot][i]);
    const Verdict verdict = within_bound(y, expected.value[i], expected.scale[i], output, data,
                                         static_cast<reference::Output>(slot));
    if (!verdict.pass) return complaint(slot, i, y, expected, verdict);
    worst = std::max(worst, verdict.used());
    ++tally.elements;
  }
  return "";
}

}  // namespace

bool bound_is_promised(const Problem& problem, const Gradients& expected) {
  if (problem.data_format() == Format::kF32) return true;
  return expected.seen.smallest >= 1e-12 && expected.seen.largest <= 1e12 &&
         expected.rstd.smallest >= 1e-24 && expected.rstd.largest <= 1e24;
}

std::string check(const Problem& problem, const Outputs& got, Tally& tally) {
  if (!got.failure.empty()) return got.failure;
  ++tally.cases;
  const Gradients expected = reference_gradients(problem);
  if (!bound_is_promised(problem, expected)) {
    ++tally.by_model;
    for (const Slot slot : kOutputs) tally.elements += got.bits[slot].size();
    const std::string difference = first_difference(problem, got, run_model(problem));
    return difference.empty() ? "" : "from the model's bits: " + difference;
  }
  const Expected* outputs[] = {&expected.dx, &expected.dw, &expected.db};
  for (const Slot slot : kOutputs) {
    if (!problem.has(slot)) continue;
    const std::string message = check_output(problem, got, slot, *outputs[slot], tally);
    if (!message.empty()) return message;
  }
  return "";
}

std::string Tally::report() const {
  std::ostringstream out;
  out << cases << " cases, " << elements << " elements checked; " << by_model
      << " cases outside the promised range of 16-bit data were held to the model's bits\n";
  out << "largest error in units of the allowance 1/2*ulp(r) + c*T:\n";
  for (const auto& [what, error] : worst) {
    out << "  " << std::left << std::setw(24) << what << std::fixed << std::setprecision(4) << error
        << "\n";
  }
  return out.str();
}

}  // namespace ops_test
