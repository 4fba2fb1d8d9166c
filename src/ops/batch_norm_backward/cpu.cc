// BatchNormBackward on the CPU, and BatchNormElemtBackward, which is its second half.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/batch_norm_backward/cpu.cc"
#include <algorithm>

#include "cpu/target-inl.h"
#include "ops/batch_norm_backward/batch_norm_backward.h"
#include "ops/batch_norm_elemt_backward/cpu-inl.h"
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

  void set_maps(int pass, ChannelTile tile, TileTotals sums, ChannelMaps& maps) const {
    double mean[kChannelTile], rstd[kChannelTile], w[kChannelTile];
    const bool sums_alone = pass < kPasses;
    if (sums_alone || training_) parameters_.load(kMean, tile, 0, mean);
    if (sums_alone) {
      for (std::int64_t i = 0; i < tile.count; ++i) maps.set(i, {mean[i], 0, 0, 0, 0});
      return;
    }
    parameters_.load_rstd(kRstd, kVar, tile, rstd);
    parameters_.load(kW, tile, 1, w);
    if (!training_) {
      for (std::int64_t i = 0; i < tile.count; ++i) {
        maps.set(i, batch_norm_inference_map(rstd[i], w[i]));
      }
      return;
    }
    for (std::int64_t i = 0; i < tile.count; ++i) {
      maps.set(i,
               batch_norm_map(batch_norm_gradients(sums[i], rstd[i]), rstd[i], w[i], n_, mean[i]));
    }
  }

  void store(ChannelTile tile, TileTotals sums) const {
    double rstd[kChannelTile];
    if (n_ != 0) {
      parameters_.load_rstd(kRstd, kVar, tile, rstd);
    } else {
      std::fill_n(rstd, tile.count, 0.0);
    }
    double dw[kChannelTile], db[kChannelTile], sum_dy_xmu[kChannelTile];
    for (std::int64_t i = 0; i < tile.count; ++i) {
      const ChannelGradients gradients = batch_norm_gradients(sums[i], rstd[i]);
      dw[i] = gradients.dw;
      db[i] = gradients.db;
      sum_dy_xmu[i] = sums[i][1];
    }
    parameters_.store(kDw, tile, dw);
    parameters_.store(kDb, tile, db);
    parameters_.store(kSumDy, tile, db);
    parameters_.store(kSumDyXmu, tile, sum_dy_xmu);
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
NORMGRAD_CHOOSER(batch_norm_elemt_backward)
