// BatchNormBackward on the CPU: the channel loops, and who does which channel when.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/batch_norm_backward/cpu.cc"
#include "cpu/target-inl.h"
#include "ops/batch_norm_backward/batch_norm_backward.h"
#include "ops/channel_norm/loops-inl.h"

NORMGRAD_TARGET_BEGIN
using namespace batch_norm_backward_argument;  // NOLINT

template <typename T>
class BatchNormBackwardLoops {
 public:
  BatchNormBackwardLoops(const Plan& plan, void* const* data, std::byte* workspace)
      : plan_(plan), workspace_(workspace), parameters_(plan, data), loops_(plan.channel, data) {
    const bool in_place = data[kDx] == data[kDy] || data[kDx] == data[kX];
    const std::int64_t tensors = plan.training ? 3 : 2;
    stores_ = in_place ? Stores::kCached
                       : stores_for(tensors * loops_.elements() * std::int64_t{sizeof(T)});
    needs_sums_ = plan.training && parameters_.has(kDx);
    for (const int output : {kDw, kDb, kSumDy, kSumDyXmu}) needs_sums_ |= parameters_.has(output);
  }

  void run() {
    const ChannelSplit& split = plan_.channel;
    if (split.l == 0) {
      for (std::int64_t c = 0; c < split.channels; ++c) store_gradients(c, {0, 0}, {0, 0});
    } else if (has_few_channels(split)) {
      run_chunks();
    } else {
      run_channels();
    }
  }

 private:
  using Sums2 = std::array<double, 2>;

  double mean(std::int64_t channel) const { return parameters_.load(kMean, channel, 0); }

  void store_gradients(std::int64_t channel, const Sums2& sums, ChannelGradients gradients) const {
    parameters_.store(kDw, channel, gradients.dw);
    parameters_.store(kDb, channel, gradients.db);
    parameters_.store(kSumDy, channel, sums[0]);
    parameters_.store(kSumDyXmu, channel, sums[1]);
  }

  // Reads the channel's parameters, then writes its gradients, which may be in their place.
  ChannelMap<double> finish_channel(std::int64_t channel, const Sums2& sums) const {
    const double rstd = parameters_.rstd(kRstd, kVar, channel);
    const double n = static_cast<double>(plan_.channel.n * plan_.channel.l);
    const ChannelGradients gradients = batch_norm_gradients(sums, rstd);
    const ChannelMap<double> map =
        batch_norm_map(gradients, rstd, parameters_.load(kW, channel, 1), n);
    if (needs_sums_) store_gradients(channel, sums, gradients);
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
          const double m = mean(channel);
          Sums2 sums{};
          if (needs_sums_) {
            sums = loops_.template add_chunks<2>([&](std::int64_t chunk) NORMGRAD_ATTR {
              return loops_.chunk_sums(kDy, kX, channel, chunk, m);
            });
          }
          const ChannelMap<double> map = finish_channel(channel, sums);
          if (!parameters_.has(kDx)) return;
          for (std::int64_t chunk = loops_.chunks(); chunk-- > 0;) write_dx(channel, chunk, m, map);
          end_stores(stores_);
        });
  }

  // Few channels: threads share the chunks of all of them.
  void run_chunks() {
    ChannelMap<double> maps[kFewChannels];
    double means[kFewChannels];
    const auto finish = [&](std::int64_t channel, const Sums2& sums) {
      means[channel] = mean(channel);
      maps[channel] = finish_channel(channel, sums);
    };
    if (needs_sums_) {
      sum_by_chunks<2>(
          plan_.channel, workspace_,
          [&](std::int64_t channel, std::int64_t chunk)
              NORMGRAD_ATTR { return loops_.chunk_sums(kDy, kX, channel, chunk, mean(channel)); },
          finish);
    } else {
      for (std::int64_t c = 0; c < plan_.channel.channels; ++c) finish(c, {});
    }
    if (!parameters_.has(kDx)) return;
    loops_.each_chunk([&](std::int64_t channel, std::int64_t chunk) NORMGRAD_ATTR {
      write_dx(channel, chunk, means[channel], maps[channel]);
      end_stores(stores_);
    });
  }

  const Plan& plan_;
  std::byte* workspace_;
  Parameters parameters_;
  ChannelLoops<T> loops_;
  Stores stores_;
  bool needs_sums_;
};

void batch_norm_backward(const Plan& plan, void* const* data, std::byte* workspace) {
  run_loops<BatchNormBackwardLoops>(kDy, plan, data, workspace);
}

NORMGRAD_TARGET_END
NORMGRAD_CHOOSER(batch_norm_backward)
