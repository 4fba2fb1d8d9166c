#include "ops/channel_backward.h"

#include <algorithm>
#include <cmath>

#include "ops/channel_call.h"
#include "ops/folds.h"
#include "ops/statistics.h"

namespace normgrad {
namespace {

using kernels::Form;
using kernels::RowMap;

// y = w*x_hat + b with x_hat = (x - mean)*r, all of a channel. As for LayerNorm, with w outside the sums: over the n
// elements that share mean and r
//   dx = w*r*(dy - mean(dy) - x_hat*mean(dy*x_hat))     training: mean and r depend on x
//   dx = w*r*dy                                         inference: they are constants
//   dw = r*sum(dy*(x - mean)), db = sum(dy)
double weight_gradient(const ChannelSums& sums, double r) { return r * sums.second; }
// A map has its mean already, in inference for the sums. In place: a copy would wait for its parts to be stored.
void set_training_map(const ChannelSums& sums, double r, double w, double n, RowMap& map) {
  map.scale = w * r, map.c1 = sums.first / n, map.c2 = r * weight_gradient(sums, r) / n;
}
void set_inference_map(double r, double w, RowMap& map) { map.scale = w * r; }

bool computes_sums(const ChannelRoles& roles) { return roles.given_sum_dy == kNoArgument; }

bool wants_sums(const PlanBody& plan, const ChannelRoles& roles) {
  if (!computes_sums(roles)) return false;
  bool wanted = plan.training && plan.argument[roles.dx].tensor.present();
  for (const int role : {roles.dw, roles.db, roles.sum_dy, roles.sum_dy_xmu}) {
    wanted |= role != kNoArgument && plan.argument[role].tensor.present();
  }
  return wanted;
}

class GradientCall final : public ChannelCall {
 public:
  GradientCall(const PlanBody& plan_body, const ChannelRoles& roles, double count,
               void* const* data, std::byte* workspace)
      : ChannelCall(plan_body,
                    {.form = plan_body.training ? Form::kGX : Form::kG,
                     .g = roles.dy,
                     .x = roles.x,
                     .out = roles.dx,
                     .computes_sums = computes_sums(roles),
                     .wants_sums = normgrad::wants_sums(plan_body, roles)},
                    data, workspace),
        roles_(roles),
        count_(count) {}

  void begin(std::int64_t begin, std::int64_t end) const override {
    const bool of_var = parameters.has(roles_.var);
    each_batch(begin, end, [&](std::int64_t first, std::int64_t last) {
      ChannelBatch means, spreads;
      parameters.load(roles_.mean, first, last, 0, means);
      parameters.load(of_var ? roles_.var : roles_.rstd, first, last, 1, spreads);
      for (std::int64_t c = first; c < last; ++c) {
        space.maps[c] = {.mean = means[c - first]};
        space.r[c] = of_var ? rstd_of(spreads[c - first], plan.eps) : spreads[c - first];
        space.exact[c] = fast.exact;
      }
    });
    if (!computes_sums(roles_)) {
      each_batch(begin, end, [&](std::int64_t first, std::int64_t last) {
        ChannelBatch sum_dy, sum_dy_xmu;
        parameters.load(roles_.given_sum_dy, first, last, 0, sum_dy);
        parameters.load(roles_.given_sum_dy_xmu, first, last, 0, sum_dy_xmu);
        for (std::int64_t c = first; c < last; ++c) {
          space.sums[c] = {sum_dy[c - first], sum_dy_xmu[c - first]};
        }
      });
    }
    if (!(plan.training && wants_sums)) compute_maps(begin, end);
  }

  void set_maps(std::int64_t begin, std::int64_t end) const override {
    if (plan.training) compute_maps(begin, end);
  }

  void store_results(std::int64_t begin, std::int64_t end) const override {
    each_batch(begin, end, [&](std::int64_t first, std::int64_t last) {
      ChannelBatch dw, sum_dy, sum_dy_xmu;
      for (std::int64_t c = first; c < last; ++c) {
        dw[c - first] = weight_gradient(space.sums[c], space.r[c]);
        sum_dy[c - first] = space.sums[c].first;
        sum_dy_xmu[c - first] = space.sums[c].second;
      }
      parameters.store(roles_.dw, first, last, dw);
      parameters.store(roles_.db, first, last, sum_dy);
      parameters.store(roles_.sum_dy, first, last, sum_dy);
      parameters.store(roles_.sum_dy_xmu, first, last, sum_dy_xmu);
    });
  }

  bool sums_are_bad(std::int64_t channel) const override {
    const ChannelSums& sums = space.sums[channel];
    return !std::isfinite(sums.first) || !std::isfinite(sums.second) ||
           !kernels::in_range(space.r[channel]);
  }

  void finish_empty() const override {
    each_batch(0, split.channels, [&](std::int64_t first, std::int64_t last) {
      const ChannelBatch zeros{};
      for (const int role : {roles_.dw, roles_.db, roles_.sum_dy, roles_.sum_dy_xmu}) {
        parameters.store(role, first, last, zeros);
      }
    });
  }

 private:
  void compute_maps(std::int64_t begin, std::int64_t end) const {
    if (!wants_out) return;
    each_batch(begin, end, [&](std::int64_t first, std::int64_t last) {
      ChannelBatch weights;
      parameters.load(roles_.w, first, last, 1, weights);
      for (std::int64_t c = first; c < last; ++c) {
        RowMap& map = space.maps[c];
        const double r = space.r[c], w = weights[c - first];
        plan.training ? set_training_map(space.sums[c], r, w, count_, map)
                      : set_inference_map(r, w, map);
        const bool has_mean = !plan.training || std::abs(map.mean) <= 1e30;  // in two parts of f32
        space.exact[c] |= !map.round(r) || !has_mean;
      }
    });
  }

  const ChannelRoles& roles_;
  const double count_;
};

}  // namespace

Status plan_channel_backward(PlanBody& plan, const ChannelRoles& roles) {
  return reserve_channel_space(plan, computes_sums(roles));
}

void run_channel_backward(const PlanBody& plan, const ChannelRoles& roles, double count,
                          void* const* data, std::byte* workspace) {
  GradientCall(plan, roles, count, data, workspace).run();
}

}  // namespace normgrad
