#include "ops/problem.h"

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

const char* name(Op op) {
  constexpr const char* kNames[] = {"layer_norm", "rms_norm", "batch_norm"};
  return kNames[static_cast<int>(op)];
}

const char* name(Slot slot) {
  constexpr const char* kNames[] = {"dx", "dw",   "db",   "dy",    "x",  "x_hat",
                                    "w",  "mean", "rstd", "sigma", "var"};
  return kNames[slot];
}

RowExtents row_extents(const Problem& problem) {
  const std::vector<std::int64_t>& shape = problem.tensor[kDy].shape;
  return {product(shape, 0, shape.size() - 1), static_cast<std::size_t>(shape.back())};
}

ChannelExtents channel_extents(const Problem& problem) {
  const std::vector<std::int64_t>& shape = problem.tensor[kDy].shape;
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
  if (problem.op == Op::kBatchNorm) {
    const ChannelExtents e = channel_extents(problem);
    return reference::batch_norm_backward({e.outer, e.channels, e.inner, v[kDy], v[kX], v[kW],
                                           v[kMean], v[kRstd], v[kVar], problem.eps,
                                           problem.training});
  }
  const RowExtents e = row_extents(problem);
  const reference::RowNorm in{e.rows,    e.columns, v[kDy],   v[kX], v[kXHat],
                              v[kSigma], v[kMean],  v[kRstd], v[kW]};
  return problem.op == Op::kLayerNorm ? layer_norm_backward(in) : rms_norm_backward(in);
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
  if (problem.op == Op::kBatchNorm) {
    out << (problem.training ? " training" : " inference") << " axis=" << problem.channel_axis
        << " eps=" << problem.eps;
  }
  for (int slot = 0; slot < kSlotCount; ++slot) {
    if (!problem.has(Slot(slot))) continue;
    out << " " << name(Slot(slot)) << "="
        << describe(problem.tensor[static_cast<std::size_t>(slot)]);
  }
  if (problem.dx_shares != kDx) out << " dx in place of " << name(problem.dx_shares);
  return out.str();
}

}  // namespace ops_test
