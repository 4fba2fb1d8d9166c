// What the row norms compute, seen through aclnn: which argument is which. The arithmetic itself is tested in tests/ops.
#include <cmath>
#include <functional>
#include <map>

#include "api/aclnn/operators.h"
#include "normgrad/last_error.h"

namespace aclnn_test {
namespace {

using Numbers = std::vector<double>;
using Named = std::map<std::string, Numbers>;

constexpr std::size_t kRows = 6, kColumns = 4;
constexpr double kEps = 1e-5, kAlpha = 0.81;

// Rows 0 to 2 share a scale, and rows 3 to 5.
constexpr std::size_t kSegments = 2, kRowsOfSegment = kRows / kSegments;

// Of row r of numbers for all elements, of those of its segment, or of one row.
double at(const Numbers& numbers, std::size_t r, std::size_t c) {
  if (numbers.size() == kSegments * kColumns) return numbers[r / kRowsOfSegment * kColumns + c];
  return numbers.size() == kColumns ? numbers[c] : numbers[r * kColumns + c];
}
Numbers each(const std::function<double(std::size_t r, std::size_t c)>& number) {
  Numbers out;
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t c = 0; c < kColumns; ++c) out.push_back(number(r, c));
  }
  return out;
}
Numbers per_row(const std::function<double(std::size_t r)>& number) {
  Numbers out;
  for (std::size_t r = 0; r < kRows; ++r) out.push_back(number(r));
  return out;
}
double mean_of(std::size_t r, const Numbers& numbers) {
  double sum = 0;
  for (std::size_t c = 0; c < kColumns; ++c) sum += at(numbers, r, c) / kColumns;
  return sum;
}
Numbers down_columns(const Numbers& numbers) {
  Numbers out(kColumns);
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t c = 0; c < kColumns; ++c) out[c] += at(numbers, r, c);
  }
  return out;
}

Numbers down_segments(const Numbers& numbers) {
  Numbers out(kSegments * kColumns);
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t c = 0; c < kColumns; ++c) {
      out[r / kRowsOfSegment * kColumns + c] += at(numbers, r, c);
    }
  }
  return out;
}

struct Forward {
  Numbers y, mean, rstd;
};
Forward layer_norm(const Numbers& x, const Numbers& w, const Numbers& b) {
  Forward f;
  f.mean = per_row([&](std::size_t r) { return mean_of(r, x); });
  f.rstd = per_row([&](std::size_t r) {
    double var = 0;
    for (std::size_t c = 0; c < kColumns; ++c) var += std::pow(at(x, r, c) - f.mean[r], 2);
    return 1 / std::sqrt(var / kColumns + kEps);
  });
  f.y = each([&](std::size_t r, std::size_t c) {
    return (at(x, r, c) - f.mean[r]) * f.rstd[r] * at(w, r, c) + at(b, r, c);
  });
  return f;
}
Forward rms_norm(const Numbers& x, const Numbers& w) {
  Forward f;
  f.rstd = per_row([&](std::size_t r) {
    double squares = 0;
    for (std::size_t c = 0; c < kColumns; ++c) squares += std::pow(at(x, r, c), 2);
    return 1 / std::sqrt(squares / kColumns + kEps);
  });
  f.y = each([&](std::size_t r, std::size_t c) { return at(x, r, c) * f.rstd[r] * at(w, r, c); });
  return f;
}

struct Gradients {
  Numbers dx, dw, db;
};
// rms: nothing was centred.
Gradients gradients(const Numbers& dy, const Numbers& x, const Numbers& mean, const Numbers& rstd,
                    const Numbers& w, bool rms = false) {
  const Numbers x_hat = each(
      [&](std::size_t r, std::size_t c) { return (at(x, r, c) - (rms ? 0 : mean[r])) * rstd[r]; });
  const Numbers g = each([&](std::size_t r, std::size_t c) { return at(dy, r, c) * at(w, r, c); });
  const Numbers g_x_hat =
      each([&](std::size_t r, std::size_t c) { return at(g, r, c) * at(x_hat, r, c); });
  Gradients out;
  out.dx = each([&](std::size_t r, std::size_t c) {
    return rstd[r] *
           (at(g, r, c) - (rms ? 0 : mean_of(r, g)) - at(x_hat, r, c) * mean_of(r, g_x_hat));
  });
  out.dw = down_columns(
      each([&](std::size_t r, std::size_t c) { return at(dy, r, c) * at(x_hat, r, c); }));
  out.db = down_columns(dy);
  return out;
}

Numbers sum(const Numbers& a, double factor, const Numbers& b) {
  return each([&](std::size_t r, std::size_t c) { return at(a, r, c) + factor * at(b, r, c); });
}
Numbers scaled(double factor, const Numbers& numbers) {
  Numbers out;
  for (const double number : numbers) out.push_back(factor * number);
  return out;
}
Numbers modulated(const Numbers& y, const Numbers& scale, const Numbers& shift) {
  return each([&](std::size_t r, std::size_t c) {
    return at(y, r, c) * (1 + at(scale, r, c)) + at(shift, r, c);
  });
}

// From the inputs the outputs, both by their names in the documents.
Named expected(const std::string& op, Named in) {
  if (op == "aclnnLayerNorm" || op == "aclnnLayerNormWithImplMode" || op == "aclnnFastLayerNorm") {
    const Forward f = layer_norm(in["input"], in["weightOptional"], in["biasOptional"]);
    return {{"out", f.y}, {"meanOutOptional", f.mean}, {"rstdOutOptional", f.rstd}};
  }
  if (op == "aclnnLayerNormBackward") {
    const Gradients g =
        gradients(in["gradOut"], in["input"], in["mean"], in["rstd"], in["weightOptional"]);
    return {{"gradInputOut", g.dx}, {"gradWeightOut", g.dw}, {"gradBiasOut", g.db}};
  }
  if (op == "aclnnAddLayerNorm") {
    const Numbers x = sum(sum(in["x1"], 1, in["x2"]), 1, in["biasOptional"]);
    const Forward f = layer_norm(x, in["gamma"], in["beta"]);
    return {{"yOut", f.y}, {"meanOut", f.mean}, {"rstdOut", f.rstd}, {"xOut", x}};
  }
  if (op == "aclnnAddLayerNormGrad") {
    const Gradients g =
        gradients(in["dy"], sum(in["x1"], 1, in["x2"]), in["mean"], in["rstd"], in["gamma"]);
    return {{"dxOut", sum(g.dx, 1, in["dsumOptional"])}, {"dgammaOut", g.dw}, {"dbetaOut", g.db}};
  }
  if (op == "aclnnDeepNorm") {
    const Forward f = layer_norm(sum(in["gx"], kAlpha, in["x"]), in["gamma"], in["beta"]);
    return {{"meanOut", f.mean}, {"rstdOut", f.rstd}, {"yOut", f.y}};
  }
  if (op == "aclnnDeepNormGrad") {
    const Gradients g =
        gradients(in["dy"], sum(in["gx"], kAlpha, in["x"]), in["mean"], in["rstd"], in["gamma"]);
    return {
        {"dxOut", scaled(kAlpha, g.dx)}, {"dgxOut", g.dx}, {"dbetaOut", g.db}, {"dgammaOut", g.dw}};
  }
  if (op == "aclnnAdaLayerNorm" || op == "aclnnAdaLayerNormV2") {
    const Forward f = layer_norm(in["x"], in["weightOptional"], in["biasOptional"]);
    return {{"out", modulated(f.y, in["scale"], in["shift"])},
            {"meanOutOptional", f.mean},
            {"rstdOutOptional", f.rstd}};
  }
  if (op == "aclnnAdaLayerNormBackward") {
    const Numbers dy = in["gradOut"];
    const Numbers g = each(
        [&](std::size_t r, std::size_t c) { return at(dy, r, c) * (1 + at(in["scale"], r, c)); });
    const Gradients of_z = gradients(g, in["input"], in["mean"], in["rstd"], in["weightOptional"]);
    const Numbers dy_z = each([&](std::size_t r, std::size_t c) {
      const double x_hat = (at(in["input"], r, c) - in["mean"][r]) * in["rstd"][r];
      return at(dy, r, c) * (x_hat * at(in["weightOptional"], r, c) + at(in["biasOptional"], r, c));
    });
    return {{"gradInputOut", of_z.dx},
            {"gradScaleOut", down_segments(dy_z)},
            {"gradShiftOut", down_segments(dy)},
            {"gradWeightOut", of_z.dw},
            {"gradBiasOut", of_z.db}};
  }
  if (op == "aclnnRmsNormGrad") {
    const Gradients g = gradients(in["dy"], in["x"], {}, in["rstd"], in["gamma"], true);
    return {{"dxOut", g.dx}, {"dgammaOut", g.dw}};
  }
  if (op == "aclnnRmsNorm" || op == "aclnnGemmaRmsNorm") {
    Numbers gamma = in["gamma"];
    for (double& w : gamma) w += op == "aclnnGemmaRmsNorm" ? 1 : 0;
    const Forward f = rms_norm(in["x"], gamma);
    return {{"yOut", f.y}, {"rstdOut", f.rstd}};
  }
  if (op == "aclnnInplaceAddRmsNorm") {
    const Numbers x = sum(in["x1Ref"], 1, in["x2Ref"]);
    const Forward f = rms_norm(x, in["gamma"]);
    return {{"x1Ref", f.y}, {"x2Ref", x}, {"rstdOut", f.rstd}};
  }
  const Numbers x = sum(in["x1"], 1, in["x2"]);
  const Forward f = rms_norm(x, in["gamma"]);
  return {{"yOut", f.y}, {"y1Out", f.y}, {"y2Out", f.y}, {"rstdOut", f.rstd}, {"xOut", x}};
}

// Numbers without a pattern; given statistics do not belong to the data.
std::vector<float> input(std::size_t salt) {
  std::vector<float> out(kRows * kColumns);
  std::uint32_t state = static_cast<std::uint32_t>(salt) * 7919u + 1;
  for (float& value : out) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 16) / 65536 + 0.5f;
  }
  return out;
}

std::size_t elements(const Argument& argument) {
  switch (argument.form) {
    case Form::kData:
      return kRows * kColumns;
    case Form::kRow:
      return kColumns;
    case Form::kSegments:
      return kSegments * kColumns;
    default:
      return kRows;
  }
}

TEST(RowResults, AreTheFormulas) {
  Session session;
  for (const Operator* op : row_norms()) {
    Tensors tensors(specs_for(*op, {2, 3, 4}));
    Named inputs;
    for (std::size_t i = 0; i < op->arguments.size(); ++i) {
      const Argument& argument = op->arguments[i];
      if (argument.output) continue;
      const std::vector<float> values = input(i);
      tensors.fill(i, values);
      inputs[argument.name] =
          Numbers(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(elements(argument)));
    }
    Prepared prepared(*op, tensors.data());
    EXPECT_EQ(prepared.run(session.stream()), 0) << normgradGetLastError();
    EXPECT_EQ(aclrtSynchronizeStream(session.stream()), 0);
    const Named outputs = expected(op->name, inputs);
    for (std::size_t i = 0; i < op->arguments.size(); ++i) {
      const Argument& argument = op->arguments[i];
      const auto found = outputs.find(argument.name);
      EXPECT_TRUE(found != outputs.end() || !argument.output) << op->name << " " << argument.name;
      if (found == outputs.end()) continue;
      for (std::size_t e = 0; e < elements(argument); ++e) {
        const double right = found->second[e];
        EXPECT_NEAR(tensors.values(i)[e], right, 2e-6 * (std::fabs(right) + 4))
            << op->name << " " << argument.name << "[" << e << "]";
      }
    }
  }
}

}  // namespace
}  // namespace aclnn_test
