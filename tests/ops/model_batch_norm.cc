// BatchNorm backward, and SyncBatchNorm's second half, which is training with sums and M that are given.
//   r = rstd, or 1/sqrt(var + eps), or 1;  db = sum(dy), dw = r*sum(dy*(x - mean))
//   training:   dx = (w*r)*((dy - db/M) - (x - mean)*(r*dw/M))
//   inference:  dx = dy*(w*r)
#include <algorithm>

#include "ops/channel_sums.h"
#include "ops/channel_walk.h"
#include "ops/dx_map.h"

namespace ops_test {
namespace {

struct Channel {
  double r = 1, m = 0;
  ChannelSums sums{0, 0};
  DxMap map;
  bool exact_sums = false, exact_dx = false;

  double dw() const { return r * sums.gx; }
};

double rstd_of(const ChannelWalk& in) {
  if (in.p.has(kVar)) return 1.0 / std::sqrt(in.p.value[kVar][in.c] + in.p.eps);
  return in.parameter(kRstd, 1);
}

// In the walk by pixels channels lie side by side: one that must be exact takes all others along.
void share(const Problem& p, std::vector<Channel>& channels, bool Channel::*flag) {
  const auto is_set = [&](const Channel& channel) { return channel.*flag; };
  if (!walks_pixels(p) || std::none_of(channels.begin(), channels.end(), is_set)) return;
  for (Channel& channel : channels) channel.*flag = true;
}

void compute_sums(const Problem& p, Arithmetic arithmetic, std::vector<Channel>& channels) {
  const std::vector<ChannelSums> sums = channel_sums(p, arithmetic);
  for (std::size_t c = 0; c < channels.size(); ++c) {
    Channel& channel = channels[c];
    channel.sums = sums[c];
    channel.exact_sums =
        !std::isfinite(sums[c].g) || !std::isfinite(sums[c].gx) || !in_range(channel.r);
  }
  const auto is_bad = [](const Channel& channel) { return channel.exact_sums; };
  if (arithmetic == Arithmetic::kExact || std::none_of(channels.begin(), channels.end(), is_bad))
    return;
  share(p, channels, &Channel::exact_sums);
  const std::vector<ChannelSums> exact = channel_sums(p, Arithmetic::kExact);
  for (std::size_t c = 0; c < channels.size(); ++c) {
    if (channels[c].exact_sums) channels[c].sums = exact[c];
  }
}

void take_given_sums(const Problem& p, std::vector<Channel>& channels) {
  double m = 0;
  for (const double count : p.value[kCounts]) m += count;
  for (std::size_t c = 0; c < channels.size(); ++c) {
    channels[c].m = m;
    channels[c].sums = {p.value[kSumDyGiven][c], p.value[kSumDyXmuGiven][c]};
  }
}

void set_map(const ChannelWalk& in, Arithmetic arithmetic, Channel& channel) {
  DxMap& map = channel.map;
  map.mean = in.parameter(kMean, 0);
  map.scale = in.parameter(kW, 1) * channel.r;
  channel.exact_dx = arithmetic == Arithmetic::kExact || !in_range(channel.r) || !in_range(map.a());
  if (!in.p.training) return;
  channel.exact_dx = channel.exact_dx || !(std::fabs(map.mean) <= 1e30);
  map.c1 = channel.sums.g / channel.m;
  map.c2 = channel.r * channel.dw() / channel.m;
  channel.exact_dx = channel.exact_dx || channel.exact_sums || !map.fits_fast();
}

void store_channel(const ChannelWalk& in, const Channel& channel, Outputs& out) {
  const bool empty = in.count() == 0;
  store(in.p, out, kDw, in.c, empty ? 0 : channel.dw());
  store(in.p, out, kDb, in.c, channel.sums.g);
  store(in.p, out, kSumDy, in.c, channel.sums.g);
  store(in.p, out, kSumDyXmu, in.c, channel.sums.gx);
  const Arithmetic arithmetic = channel.exact_dx ? Arithmetic::kExact : Arithmetic::kFast;
  in.for_each([&](std::size_t i) {
    const double dy = in.p.value[kDy][i];
    store(in.p, out, kDx, i,
          in.p.training ? channel.map.dx(arithmetic, dy, in.p.value[kX][i])
                        : product(arithmetic, dy, channel.map.a()));
  });
}

}  // namespace

Outputs batch_norm_model(const Problem& p, Arithmetic arithmetic) {
  std::vector<Channel> channels(channel_extents(p).channels);
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const ChannelWalk in{p, c};
    channels[c].r = rstd_of(in);
    channels[c].m = in.count();
  }
  p.op == Op::kElemtBackward ? take_given_sums(p, channels) : compute_sums(p, arithmetic, channels);
  for (std::size_t c = 0; c < channels.size(); ++c) set_map({p, c}, arithmetic, channels[c]);
  share(p, channels, &Channel::exact_dx);
  Outputs out;
  for (std::size_t c = 0; c < channels.size(); ++c) store_channel({p, c}, channels[c], out);
  return out;
}

}  // namespace ops_test
