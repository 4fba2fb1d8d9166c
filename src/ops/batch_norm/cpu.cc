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

template <typename T>
class BatchNormLoops {
 public:
  BatchNormLoops(const Plan& plan, void* const* data, std::byte* workspace)
      : plan_(plan),
        workspace_(workspace),
        parameters_(plan, data),
        loops_(plan.channel, data),
        n_(static_cast<double>(plan.channel.n * plan.channel.l)) {
    stores_ = data[kY] == data[kX] ? Stores::kCached
                                   : stores_for(2 * loops_.elements() * std::int64_t{sizeof(T)});
  }

  void run() {
    if (plan_.channel.l == 0) return store_statistics_of_nothing();
    if (!plan_.training) return run_given();
    has_few_channels(plan_.channel) ? run_chunks() : run_channels();
  }

 private:
  using Sum = std::array<double, 1>;
  struct Channel {
    double mean, rest;
    ForwardMap<double> map;
  };

  Channel with_mean(const Sum& sum) const {
    const double mean = sum[0] / n_;
    return {mean, rest_of_mean(sum[0], n_, mean), {}};
  }

  ForwardMap<double> map_of(std::int64_t channel, double rstd) const {
    return {rstd * parameters_.load(kW, channel, 1), parameters_.load(kB, channel, 0)};
  }

  void store_statistics_of_nothing() const {
    if (!plan_.training) return;
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    for (std::int64_t c = 0; c < plan_.channel.channels; ++c) {
      parameters_.store(kMean, c, 0);
      parameters_.store(kRstd, c, kNaN);
      parameters_.store(kVar, c, kNaN);
    }
  }

  // Reads the channel's parameters, then writes its statistics, which may be in their place.
  ForwardMap<double> finish_channel(std::int64_t channel, double mean, double squares) const {
    const double var = squares / n_;
    const double rstd = rstd_of(var, plan_.eps);
    const ForwardMap<double> map = map_of(channel, rstd);
    const double running_mean = parameters_.load(kRunningMean, channel, 0);
    const double running_var = parameters_.load(kRunningVar, channel, 0);
    parameters_.store(kMean, channel, mean);
    parameters_.store(kRstd, channel, rstd);
    parameters_.store(kVar, channel, var);
    parameters_.store(kRunningMean, channel, updated(running_mean, plan_.momentum, mean));
    parameters_.store(kRunningVar, channel,
                      updated(running_var, plan_.momentum, squares / (n_ - 1)));
    return map;
  }

  void write_y(std::int64_t channel, std::int64_t chunk, const Channel& c) const {
    loops_.write_y(kY, kX, channel, chunk, c.mean, c.rest, c.map, stores_);
  }

  void run_given() {
    if (!parameters_.has(kY)) return;
    loops_.each_chunk([&](std::int64_t channel, std::int64_t chunk) NORMGRAD_ATTR {
      write_y(channel, chunk,
              {parameters_.load(kMean, channel, 0), 0,
               map_of(channel, parameters_.rstd(kRstd, kVar, channel))});
      end_stores(stores_);
    });
  }

  // Every thread takes whole channels.
  void run_channels() {
    cpu::parallel_for(
        plan_.channel.channels, loops_.elements(), [&](std::int64_t channel) NORMGRAD_ATTR {
          const Sum sum = loops_.template add_chunks<1>([&](std::int64_t chunk) NORMGRAD_ATTR {
            return loops_.chunk_sum(kX, channel, chunk);
          });
          Channel c = with_mean(sum);
          const Sum squares = loops_.template add_chunks<1>([&](std::int64_t chunk) NORMGRAD_ATTR {
            return loops_.chunk_sum_of_squares(kX, channel, chunk, c.mean);
          });
          c.map = finish_channel(channel, c.mean, squares[0]);
          if (!parameters_.has(kY)) return;
          for (std::int64_t chunk = loops_.chunks(); chunk-- > 0;) {
            write_y(channel, chunk, c);
          }
          end_stores(stores_);
        });
  }

  // Few channels: threads share the chunks of all of them.
  void run_chunks() {
    Channel channels[kFewChannels];
    sum_by_chunks<1>(
        plan_.channel, workspace_,
        [&](std::int64_t channel, std::int64_t chunk)
            NORMGRAD_ATTR { return loops_.chunk_sum(kX, channel, chunk); },
        [&](std::int64_t channel, const Sum& sum) { channels[channel] = with_mean(sum); });
    sum_by_chunks<1>(
        plan_.channel, workspace_,
        [&](std::int64_t channel, std::int64_t chunk) NORMGRAD_ATTR {
          return loops_.chunk_sum_of_squares(kX, channel, chunk, channels[channel].mean);
        },
        [&](std::int64_t channel, const Sum& squares) {
          channels[channel].map = finish_channel(channel, channels[channel].mean, squares[0]);
        });
    if (!parameters_.has(kY)) return;
    loops_.each_chunk([&](std::int64_t channel, std::int64_t chunk) NORMGRAD_ATTR {
      write_y(channel, chunk, channels[channel]);
      end_stores(stores_);
    });
  }

  const Plan& plan_;
  std::byte* workspace_;
  Parameters parameters_;
  ChannelLoops<T> loops_;
  double n_;
  Stores stores_;
};

void batch_norm(const Plan& plan, void* const* data, std::byte* workspace) {
  run_loops<BatchNormLoops>(kX, plan, data, workspace);
}

NORMGRAD_TARGET_END
NORMGRAD_CHOOSER(batch_norm)
