#include "ops/fused.h"

#include <algorithm>
#include <cmath>

#include "ops/model.h"

namespace ops_test {
namespace {

constexpr Slot kOnlyFused[] = {kXSum, kXHatOut, kY2, kDx2, kX2, kXBias, kScale, kShift, kDsum};

bool columns_are_side_by_side(const Problem& p, const TensorSpec& spec) {
  std::int64_t expected = 1;
  for (std::size_t d = spec.shape.size();
       d-- > spec.shape.size() - static_cast<std::size_t>(p.row_axes);) {
    if (spec.shape[d] != 1 && spec.strides[d] != expected) return false;
    expected *= spec.shape[d];
  }
  return true;
}

// fma(a, b, c) in numbers of the arithmetic, all of which are rounded to it.
double fused_multiply_add(Arithmetic in, double a, double b, double c) {
  if (in == Arithmetic::kExact) return std::fma(a, b, c);
  return std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
}

TensorSpec numbers(Arithmetic in, const std::vector<std::int64_t>& shape) {
  return contiguous(in == Arithmetic::kFast ? Format::kF32 : Format::kF64, shape);
}

}  // namespace

bool is_packed(const Problem& p) {
  if (!is_row_norm(p.op)) return false;
  const auto has = [&](Slot slot) { return p.has(slot); };
  if (std::any_of(std::begin(kOnlyFused), std::end(kOnlyFused), has)) return true;
  for (const Slot slot : {kDx, kY, kDy, kX, kXHat}) {
    if (!p.has(slot)) continue;
    if (p.tensor[slot].format != p.data_format() || !columns_are_side_by_side(p, p.tensor[slot]))
      return true;
  }
  return false;
}

double spread_value(const Problem& p, Slot slot, std::size_t i) {
  const auto& data = p.tensor[p.big_input()].shape;
  const auto& shape = p.tensor[slot].shape;
  const std::size_t axes = static_cast<std::size_t>(p.row_axes), leading = data.size() - axes;
  std::size_t at = 0, step = 1;
  for (std::size_t d = data.size(); d-- > 0; i /= static_cast<std::size_t>(data[d])) {
    const std::size_t index = i % static_cast<std::size_t>(data[d]);
    // Which of its dims stands for dim d of the data.
    std::size_t own = d;
    if (shape.size() < data.size()) {
      if (d >= leading) {
        own = d + shape.size() - data.size();
      } else if (shape.size() == axes || d + 1 == leading) {
        continue;
      }
    }
    if (shape[own] != 1) at += index * step;
    step *= static_cast<std::size_t>(shape[own]);
  }
  return p.value[slot][at];
}

Values summed_x(const Problem& p, Arithmetic in) {
  Values x = p.value[p.has(kXHat) ? kXHat : kX];
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (p.has(kX2)) x[i] = fused_multiply_add(in, p.alpha, p.value[kX2][i], x[i]);
    if (p.has(kXBias)) x[i] = fused_multiply_add(in, 1, spread_value(p, kXBias, i), x[i]);
  }
  return x;
}

Problem without_fusion(const Problem& p, Arithmetic in) {
  Problem out = p;
  for (const Slot slot : kOnlyFused) out.tensor[slot] = {}, out.value[slot].clear();
  out.dx_shares = kDx;
  out.row_axes = 1;
  out.alpha = 1;
  out.row_block = 512;
  const RowExtents e = row_extents(p);
  const auto rows = static_cast<std::int64_t>(e.rows),
             columns = static_cast<std::int64_t>(e.columns);
  const Slot x = p.has(kXHat) ? kXHat : kX;
  out.value[x] = summed_x(p, in);
  for (std::size_t i = 0; i < out.value[kDy].size() && p.has(kScale); ++i) {
    out.value[kDy][i] =
        fused_multiply_add(in, out.value[kDy][i], spread_value(p, kScale, i), out.value[kDy][i]);
  }
  for (const Slot slot : {kDy, kX, kXHat}) {
    if (p.has(slot)) out.tensor[slot] = numbers(in, {rows, columns});
  }
  const Slot big = p.big_output();
  if (p.has(big) || p.has(kY2) || p.has(kDx2)) out.tensor[big] = numbers(in, {rows, columns});
  for (const Slot slot : {kDw, kDb, kW, kB}) {
    if (p.has(slot)) out.tensor[slot] = contiguous(p.tensor[slot].format, {columns});
  }
  for (const Slot slot : {kMean, kRstd, kSigma, kMeanOut, kRstdOut, kSigmaOut}) {
    if (p.has(slot)) out.tensor[slot] = contiguous(p.tensor[slot].format, {rows});
  }
  return out;
}

void add_fusion(const Problem& p, ExpectedOutputs& e) {
  using reference::magnitude;
  using reference::Quad;
  reference::Expected& y = e.output[p.big_output()];
  for (std::size_t i = 0; i < y.value.size(); ++i) {
    const bool forward = is_row_forward(p.op);
    const Quad factor = forward && p.has(kScale) ? 1 + Quad{spread_value(p, kScale, i)} : Quad{1};
    Quad term = 0;
    if (p.has(kShift)) term += spread_value(p, kShift, i);
    if (p.has(kDsum)) term += p.value[kDsum][i];
    y.set(i, y.value[i] * factor + term, y.scale[i] * magnitude(factor) + magnitude(term));
  }
  e.output[kY2] = y;
  e.output[kDx2] = y;
  for (std::size_t i = 0; i < y.value.size(); ++i) {
    e.output[kDx2].set(i, y.value[i] * p.alpha, y.scale[i] * magnitude(p.alpha));
  }
}

Outputs fused_model(const Problem& p, Arithmetic in) {
  const Problem between = without_fusion(p, in);
  const Outputs ordinary = run_model(between, in);
  Outputs out;
  for (const Slot slot : {kDw, kDb, kMeanOut, kRstdOut, kSigmaOut})
    out.bits[slot] = ordinary.bits[slot];
  const Values& x = between.value[between.has(kXHat) ? kXHat : kX];
  for (std::size_t i = 0; i < x.size(); ++i) store(p, out, kXSum, i, x[i]);
  if (p.has(kXHatOut)) {
    Problem plain = between;
    for (const Slot slot : {kW, kB}) plain.tensor[slot] = {}, plain.value[slot].clear();
    plain.tensor[kY] = numbers(in, between.tensor[kX].shape);
    const Values x_hat = values(plain, run_model(plain, in), kY);
    for (std::size_t i = 0; i < x_hat.size(); ++i) store(p, out, kXHatOut, i, x_hat[i]);
  }
  const Values y = values(between, ordinary, p.big_output());
  for (std::size_t i = 0; i < y.size(); ++i) {
    double v = y[i];
    if (is_row_forward(p.op) && p.has(kScale))
      v = fused_multiply_add(in, v, spread_value(p, kScale, i), v);
    if (p.has(kShift)) v = fused_multiply_add(in, 1, spread_value(p, kShift, i), v);
    if (p.has(kDsum)) v = fused_multiply_add(in, 1, p.value[kDsum][i], v);
    store(p, out, p.big_output(), i, v);
    store(p, out, kY2, i, v);
    store(p, out, kDx2, i, fused_multiply_add(in, p.alpha, v, -0.0));
  }
  return out;
}

}  // namespace ops_test
