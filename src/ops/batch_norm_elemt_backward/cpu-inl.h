// BatchNormElemtBackward on the CPU. Compiled with BatchNormBackward (its cpu.cc), whose dx it writes by the same loops.
#if defined(NORMGRAD_OPS_BATCH_NORM_ELEMT_BACKWARD_CPU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_BATCH_NORM_ELEMT_BACKWARD_CPU_INL_H
#undef NORMGRAD_OPS_BATCH_NORM_ELEMT_BACKWARD_CPU_INL_H
#else
#define NORMGRAD_OPS_BATCH_NORM_ELEMT_BACKWARD_CPU_INL_H
#endif

#include "ops/batch_norm_elemt_backward/batch_norm_elemt_backward.h"
#include "ops/channel_norm/loops-inl.h"

NORMGRAD_TARGET_BEGIN

// The sum of all elements, in logical order: the number of elements per channel on all devices.
inline double total_of(const Tensor& tensor, const void* data) {
  std::int64_t elements = 1;
  for (int d = 0; d < tensor.rank; ++d) elements *= tensor.shape[d];
  double total = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    std::int64_t offset = 0;
    for (std::int64_t d = tensor.rank - 1, left = i; d >= 0; left /= tensor.shape[d--]) {
      offset += left % tensor.shape[d] * tensor.strides[d];
    }
    total += cpu::load_element(data, tensor.dtype, offset);
  }
  return total;
}

// Not its names themselves, of which BatchNormBackward has some too.
namespace elemt = batch_norm_elemt_backward_argument;

class BatchNormElemtBackwardOp {
 public:
  static constexpr ChannelArguments kArguments{elemt::kDy, elemt::kX, elemt::kDx};
  static constexpr int kPasses = 0;

  BatchNormElemtBackwardOp(const Plan& plan, void* const* data)
      : n_(total_of(plan.argument[elemt::kCounts].tensor, data[elemt::kCounts])),
        parameters_(plan, data) {}

  bool sums_wanted() const { return false; }
  bool output_wanted() const { return true; }
  bool output_needs_sums() const { return false; }

  void set_maps(int, ChannelTile tile, TileTotals, ChannelMaps& maps) const {
    double mean[kChannelTile], rstd[kChannelTile], w[kChannelTile];
    double sum_dy[kChannelTile], sum_dy_xmu[kChannelTile];
    parameters_.load(elemt::kMean, tile, 0, mean);
    parameters_.load(elemt::kRstd, tile, 1, rstd);
    parameters_.load(elemt::kW, tile, 1, w);
    parameters_.load(elemt::kSumDy, tile, 0, sum_dy);
    parameters_.load(elemt::kSumDyXmu, tile, 0, sum_dy_xmu);
    for (std::int64_t i = 0; i < tile.count; ++i) {
      const ChannelGradients gradients = batch_norm_gradients({sum_dy[i], sum_dy_xmu[i]}, rstd[i]);
      maps.set(i, batch_norm_map(gradients, rstd[i], w[i], n_, mean[i]));
    }
  }
  void store(ChannelTile, TileTotals) const {}

  template <class Body>
  void with_output_formula(Body&& body) const {
    body(BatchNormTrainingDx());
  }

 private:
  double n_;
  Parameters parameters_;
};

void batch_norm_elemt_backward(const Plan& plan, void* const* data, std::byte* workspace) {
  run_channel_norm<BatchNormElemtBackwardOp>(plan, data, workspace);
}

NORMGRAD_TARGET_END
#endif
