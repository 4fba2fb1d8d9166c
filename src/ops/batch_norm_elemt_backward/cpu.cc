// BatchNormElemtBackward on the CPU: every chunk of every channel by itself.
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

template <typename T>
class BatchNormElemtBackwardLoops {
 public:
  BatchNormElemtBackwardLoops(const Plan& plan, void* const* data, std::byte*)
      : parameters_(plan, data),
        loops_(plan.channel, data),
        n_(total_of(plan.argument[kCounts].tensor, data[kCounts])) {
    const bool in_place = data[kDx] == data[kDy] || data[kDx] == data[kX];
    stores_ =
        in_place ? Stores::kCached : stores_for(3 * loops_.elements() * std::int64_t{sizeof(T)});
  }

  void run() {
    if (loops_.elements() == 0) return;
    loops_.each_chunk([&](std::int64_t channel, std::int64_t chunk) NORMGRAD_ATTR {
      const double rstd = parameters_.load(kRstd, channel, 1);
      const ChannelGradients sums = batch_norm_gradients(
          {parameters_.load(kSumDy, channel, 0), parameters_.load(kSumDyXmu, channel, 0)}, rstd);
      const ChannelMap<double> map =
          batch_norm_map(sums, rstd, parameters_.load(kW, channel, 1), n_);
      loops_.template write_dx<true>(kDx, kDy, kX, channel, chunk,
                                     parameters_.load(kMean, channel, 0), map, stores_);
      end_stores(stores_);
    });
  }

 private:
  Parameters parameters_;
  ChannelLoops<T> loops_;
  double n_;
  Stores stores_;
};

void batch_norm_elemt_backward(const Plan& plan, void* const* data, std::byte* workspace) {
  run_loops<BatchNormElemtBackwardLoops>(kDy, plan, data, workspace);
}

NORMGRAD_TARGET_END
NORMGRAD_CHOOSER(batch_norm_elemt_backward)
