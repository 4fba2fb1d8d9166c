#include "ops/problem.h"

#include <iterator>
#include <map>
#include <sstream>

namespace ops_test {
namespace {

std::size_t product(const std::vector<std::int64_t>& shape, std::size_t begin, std::size_t end) {
  std::size_t out = 1;
  for (std::size_t i = begin; i < end; ++i) out *= static_cast<std::size_t>(shape[i]);
  return out;
}

std::string list(const std::vector<std::int64_t>& values) {
  std::ostringstream out;
  out << "(";
  for (std::size_t i = 0; i < values.size(); ++i) out << (i == 0 ? "" : ",") << values[i];
  return out.str() + ")";
}

}  // namespace

bool is_row_forward(Op op) { return op == Op::kLayerNormForward || op == Op::kRmsNormForward; }
bool is_row_norm(Op op) { return op == Op::kLayerNorm || op == Op::kRmsNorm || is_row_forward(op); }
bool is_channel_norm(Op op) { return !is_row_norm(op) && op != Op::kGatherStats; }
bool is_backward(Op op) { return op <= Op::kElemtBackward; }
bool has_two_arithmetics(Op op) { return op != Op::kGatherStats; }

const char* name(Op op) {
  constexpr const char* kNames[] = {"layer_norm",      "rms_norm",           "batch_norm",
                                    "batch_norm_sums", "elemt_backward",     "forward",
                                    "gather_stats",    "layer_norm_forward", "rms_norm_forward"};
  return kNames[static_cast<int>(op)];
}

const char* name(Slot slot) {
  constexpr const char* kNames[] = {"dx",
                                    "dw",
                                    "db",
                                    "sum_dy",
                                    "sum_dy_xmu",
                                    "y",
                                    "mean_out",
                                    "rstd_out",
                                    "var_out",
                                    "x_sum",
                                    "x_hat_out",
                                    "sigma_out",
                                    "y2",
                                    "dx2",
                                    "running_mean",
                                    "running_var",
                                    "dy",
                                    "x",
                                    "x_hat",
                                    "w",
                                    "mean",
                                    "rstd",
                                    "sigma",
                                    "var",
                                    "b",
                                    "sum_dy_given",
                                    "sum_dy_xmu_given",
                                    "counts",
                                    "x2",
                                    "x_bias",
                                    "scale",
                                    "shift",
                                    "dsum"};
  static_assert(std::size(kNames) == kSlotCount);
  return kNames[slot];
}

RowExtents row_extents(const Problem& problem) {
  const std::vector<std::int64_t>& shape = problem.tensor[problem.big_input()].shape;
  const std::size_t leading = shape.size() - static_cast<std::size_t>(problem.row_axes);
  return {product(shape, 0, leading), product(shape, leading, shape.size())};
}

ChannelExtents channel_extents(const Problem& problem) {
  const std::vector<std::int64_t>& shape = problem.tensor[problem.big_input()].shape;
  const auto axis = static_cast<std::size_t>(problem.channel_axis);
  return {product(shape, 0, axis), static_cast<std::size_t>(shape[axis]),
          product(shape, axis + 1, shape.size())};
}

std::size_t element_count(const TensorSpec& spec) {
  return product(spec.shape, 0, spec.shape.size());
}

std::vector<std::int64_t> offsets(const TensorSpec& spec) {
  std::vector<std::int64_t> out(element_count(spec));
  std::vector<std::int64_t> index(spec.shape.size(), 0);
  std::int64_t offset = 0;
  for (std::int64_t& place : out) {
    place = offset;
    for (std::size_t d = spec.shape.size(); d-- > 0;) {
      if (spec.shape[d] == 1) continue;  // its stride means nothing, and may be anything
      offset += spec.strides[d];
      if (++index[d] < spec.shape[d]) break;
      offset -= spec.strides[d] * spec.shape[d];
      index[d] = 0;
    }
  }
  return out;
}

TensorSpec contiguous(Format format, std::vector<std::int64_t> shape) {
  TensorSpec out{format, shape, shape, 0};
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    out.strides[d] = stride;
    stride *= shape[d] > 0 ? shape[d] : 1;
  }
  return out;
}

void settle(const TensorSpec& spec, Values& values) {
  bool expanded = false;
  for (std::size_t d = 0; d < spec.shape.size(); ++d) {
    expanded = expanded || (spec.strides[d] == 0 && spec.shape[d] > 1);
  }
  for (double& value : values) value = reference::rounded(spec.format, value);
  if (!expanded) return;
  const std::vector<std::int64_t> place = offsets(spec);
  std::map<std::int64_t, double> stored;
  for (std::size_t i = 0; i < place.size(); ++i) stored.emplace(place[i], values[i]);
  for (std::size_t i = 0; i < place.size(); ++i) values[i] = stored[place[i]];
}

void settle(Problem& problem) {
  for (const Slot slot : kInputs) {
    if (problem.has(slot)) settle(problem.tensor[slot], problem.value[slot]);
  }
}

reference::Gradients reference_gradients(const Problem& problem) {
  const auto& v = problem.value;
  if (is_channel_norm(problem.op)) {
    const ChannelExtents e = channel_extents(problem);
    const reference::ChannelNorm in{e.outer,
                                    e.channels,
                                    e.inner,
                                    v[kDy],
                                    v[kX],
                                    v[kW],
                                    v[kMean],
                                    v[kRstd],
                                    v[kVar],
                                    problem.eps,
                                    problem.training,
                                    v[kSumDyGiven],
                                    v[kSumDyXmuGiven],
                                    v[kCounts]};
    return problem.op == Op::kElemtBackward ? batch_norm_elemt_backward(in)
                                            : batch_norm_backward(in);
  }
  const RowExtents e = row_extents(problem);
  const reference::RowNorm in{e.rows,    e.columns, v[kDy],   v[kX], v[kXHat],
                              v[kSigma], v[kMean],  v[kRstd], v[kW]};
  return problem.op == Op::kLayerNorm ? layer_norm_backward(in) : rms_norm_backward(in);
}

reference::Forward reference_forward(const Problem& problem) {
  const auto& v = problem.value;
  if (is_row_forward(problem.op)) {
    const RowExtents r = row_extents(problem);
    const reference::RowForward in{r.rows, r.columns, v[kX], v[kW], v[kB], problem.eps};
    return problem.op == Op::kLayerNormForward ? layer_norm_forward(in) : rms_norm_forward(in);
  }
  const ChannelExtents e = channel_extents(problem);
  return reference::batch_norm_forward({e.outer, e.channels, e.inner, v[kX], v[kW], v[kB], v[kMean],
                                        v[kRstd], v[kVar], v[kRunningMean], v[kRunningVar],
                                        problem.eps, problem.momentum, problem.training});
}

reference::Whole reference_whole(const Problem& problem) {
  const auto& v = problem.value;
  const std::vector<std::int64_t>& shape = problem.tensor[kMean].shape;
  return reference::gather_stats(
      {static_cast<std::size_t>(shape[0]), static_cast<std::size_t>(shape[1]), v[kMean], v[kRstd],
       v[kCounts], v[kRunningMean], v[kRunningVar], problem.eps, problem.momentum});
}

std::string describe(const TensorSpec& spec) {
  std::ostringstream out;
  out << facts(spec.format).name << list(spec.shape);
  if (spec.strides != contiguous(spec.format, spec.shape).strides) out << "/" << list(spec.strides);
  if (spec.shift_bytes != 0) out << "+" << spec.shift_bytes;
  return out.str();
}

std::string describe(const Problem& problem) {
  std::ostringstream out;
  out << name(problem.op);
  if (is_channel_norm(problem.op)) {
    out << (problem.training ? " training" : " inference") << " axis=" << problem.channel_axis
        << " eps=" << problem.eps;
  }
  if (is_row_forward(problem.op)) out << " eps=" << problem.eps;
  if (problem.row_axes != 1) out << " row_axes=" << problem.row_axes;
  if (problem.alpha != 1) out << " alpha=" << problem.alpha;
  if (problem.momentum != 0) out << " momentum=" << problem.momentum;
  for (int slot = 0; slot < kSlotCount; ++slot) {
    if (!problem.has(Slot(slot))) continue;
    out << " " << name(Slot(slot)) << "="
        << describe(problem.tensor[static_cast<std::size_t>(slot)]);
  }
  if (problem.dx_shares != kDx)
    out << " " << name(problem.big_output()) << " in place of " << name(problem.dx_shares);
  return out.str();
}

}  // namespace ops_test
