// BatchNormElemtBackward on the CPU.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/batch_norm_elemt_backward/cpu.cc"
#include "cpu/target-inl.h"
#include "ops/batch_norm_elemt_backward/batch_norm_elemt_backward.h"
#include "ops/channel_norm/loops-inl.h"

NORMGRAD_TARGET_BEGIN
using namespace batch_norm_elemt_backward_argument;  // NOLINT

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

class BatchNormElemtBackwardOp {
 public:
  static constexpr ChannelArguments kArguments{kDy, kX, kDx};
  static constexpr int kPasses = 0;

  BatchNormElemtBackwardOp(const Plan& plan, void* const* data)
      : n_(total_of(plan.argument[kCounts].tensor, data[kCounts])), parameters_(plan, data) {}

  bool sums_wanted() const { return false; }
  bool output_wanted() const { return true; }
  bool output_needs_sums() const { return false; }

  void set_map(int, std::int64_t channel, const ChannelTotals&, ChannelMap<double>& map) const {
    map.mean = parameters_.load(kMean, channel, 0);
    map.mean_low = 0;
    const double rstd = parameters_.load(kRstd, channel, 1);
    const ChannelTotals sums{parameters_.load(kSumDy, channel, 0),
                             parameters_.load(kSumDyXmu, channel, 0)};
    set_gradients(batch_norm_gradients(sums, rstd), rstd, parameters_.load(kW, channel, 1), n_,
                  map);
  }
  void store(std::int64_t, const ChannelTotals&) const {}

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
NORMGRAD_CHOOSER(batch_norm_elemt_backward)
