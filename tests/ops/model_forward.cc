// BatchNorm forward: mean = sum(x)/M, then var = sum((x - mean)^2)/M, or both as given; y = (x - mean)*(r*w) + b.
// GatherStats: one device after the other, in f64.
#include <algorithm>

#include "ops/channel_moments.h"
#include "ops/channel_sums.h"
#include "ops/channel_walk.h"
#include "ops/dx_map.h"
#include "ops/model.h"

namespace ops_test {
namespace {

struct Channel {
  Moments moments;
  double mean = 0, r = 1;
  double rest = 0;  // of the mean, beyond its f64
  double var = 0;
  bool exact_sums = false, exact_y = false;
};

// Squares that f32 holds; of none at all or of what eps hides, 0.
bool has_squares(double squares, double eps) {
  return squares == 0 ? eps >= 0x1p-100 : squares >= 0x1p-100 && squares <= 0x1p120;
}

// In the walk by pixels one channel that must be exact takes all others along.
void share(const Problem& p, std::vector<Channel>& channels, bool Channel::*flag) {
  const auto is_set = [&](const Channel& channel) { return channel.*flag; };
  if (!walks_pixels(p) || std::none_of(channels.begin(), channels.end(), is_set)) return;
  for (Channel& channel : channels) channel.*flag = true;
}

void compute_statistics(const Problem& p, Arithmetic arithmetic, std::vector<Channel>& channels) {
  for (std::size_t c = 0; c < channels.size(); ++c) {
    Channel& channel = channels[c];
    channel.moments = channel_moments({p, c}, arithmetic);
    channel.exact_sums =
        arithmetic == Arithmetic::kFast &&
        (!std::isfinite(channel.moments.sum) || !has_squares(channel.moments.squares, p.eps));
  }
  share(p, channels, &Channel::exact_sums);
  for (std::size_t c = 0; c < channels.size(); ++c) {
    Channel& channel = channels[c];
    channel.exact_y = channel.exact_sums;
    if (channel.exact_sums) channel.moments = channel_moments({p, c}, Arithmetic::kExact);
    Moments& m = channel.moments;
    if (m.squares < 0) m.squares = 0;
    channel.mean = m.sum / m.n;
    const double rest = std::fma(-m.n, channel.mean, m.sum) / m.n;
    channel.rest = std::isfinite(rest) ? rest : 0;
    channel.var = m.squares * (1 / m.n);
    channel.r = 1 / std::sqrt(channel.var + p.eps);
  }
}

void take_statistics(const ChannelWalk& in, Channel& channel) {
  channel.mean = in.parameter(kMean, 0);
  channel.r =
      in.p.has(kVar) ? 1.0 / std::sqrt(in.p.value[kVar][in.c] + in.p.eps) : in.parameter(kRstd, 1);
}

void store_statistics(const ChannelWalk& in, const Channel& s, Outputs& out) {
  const bool empty = in.count() == 0;
  const double nan = std::nan(""), m = in.count();
  const auto update = [&](Slot slot, double fresh) {
    if (!in.p.has(slot)) return;
    const double old = in.p.value[slot][in.c];
    store(in.p, out, slot, in.c, empty ? old : updated(in.p, old, fresh));
  };
  store(in.p, out, kMeanOut, in.c, empty ? 0 : s.mean);
  store(in.p, out, kVarOut, in.c, empty ? nan : s.var);
  store(in.p, out, kRstdOut, in.c, empty ? nan : s.r);
  update(kRunningMean, s.mean);
  update(kRunningVar, s.moments.squares * (1 / (m - 1)));
}

// exact:  y = ((x - mean) - rest)*scale + b
// fast:   y = (x - m)*scale + (b - (mean - m + rest)*scale) with m the f32 of the mean; fused, both numbers rounded to f32
struct Map {
  double mean, rest, scale, b;

  double constant() const {
    const double left = (mean - static_cast<double>(static_cast<float>(mean))) + rest;
    return std::isnan(left) ? b : b - left * scale;
  }
  double y(bool exact, double x) const {
    if (exact) return ((x - mean) - rest) * scale + b;
    return std::fma(static_cast<float>(x) - static_cast<float>(mean), static_cast<float>(scale),
                    static_cast<float>(constant()));
  }
};

void store_y(const Problem& p, Arithmetic arithmetic, std::vector<Channel>& channels,
             Outputs& out) {
  std::vector<Map> maps;
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const ChannelWalk in{p, c};
    Channel& channel = channels[c];
    maps.push_back(
        {channel.mean, channel.rest, in.parameter(kW, 1) * channel.r, in.parameter(kB, 0)});
    channel.exact_y = channel.exact_y || arithmetic == Arithmetic::kExact || !in_range(channel.r) ||
                      !in_range(maps[c].scale) || !in_range(maps[c].constant());
  }
  share(p, channels, &Channel::exact_y);
  for (std::size_t c = 0; c < channels.size(); ++c) {
    ChannelWalk{p, c}.for_each([&](std::size_t i) {
      store(p, out, kY, i, maps[c].y(channels[c].exact_y, p.value[kX][i]));
    });
  }
}

struct Parts {
  const Problem& p;
  std::size_t c;
  std::size_t devices = static_cast<std::size_t>(p.tensor[kMean].shape[0]);
  std::size_t channels = static_cast<std::size_t>(p.tensor[kMean].shape[1]);

  double mean(std::size_t w) const { return p.value[kMean][w * channels + c]; }
  double count(std::size_t w) const { return p.value[kCounts][w]; }
  double var(std::size_t w) const {
    const double rstd = p.value[kRstd][w * channels + c], square = rstd * rstd;
    const double rest = std::fma(rstd, rstd, -square);
    return std::isinf(square) ? -p.eps : (std::fma(-p.eps, square, 1.0) - p.eps * rest) / square;
  }
};

void gather_channel(const Parts& in, Outputs& out) {
  double n = 0, sum = 0, squares = 0;
  for (std::size_t w = 0; w < in.devices; ++w) n += in.count(w), sum += in.count(w) * in.mean(w);
  const double mean = sum / n;
  double rest = 0;
  for (std::size_t w = 0; w < in.devices; ++w) rest += in.count(w) * (in.mean(w) - mean);
  rest = std::isfinite(rest / n) ? rest / n : 0;
  for (std::size_t w = 0; w < in.devices; ++w) {
    const double distance = (in.mean(w) - mean) - rest;
    squares += in.count(w) * (in.var(w) + distance * distance);
  }
  const bool empty = in.devices == 0;
  const auto update = [&](Slot slot, double fresh) {
    if (!in.p.has(slot)) return;
    const double old = in.p.value[slot][in.c];
    store(in.p, out, slot, in.c, empty ? old : updated(in.p, old, fresh));
  };
  store(in.p, out, kMeanOut, in.c, empty ? 0 : mean);
  store(in.p, out, kRstdOut, in.c, empty ? std::nan("") : 1.0 / std::sqrt(squares / n + in.p.eps));
  update(kRunningMean, mean);
  update(kRunningVar, squares / (n - 1));
}

}  // namespace

Outputs forward_model(const Problem& p, Arithmetic arithmetic) {
  Outputs out;
  std::vector<Channel> channels(channel_extents(p).channels);
  const bool empty = p.value[kX].empty();
  if (p.training && !empty) compute_statistics(p, arithmetic, channels);
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const ChannelWalk in{p, c};
    if (p.training) {
      store_statistics(in, channels[c], out);
    } else {
      take_statistics(in, channels[c]);
    }
  }
  if (p.has(kY)) store_y(p, arithmetic, channels, out);
  return out;
}

Outputs gather_stats_model(const Problem& p) {
  Outputs out;
  const std::size_t channels = Parts{p, 0}.channels;
  for (std::size_t c = 0; c < channels; ++c) gather_channel(Parts{p, c}, out);
  return out;
}

}  // namespace ops_test
