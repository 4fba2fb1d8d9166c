#include "ops/channel_call.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/cache.h"
#include "kernels/element.h"
#include "ops/folds.h"
#include "ops/statistics.h"

namespace normgrad {
namespace {

using kernels::kChain;
using kernels::RowMap;

// Rows of pixels: of their sums' blocks at least and at most, and how many blocks there are if that lets them.
constexpr std::int64_t kLeastBlockRows = 32, kMostBlockRows = 32768, kBlocks = 64;
// Channels whose parameters are brought together at once.
constexpr std::int64_t kBatch = 64;
using Batch = double[kBatch];

template <class Body>
void each_batch(std::int64_t begin, std::int64_t end, Body&& body) {
  for (; begin < end; begin += kBatch) body(begin, std::min(end, begin + kBatch));
}

// y = w*x_hat + b with x_hat = (x - mean)*r, all of a channel. As for LayerNorm, with w outside the sums: over the n
// elements that share mean and r
//   dx = w*r*(dy - mean(dy) - x_hat*mean(dy*x_hat))     training: mean and r depend on x
//   dx = w*r*dy                                         inference: they are constants
//   dw = r*sum(dy*(x - mean)), db = sum(dy)
double weight_gradient(const GradientSums& sums, double r) { return r * sums.dy_xmu; }
RowMap training_map(const GradientSums& sums, double mean, double r, double w, double n) {
  return {.mean = mean, .scale = w * r, .c1 = sums.dy / n, .c2 = r * weight_gradient(sums, r) / n};
}
// Its mean is for the sums.
RowMap inference_map(double mean, double r, double w) { return {.mean = mean, .scale = w * r}; }

}  // namespace

PixelRows::PixelRows(const ChannelSplit& split) {
  const std::int64_t channels = split.channels, all = split.n * split.l;
  const std::int64_t whole_steps = 32 / std::gcd(channels, std::int64_t{32});
  if (channels <= 2048 / whole_steps && all >= 8 * whole_steps) {
    pixels = whole_steps;
    while (channels * pixels * 2 <= 512 && all >= 2 * pixels * 64) pixels *= 2;
  }
  columns = channels * pixels;
  pitch = kernels::padded(columns);
  rows = all / pixels;
  part_columns = all % pixels * channels;
  const std::int64_t share = ceil_div(ceil_div(rows, kBlocks), kChain) * kChain;
  block_rows = std::clamp(share, kLeastBlockRows, kMostBlockRows);
  blocks = std::max<std::int64_t>(1, ceil_div(rows, block_rows));
}

ChannelSpace::ChannelSpace(const PlanBody& plan, const ChannelRoles& roles, void* at) : cut(at) {
  const ChannelSplit& split = plan.channel;
  if (split.l == 0 || split.n == 0) return;
  const bool computes_sums = roles.given_sum_dy == kNoArgument;
  maps = cut.take<RowMap>(split.channels);
  r = cut.take<double>(split.channels);
  sums = cut.take<GradientSums>(split.channels);
  exact = cut.take<bool>(split.channels);
  if (!split.by_pixels) {
    const Checked chunks = Checked(split.n_chunks) * split.l_chunks;
    if (computes_sums) partials = cut.take<double>(chunks * split.channels * 2);
    return;
  }
  const PixelRows rows(split);
  columns = cut.take<float>(Checked(kernels::kChannelMapRows) * rows.pitch);
  if (computes_sums) partials = cut.take<double>(Checked(rows.blocks) * 2 * rows.pitch);
}

ChannelCall::ChannelCall(const PlanBody& plan, const ChannelRoles& roles, double count,
                         void* const* data, std::byte* workspace)
    : split(plan.channel),
      space(plan, roles, workspace),
      dtype(plan.argument[roles.dy].tensor.dtype),
      size(size_of(dtype)),
      fast(kernels::kernels_for(dtype, plan.arithmetic)),
      exact(kernels::kernels_for(dtype, Arithmetic::kExact)),
      elements(split.l * split.n * split.channels),  // no product is larger than the last, or 0
      wants_dx(plan.argument[roles.dx].tensor.present()),
      wants_sums([&] {
        if (roles.given_sum_dy != kNoArgument) return false;
        bool wanted = plan.training && wants_dx;
        for (const int role : {roles.dw, roles.db, roles.sum_dy, roles.sum_dy_xmu}) {
          wanted |= role != kNoArgument && plan.argument[role].tensor.present();
        }
        return wanted;
      }()),
      dx_with_sums(wants_dx && wants_sums && !plan.training && data[roles.dx] != data[roles.dy] &&
                   data[roles.dx] != data[roles.x]),
      streams(wants_dx && data[roles.dx] != data[roles.dy] && data[roles.dx] != data[roles.x] &&
              kernels::is_worth_streaming(3 * elements * size)),
      is_far(kernels::is_far_away((wants_dx ? 3 : 2) * elements * size)),
      form(plan.training ? kernels::Form::kGX : kernels::Form::kG),
      dy(split, roles.dy, data[roles.dy], size),
      x(split, roles.x, data[roles.x], size),
      dx(split, roles.dx, data[roles.dx], size),
      plan_(plan),
      roles_(roles),
      data_(data),
      count_(count) {}

bool ChannelCall::has(int role) const {
  return role != kNoArgument && plan_.argument[role].tensor.present();
}

// The type is asked for once.
void ChannelCall::numbers(int role, std::int64_t begin, std::int64_t end, double absent,
                          double* to) const {
  if (!has(role)) {
    std::fill_n(to, end - begin, absent);
    return;
  }
  const Tensor& tensor = plan_.argument[role].tensor;
  const std::int64_t stride = tensor.strides[0];
  kernels::with_element_type(tensor.dtype, [&](auto* type) {
    const auto* from = static_cast<decltype(type)>(data_[role]) + begin * stride;
    for (std::int64_t i = 0; i < end - begin; ++i) {
      to[i] = kernels::to_double(kernels::read(from + i * stride));
    }
  });
}
void ChannelCall::put(int role, std::int64_t begin, std::int64_t end, const double* from) const {
  if (!has(role)) return;
  const Tensor& tensor = plan_.argument[role].tensor;
  const std::int64_t stride = tensor.strides[0];
  kernels::with_element_type(tensor.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    T* to = static_cast<T*>(data_[role]) + begin * stride;
    for (std::int64_t i = 0; i < end - begin; ++i) {
      kernels::write(to + i * stride, kernels::round_to<T>(from[i]));
    }
  });
}

void ChannelCall::begin_maps(std::int64_t begin, std::int64_t end) const {
  const bool of_var = has(roles_.var);
  each_batch(begin, end, [&](std::int64_t first, std::int64_t last) {
    Batch means, spreads;
    numbers(roles_.mean, first, last, 0, means);
    numbers(of_var ? roles_.var : roles_.rstd, first, last, 1, spreads);
    for (std::int64_t c = first; c < last; ++c) {
      space.maps[c] = {.mean = means[c - first]};
      space.r[c] = of_var ? rstd_of(spreads[c - first], plan_.eps) : spreads[c - first];
      space.exact[c] = fast.exact;
    }
  });
  if (roles_.given_sum_dy != kNoArgument) {
    each_batch(begin, end, [&](std::int64_t first, std::int64_t last) {
      Batch sum_dy, sum_dy_xmu;
      numbers(roles_.given_sum_dy, first, last, 0, sum_dy);
      numbers(roles_.given_sum_dy_xmu, first, last, 0, sum_dy_xmu);
      for (std::int64_t c = first; c < last; ++c) {
        space.sums[c] = {sum_dy[c - first], sum_dy_xmu[c - first]};
      }
    });
  }
  if (wants_dx && !(plan_.training && wants_sums)) set_maps(begin, end);
}

void ChannelCall::set_maps(std::int64_t begin, std::int64_t end) const {
  each_batch(begin, end, [&](std::int64_t first, std::int64_t last) {
    Batch weights;
    numbers(roles_.w, first, last, 1, weights);
    for (std::int64_t c = first; c < last; ++c) {
      const double mean = space.maps[c].mean, r = space.r[c], w = weights[c - first];
      RowMap& map = space.maps[c];
      map = plan_.training ? training_map(space.sums[c], mean, r, w, count_)
                           : inference_map(mean, r, w);
      const bool has_mean = !plan_.training || std::abs(mean) <= 1e30;  // in two parts of f32
      space.exact[c] |= !map.round(r) || !has_mean;
    }
  });
}

bool ChannelCall::sums_are_bad(std::int64_t channel) const {
  const GradientSums& sums = space.sums[channel];
  return !std::isfinite(sums.dy) || !std::isfinite(sums.dy_xmu) ||
         !kernels::in_range(space.r[channel]);
}

void ChannelCall::store_sums(std::int64_t begin, std::int64_t end) const {
  each_batch(begin, end, [&](std::int64_t first, std::int64_t last) {
    Batch dw, sum_dy, sum_dy_xmu;
    for (std::int64_t c = first; c < last; ++c) {
      dw[c - first] = weight_gradient(space.sums[c], space.r[c]);
      sum_dy[c - first] = space.sums[c].dy;
      sum_dy_xmu[c - first] = space.sums[c].dy_xmu;
    }
    put(roles_.dw, first, last, dw);
    put(roles_.db, first, last, sum_dy);
    put(roles_.sum_dy, first, last, sum_dy);
    put(roles_.sum_dy_xmu, first, last, sum_dy_xmu);
  });
}

void ChannelCall::store_empty_sums() const {
  each_batch(0, split.channels, [&](std::int64_t first, std::int64_t last) {
    const Batch zeros{};
    for (const int role : {roles_.dw, roles_.db, roles_.sum_dy, roles_.sum_dy_xmu}) {
      put(role, first, last, zeros);
    }
  });
}

}  // namespace normgrad
