// BatchNormBackward on the CPU: the channel loops, and who does which channel when.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/batch_norm_backward/cpu.cc"
#include "cpu/target-inl.h"
#include "ops/batch_norm_backward/batch_norm_backward.h"
#include "ops/channel_norm/loops-inl.h"

NORMGRAD_TARGET_BEGIN
using namespace batch_norm_argument;  // NOLINT

template <typename T>
class BatchNormBackwardLoops {
 public:
  BatchNormBackwardLoops(const Plan& plan, void* const* data, std::byte* workspace)
      : plan_(plan), data_(data), loops_(plan.channel, data) {
    const auto address = reinterpret_cast<std::uintptr_t>(workspace);
    partials_ = reinterpret_cast<Partial*>(workspace + (16 - address % 16) % 16);
    const bool in_place = data[kDx] == data[kDy] || data[kDx] == data[kX];
    const std::int64_t tensors = plan.training ? 3 : 2;
    stores_ = in_place ? Stores::kCached
                       : stores_for(tensors * loops_.elements() * std::int64_t{sizeof(T)});
    needs_sums_ =
        plan.training ? wanted(kDx) || wanted(kDw) || wanted(kDb) : wanted(kDw) || wanted(kDb);
  }

  void run() {
    const ChannelSplit& split = plan_.channel;
    if (split.l == 0) {
      for (std::int64_t c = 0; c < split.channels; ++c) store_gradients(c, {0, 0});
    } else if (has_few_channels(split)) {
      run_chunks();
    } else {
      run_channels();
    }
  }

 private:
  using Partial = std::array<double, 2>;

  bool wanted(int argument) const { return plan_.argument[argument].tensor.present(); }

  double parameter(int argument, std::int64_t channel, double absent) const {
    const Tensor& tensor = plan_.argument[argument].tensor;
    if (!tensor.present()) return absent;
    return cpu::load_element(data_[argument], tensor.dtype, channel * tensor.strides[0]);
  }
  double mean(std::int64_t channel) const { return parameter(kMean, channel, 0); }
  double rstd(std::int64_t channel) const {
    if (wanted(kVar)) return 1.0 / std::sqrt(parameter(kVar, channel, 0) + plan_.eps);
    return parameter(kRstd, channel, 1);
  }

  void store_gradients(std::int64_t channel, ChannelGradients gradients) const {
    for (const auto& [argument, value] :
         {std::pair(kDw, gradients.dw), std::pair(kDb, gradients.db)}) {
      const Tensor& tensor = plan_.argument[argument].tensor;
      if (!tensor.present()) continue;
      cpu::store_element(data_[argument], tensor.dtype, channel * tensor.strides[0], value);
    }
  }

  // Reads the channel's parameters, then writes its weight gradients, which may be in their place.
  ChannelMap<double> finish_channel(std::int64_t channel, const Partial& sums) const {
    const double rstd_of_channel = rstd(channel);
    const double n = static_cast<double>(plan_.channel.n * plan_.channel.l);
    const ChannelGradients gradients = batch_norm_gradients(sums, rstd_of_channel);
    const ChannelMap<double> map =
        batch_norm_map(gradients, rstd_of_channel, parameter(kW, channel, 1), n);
    if (needs_sums_) store_gradients(channel, gradients);
    return map;
  }

  void write_dx(std::int64_t channel, std::int64_t chunk, double mean_of_channel,
                const ChannelMap<double>& map) const {
    if (plan_.training) {
      loops_.template write_dx<true>(kDx, kDy, kX, channel, chunk, mean_of_channel, map, stores_);
    } else {
      loops_.template write_dx<false>(kDx, kDy, kX, channel, chunk, mean_of_channel, map, stores_);
    }
  }

  // Every thread takes whole channels. The second sweep goes backwards: what the first one read
  // last is still in cache.
  void run_channels() {
    cpu::parallel_for(
        plan_.channel.channels, loops_.elements(), [&](std::int64_t channel) NORMGRAD_ATTR {
          const double mean_of_channel = mean(channel);
          const Partial sums =
              needs_sums_ ? loops_.channel_sums(kDy, kX, channel, mean_of_channel) : Partial{};
          const ChannelMap<double> map = finish_channel(channel, sums);
          if (!wanted(kDx)) return;
          for (std::int64_t chunk = loops_.chunks(); chunk-- > 0;)
            write_dx(channel, chunk, mean_of_channel, map);
          end_stores(stores_);
        });
  }

  // Few channels: threads share the chunks of all of them.
  void run_chunks() {
    const std::int64_t channels = plan_.channel.channels;
    const std::int64_t chunks = loops_.chunks();
    if (needs_sums_) {
      cpu::parallel_for(channels * chunks, loops_.elements(), [&](std::int64_t task) NORMGRAD_ATTR {
        const std::int64_t channel = task / chunks;
        partials_[task] = loops_.chunk_sums(kDy, kX, channel, task % chunks, mean(channel));
      });
    }
    ChannelMap<double> maps[kFewChannels];
    double means[kFewChannels];
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      means[channel] = mean(channel);
      cpu::Pairwise<2> sums;
      for (std::int64_t chunk = 0; needs_sums_ && chunk < chunks; ++chunk) {
        sums.add(partials_[channel * chunks + chunk]);
      }
      maps[channel] = finish_channel(channel, sums.finish());
    }
    if (!wanted(kDx)) return;
    cpu::parallel_for(channels * chunks, loops_.elements(), [&](std::int64_t task) NORMGRAD_ATTR {
      write_dx(task / chunks, task % chunks, means[task / chunks], maps[task / chunks]);
      end_stores(stores_);
    });
  }

  const Plan& plan_;
  void* const* data_;
  ChannelLoops<T> loops_;
  Partial* partials_;
  Stores stores_;
  bool needs_sums_;
};

void batch_norm_backward(const Plan& plan, void* const* data, std::byte* workspace) {
  switch (plan.argument[kDy].tensor.dtype) {
    case DataType::kF16:
      return BatchNormBackwardLoops<Half>(plan, data, workspace).run();
    case DataType::kBF16:
      return BatchNormBackwardLoops<BFloat>(plan, data, workspace).run();
    default:
      return BatchNormBackwardLoops<float>(plan, data, workspace).run();
  }
}

NORMGRAD_TARGET_END
NORMGRAD_CHOOSER(batch_norm_backward)
