// BatchNorm forward on the CPU. Statistics in two passes, sum(x) and then sum((x - mean)^2), so
// that a mean far from 0 costs no digits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/batch_norm/cpu.cc"
#include <limits>

#include "cpu/target-inl.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/channel_norm/loops-inl.h"

NORMGRAD_TARGET_BEGIN
using namespace batch_norm_argument;  // NOLINT

class BatchNormOp {
 public:
  static constexpr ChannelArguments kArguments{kX, kX, kY};
  static constexpr int kPasses = 2;
  template <int kPass>
  using SumFormula = std::conditional_t<kPass == 0, BatchNormSum, BatchNormSquares>;

  BatchNormOp(const Plan& plan, void* const* data)
      : training_(plan.training),
        eps_(plan.eps),
        momentum_(plan.momentum),
        n_(static_cast<double>(plan.channel.n * plan.channel.l)),
        parameters_(plan, data) {}

  bool sums_wanted() const { return training_; }
  bool output_wanted() const { return parameters_.has(kY); }
  bool output_needs_sums() const { return training_; }

  void set_map(int pass, std::int64_t channel, const ChannelTotals& totals,
               ChannelMap<double>& map) const {
    if (pass == 0) return;  // sum(x) needs nothing
    map.mean = mean(channel, totals);
    map.mean_low = 0;
    if (pass == 1) return;
    if (training_) map.mean_low = rest_of_mean(totals[0], n_, map.mean);
    map.scale = rstd(channel, totals) * parameters_.load(kW, channel, 1);
    map.c1 = parameters_.load(kB, channel, 0);
  }

  void store(std::int64_t channel, const ChannelTotals& totals) const {
    if (!training_) return;
    if (n_ == 0) return store_statistics_of_nothing(channel);
    const double m = mean(channel, totals);
    const double running_mean = parameters_.load(kRunningMean, channel, 0);
    const double running_var = parameters_.load(kRunningVar, channel, 0);
    const double unbiased_var = totals[1] / (n_ - 1);
    parameters_.store(kMean, channel, m);
    parameters_.store(kRstd, channel, rstd(channel, totals));
    parameters_.store(kVar, channel, totals[1] / n_);
    parameters_.store(kRunningMean, channel, updated(running_mean, momentum_, m));
    parameters_.store(kRunningVar, channel, updated(running_var, momentum_, unbiased_var));
  }

  template <class Body>
  void with_output_formula(Body&& body) const {
    body(BatchNormY());
  }

 private:
  double mean(std::int64_t channel, const ChannelTotals& totals) const {
    return training_ ? totals[0] / n_ : parameters_.load(kMean, channel, 0);
  }
  double rstd(std::int64_t channel, const ChannelTotals& totals) const {
    return training_ ? rstd_of(totals[1] / n_, eps_) : parameters_.rstd(kRstd, kVar, channel);
  }
  void store_statistics_of_nothing(std::int64_t channel) const {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    parameters_.store(kMean, channel, 0);
    parameters_.store(kRstd, channel, kNaN);
    parameters_.store(kVar, channel, kNaN);
  }

  bool training_;
  double eps_;
  double momentum_;
  double n_;
  Parameters parameters_;
};

void batch_norm(const Plan& plan, void* const* data, std::byte* workspace) {
  run_channel_norm<BatchNormOp>(plan, data, workspace);
}

NORMGRAD_TARGET_END
NORMGRAD_CHOOSER(batch_norm)
