#include "ops/channel_forward.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/channel_call.h"
#include "ops/folds.h"
#include "ops/statistics.h"

namespace normgrad {
namespace {

using kernels::Form;
using kernels::RowMap;

class ForwardCall final : public ChannelCall {
  using enum Arg;

 public:
  ForwardCall(const PlanBody& plan_body, void* const* data, std::byte* workspace)
      : ChannelCall(plan_body,
                    {.form = Form::kX,
                     .g = index_of(kX),
                     .x = index_of(kX),
                     .out = index_of(kY),
                     .computes_sums = plan_body.training,
                     .wants_sums = plan_body.training},
                    data, workspace),
        n_(static_cast<double>(split.n * split.l)) {}

  void begin(std::int64_t begin, std::int64_t end) const override {
    std::fill(space.exact + begin, space.exact + end, fast.exact);
    if (plan.training) return;
    const bool of_var = parameters.has(index_of(kVar));
    each_batch(begin, end, [&](std::int64_t first, std::int64_t last) {
      ChannelBatch means, rests, r;
      load(kMean, first, last, 0, means);
      load(kMeanRest, first, last, 0, rests);
      load(of_var ? kVar : kRstd, first, last, 1, r);
      for (std::int64_t i = 0; of_var && i < last - first; ++i) r[i] = rstd_of(r[i], plan.eps);
      compute_maps(first, last, means, rests, r);
    });
  }

  void set_maps(std::int64_t begin, std::int64_t end) const override {
    const double share = 1 / n_;
    each_batch(begin, end, [&](std::int64_t first, std::int64_t last) {
      ChannelBatch means, rests;
      for (std::int64_t c = first; c < last; ++c) {
        space.r[c] = rstd_of(squares_of(c) * share, plan.eps);
      }
      if (!wants_out) return;
      for (std::int64_t c = first, i = 0; c < last; ++c, ++i) {
        const double sum = space.sums[c].first;
        means[i] = sum / n_;
        rests[i] = rest_of_mean(sum, n_, means[i]);
      }
      compute_maps(first, last, means, rests, space.r + first);
    });
  }

  void store_results(std::int64_t begin, std::int64_t end) const override {
    const double share = 1 / n_, unbiased_share = 1 / (n_ - 1);
    each_batch(begin, end, [&](std::int64_t first, std::int64_t last) {
      const std::int64_t count = last - first;
      const double* r = space.r + first;
      ChannelBatch sums, squares, squares_of_x, means, vars, old;
      for (std::int64_t i = 0; i < count; ++i) {
        sums[i] = space.sums[first + i].first;
        squares[i] = squares_of(first + i);
        means[i] = sums[i] / n_;
        vars[i] = squares[i] * share;
      }
      store(kMean, first, last, means);
      store(kRstd, first, last, r);
      store(kVar, first, last, vars);
      store(kSum, first, last, sums);
      store(kSquares, first, last, squares);
      // sum((x - mean)^2) + n*mean^2, all of one sign.
      for (std::int64_t i = 0; i < count; ++i) squares_of_x[i] = squares[i] + sums[i] * means[i];
      store(kSumOfSquares, first, last, squares_of_x);
      if (parameters.has(index_of(kRunningMean))) {
        load(kRunningMean, first, last, 0, old);
        for (std::int64_t i = 0; i < count; ++i) old[i] = updated(old[i], plan.momentum, means[i]);
        store(kRunningMean, first, last, old);
      }
      if (parameters.has(index_of(kRunningVar))) {
        load(kRunningVar, first, last, 0, old);
        for (std::int64_t i = 0; i < count; ++i) {
          old[i] = updated(old[i], plan.momentum, squares[i] * unbiased_share);
        }
        store(kRunningVar, first, last, old);
      }
    });
  }

  bool sums_are_bad(std::int64_t channel) const override {
    const ChannelSums& sums = space.sums[channel];
    return !std::isfinite(sums.first) || !has_squares(sums.second, plan.eps);
  }

  void finish_empty() const override {
    if (!plan.training) return;
    each_batch(0, split.channels, [&](std::int64_t first, std::int64_t last) {
      ChannelBatch zeros{}, nans;
      std::fill_n(nans, kChannelBatch, std::numeric_limits<double>::quiet_NaN());
      for (const Arg arg : {kMean, kSum, kSquares, kSumOfSquares}) store(arg, first, last, zeros);
      store(kRstd, first, last, nans);
      store(kVar, first, last, nans);
    });
  }

 private:
  void load(Arg arg, std::int64_t begin, std::int64_t end, double absent, double* to) const {
    parameters.load(index_of(arg), begin, end, absent, to);
  }
  void store(Arg arg, std::int64_t begin, std::int64_t end, const double* from) const {
    parameters.store(index_of(arg), begin, end, from);
  }
  // What rounding may leave is not below 0; a NaN stays one.
  double squares_of(std::int64_t channel) const {
    const double squares = space.sums[channel].second;
    return squares < 0 ? 0 : squares;
  }
  void compute_maps(std::int64_t begin, std::int64_t end, const double* means, const double* rests,
                    const double* r) const {
    ChannelBatch w, b;
    load(kW, begin, end, 1, w);
    load(kB, begin, end, 0, b);
    for (std::int64_t c = begin, i = 0; c < end; ++c, ++i) {
      RowMap& map = space.maps[c];
      set_forward_map(means[i], rests[i], r[i], w[i], b[i], map);
      space.exact[c] |= !map.round(map.r) || !kernels::in_range(map.constant());
    }
  }

  const double n_;  // elements of a channel
};

}  // namespace

Status plan_channel_forward(PlanBody& plan) { return reserve_channel_space(plan, plan.training); }

void run_channel_forward(const PlanBody& plan, void* const* data, std::byte* workspace) {
  ForwardCall(plan, data, workspace).run();
}

}  // namespace normgrad
