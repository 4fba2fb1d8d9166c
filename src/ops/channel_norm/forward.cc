// BatchNorm forward on the CPU. Statistics in two passes, sum(x) and then sum((x - mean)^2), so
// that a mean far from 0 costs no digits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/channel_norm/forward.cc"
#include "ops/forward.h"

#include <limits>

#include "kernels/target-inl.h"
#include "ops/channel_norm/loops-inl.h"

NORMGRAD_TARGET_BEGIN

class BatchNormOp {
  using enum Arg;

 public:
  static constexpr ChannelArguments kArguments{index_of(kX), index_of(kX), index_of(kY)};
  static constexpr int kPasses = 2;
  template <int kPass>
  using SumFormula = std::conditional_t<kPass == 0, BatchNormSum, BatchNormSquares>;

  BatchNormOp(const PlanBody& plan, void* const* data)
      : training_(plan.training),
        eps_(plan.eps),
        momentum_(plan.momentum),
        n_(static_cast<double>(plan.channel.n * plan.channel.l)),
        parameters_(plan, data) {}

  bool sums_wanted() const { return training_; }
  bool output_wanted() const { return parameters_.has(kY); }
  bool output_needs_sums() const { return training_; }

  void set_maps(int pass, ChannelTile tile, TileTotals totals, ChannelMaps& maps) const {
    if (pass == 0) {  // sum(x) needs nothing
      for (std::int64_t i = 0; i < tile.count; ++i) maps.set(i, {});
      return;
    }
    double mean[kChannelTile];
    load_mean(tile, totals, mean);
    if (pass == 1) {
      for (std::int64_t i = 0; i < tile.count; ++i) maps.set(i, {mean[i], 0, 0, 0, 0});
      return;
    }
    double rstd[kChannelTile], w[kChannelTile], b[kChannelTile];
    load_rstd(tile, totals, rstd);
    parameters_.load(kW, tile, 1, w);
    parameters_.load(kB, tile, 0, b);
    for (std::int64_t i = 0; i < tile.count; ++i) {
      const double rest = training_ ? rest_of_mean(totals[i][0], n_, mean[i])
                                    : parameters_.load(kMeanRest, tile.first + i, 0);
      maps.set(i, {mean[i], rest, rstd[i] * w[i], b[i], 0});
    }
  }

  void store(ChannelTile tile, TileTotals totals) const {
    if (!training_) return;
    if (n_ == 0) return store_statistics_of_nothing(tile);
    double mean[kChannelTile], rstd[kChannelTile];
    load_mean(tile, totals, mean);
    load_rstd(tile, totals, rstd);
    for (std::int64_t i = 0; i < tile.count; ++i) {
      const std::int64_t channel = tile.first + i;
      const double running_mean = parameters_.load(kRunningMean, channel, 0);
      const double running_var = parameters_.load(kRunningVar, channel, 0);
      const double unbiased_var = totals[i][1] / (n_ - 1);
      parameters_.store(kMean, channel, mean[i]);
      parameters_.store(kRstd, channel, rstd[i]);
      parameters_.store(kVar, channel, totals[i][1] / n_);
      parameters_.store(kSum, channel, totals[i][0]);
      parameters_.store(kSquares, channel, totals[i][1]);
      parameters_.store(kRunningMean, channel, updated(running_mean, momentum_, mean[i]));
      parameters_.store(kRunningVar, channel, updated(running_var, momentum_, unbiased_var));
    }
  }

  template <class Body>
  void with_output_formula(Body&& body) const {
    body(BatchNormY());
  }

 private:
  void load_mean(ChannelTile tile, TileTotals totals, double* to) const {
    if (!training_) return parameters_.load(kMean, tile, 0, to);
    for (std::int64_t i = 0; i < tile.count; ++i) to[i] = totals[i][0] / n_;
  }
  void load_rstd(ChannelTile tile, TileTotals totals, double* to) const {
    if (!training_) return parameters_.load_rstd(kRstd, kVar, tile, to);
    for (std::int64_t i = 0; i < tile.count; ++i) to[i] = rstd_of(totals[i][1] / n_, eps_);
  }
  void store_statistics_of_nothing(ChannelTile tile) const {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    for (std::int64_t c = tile.first; c < tile.first + tile.count; ++c) {
      parameters_.store(kMean, c, 0);
      parameters_.store(kRstd, c, kNaN);
      parameters_.store(kVar, c, kNaN);
    }
  }

  bool training_;
  double eps_;
  double momentum_;
  double n_;
  Parameters parameters_;
};

void batch_norm(const PlanBody& plan, void* const* data, std::byte* workspace) {
  run_channel_norm<BatchNormOp>(plan, data, workspace);
}

NORMGRAD_TARGET_END
NORMGRAD_CHOOSER(batch_norm)
