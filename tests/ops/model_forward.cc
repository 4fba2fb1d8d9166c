// Statistics on the f64 tree for every data type: mean = sum(x)/M, then var = sum((x - mean)^2)/M;
// y = (x - mean)*(s*w) + b in A, where f64 also takes off what rounding left of the mean.
// GatherStats: one device after the other, in f64.
#include "ops/channel_walk.h"
#include "ops/forward_tree.h"
#include "ops/model.h"

namespace ops_test {
namespace {

struct Statistics {
  double mean = 0, squares = 0, rstd = 1;
  double rest = 0;  // of the mean, beyond its f64
};

Statistics computed(const ChannelWalk& in) {
  const auto x = [&](std::size_t n, std::size_t l) { return in.p.value[kX][in.index(n, l)]; };
  Statistics out;
  const double sum = forward_sum(in.count_n, in.count_l, x);
  out.mean = sum / in.count();
  const double rest = std::fma(-in.count(), out.mean, sum) / in.count();
  if (std::isfinite(rest)) out.rest = rest;
  out.squares = forward_sum(in.count_n, in.count_l, [&](auto n, auto l) {
    const double centred = x(n, l) - out.mean;
    return centred * centred;
  });
  out.rstd = 1.0 / std::sqrt(out.squares / in.count() + in.p.eps);
  return out;
}

Statistics given(const ChannelWalk& in) {
  const Problem& p = in.p;
  const double rstd =
      p.has(kVar) ? 1.0 / std::sqrt(p.value[kVar][in.c] + p.eps) : in.parameter(kRstd, 1);
  return {in.parameter(kMean, 0), 0, rstd, 0};
}

void store_statistics(const ChannelWalk& in, const Statistics& s, Outputs& out) {
  const bool empty = in.count() == 0;
  const double nan = std::nan(""), m = in.count();
  const auto update = [&](Slot slot, double fresh) {
    if (!in.p.has(slot)) return;
    const double old = in.p.value[slot][in.c];
    store(in.p, out, slot, in.c, empty ? old : updated(in.p, old, fresh));
  };
  store(in.p, out, kMeanOut, in.c, empty ? 0 : s.mean);
  store(in.p, out, kVarOut, in.c, empty ? nan : s.squares / m);
  store(in.p, out, kRstdOut, in.c, empty ? nan : s.rstd);
  update(kRunningMean, s.mean);
  update(kRunningVar, s.squares / (m - 1));
}

template <class A>
void store_y(const ChannelWalk& in, const Statistics& s, Outputs& out) {
  const auto scale = static_cast<A>(s.rstd * in.parameter(kW, 1)),
             b = static_cast<A>(in.parameter(kB, 0));
  in.for_each([&](std::size_t i) {
    A centred = minus_mean<A>(in.p.value[kX][i], s.mean);
    if (std::is_same_v<A, double>) centred -= static_cast<A>(s.rest);
    store(in.p, out, kY, i, centred * scale + b);
  });
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

template <class A>
Outputs forward_model(const Problem& p) {
  Outputs out;
  const std::size_t channels = channel_extents(p).channels;
  for (std::size_t c = 0; c < channels; ++c) {
    const ChannelWalk in{p, c};
    const Statistics s = p.training ? computed(in) : given(in);
    if (p.training) store_statistics(in, s, out);
    store_y<A>(in, s, out);
  }
  return out;
}

template Outputs forward_model<float>(const Problem&);
template Outputs forward_model<double>(const Problem&);

Outputs gather_stats_model(const Problem& p) {
  Outputs out;
  const std::size_t channels = Parts{p, 0}.channels;
  for (std::size_t c = 0; c < channels; ++c) gather_channel(Parts{p, c}, out);
  return out;
}

}  // namespace ops_test
