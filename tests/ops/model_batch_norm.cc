// Training: dx = (w*s)*((dy - db/M) - (x - mean)*(s*dw/M)); inference: dx = dy*(s*w); sums of dy
// and dy*(x - mean); dw = s*q.
#include "ops/model.h"
#include "ops/tree.h"

namespace ops_test {
namespace {

template <class A>
struct Channel {
  const Problem& p;
  std::size_t c;
  ChannelExtents e = channel_extents(p);
  // n is dim 0, l the other dims but the channel; with the channel in dim 0 there is one n.
  std::size_t count_n = p.channel_axis == 0 ? 1 : static_cast<std::size_t>(p.tensor[kDy].shape[0]);
  std::size_t count_l = e.outer * e.inner / std::max<std::size_t>(1, count_n);

  std::size_t index(std::size_t n, std::size_t l) const {
    const std::size_t reduced = n * count_l + l;
    return (reduced / e.inner * e.channels + c) * e.inner + reduced % e.inner;
  }
  A dy(std::size_t i) const { return static_cast<A>(p.value[kDy][i]); }
  A centred(std::size_t i) const {
    return minus_mean<A>(p.value[kX][i], p.has(kMean) ? p.value[kMean][c] : 0.0);
  }
  double w() const { return p.has(kW) ? p.value[kW][c] : 1.0; }
  double s() const {
    if (p.has(kVar)) return 1.0 / std::sqrt(p.value[kVar][c] + p.eps);
    return p.has(kRstd) ? p.value[kRstd][c] : 1.0;
  }
};

template <class A>
void run_channel(const Channel<A>& in, Outputs& out) {
  const double s = in.s(), m = static_cast<double>(in.count_n * in.count_l);
  const double db =
      tree_sum<A>(in.count_n, in.count_l, [&](auto n, auto l) { return in.dy(in.index(n, l)); });
  const double q = tree_sum<A>(in.count_n, in.count_l, [&](auto n, auto l) {
    const std::size_t i = in.index(n, l);
    return in.dy(i) * in.centred(i);
  });
  const double dw = m > 0 ? s * q : 0;
  store(in.p, out, kDw, in.c, dw);
  store(in.p, out, kDb, in.c, db);
  const auto scale = static_cast<A>(in.w() * s), mean_dy = static_cast<A>(db / m),
             slope = static_cast<A>(s * dw / m);
  for (std::size_t n = 0; n < in.count_n; ++n) {
    for (std::size_t l = 0; l < in.count_l; ++l) {
      const std::size_t i = in.index(n, l);
      const A dx =
          in.p.training ? scale * ((in.dy(i) - mean_dy) - in.centred(i) * slope) : in.dy(i) * scale;
      store(in.p, out, kDx, i, dx);
    }
  }
}

}  // namespace

template <class A>
Outputs batch_norm_model(const Problem& p) {
  Outputs out;
  const std::size_t channels = channel_extents(p).channels;
  for (std::size_t c = 0; c < channels; ++c) run_channel(Channel<A>{p, c}, out);
  return out;
}

template Outputs batch_norm_model<float>(const Problem&);
template Outputs batch_norm_model<double>(const Problem&);

}  // namespace ops_test
