// BatchNormBackward on the CPU.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/batch_norm_backward/cpu.cc"
#include "cpu/target-inl.h"
#include "ops/batch_norm_backward/batch_norm_backward.h"
#include "ops/channel_norm/loops-inl.h"

NORMGRAD_TARGET_BEGIN
using namespace batch_norm_backward_argument;  // NOLINT

class BatchNormBackwardOp {
 public:
  static constexpr ChannelArguments kArguments{kDy, kX, kDx};
  static constexpr int kPasses = 1;
  template <int>
  using SumFormula = BatchNormGradientSums;

  BatchNormBackwardOp(const Plan& plan, void* const* data)
      : training_(plan.training),
        n_(static_cast<double>(plan.channel.n * plan.channel.l)),
        parameters_(plan, data) {
    sums_wanted_ = plan.training && output_wanted();
    for (const int output : {kDw, kDb, kSumDy, kSumDyXmu}) sums_wanted_ |= parameters_.has(output);
  }

  bool sums_wanted() const { return sums_wanted_; }
  bool output_wanted() const { return parameters_.has(kDx); }
  bool output_needs_sums() const { return training_; }

  void set_map(int pass, std::int64_t channel, const ChannelTotals& sums,
               ChannelMap<double>& map) const {
    map.mean = parameters_.load(kMean, channel, 0);
    map.mean_low = 0;
    if (pass < kPasses) return;
    const double rstd = parameters_.rstd(kRstd, kVar, channel);
    set_gradients(batch_norm_gradients(sums, rstd), rstd, parameters_.load(kW, channel, 1), n_,
                  map);
  }

  void store(std::int64_t channel, const ChannelTotals& sums) const {
    const ChannelGradients gradients =
        batch_norm_gradients(sums, n_ == 0 ? 0 : parameters_.rstd(kRstd, kVar, channel));
    parameters_.store(kDw, channel, gradients.dw);
    parameters_.store(kDb, channel, gradients.db);
    parameters_.store(kSumDy, channel, sums[0]);
    parameters_.store(kSumDyXmu, channel, sums[1]);
  }

  template <class Body>
  void with_output_formula(Body&& body) const {
    training_ ? body(BatchNormTrainingDx()) : body(BatchNormInferenceDx());
  }

 private:
  bool training_;
  bool sums_wanted_;
  double n_;
  Parameters parameters_;
};

void batch_norm_backward(const Plan& plan, void* const* data, std::byte* workspace) {
  run_channel_norm<BatchNormBackwardOp>(plan, data, workspace);
}

NORMGRAD_TARGET_END
NORMGRAD_CHOOSER(batch_norm_backward)
