// Training: dx = (w*s)*((dy - db/M) - (x - mean)*(s*dw/M)); inference: dx = dy*(s*w); sums of dy
// and dy*(x - mean); dw = s*q. SyncBatchNorm's second half: training with given sums and M.
#include "ops/channel_walk.h"
#include "ops/model.h"
#include "ops/tree.h"

namespace ops_test {
namespace {

template <class A>
struct Channel : ChannelWalk {
  A dy(std::size_t i) const { return static_cast<A>(p.value[kDy][i]); }
  A centred(std::size_t i) const { return minus_mean<A>(p.value[kX][i], parameter(kMean, 0)); }
  double s() const {
    if (p.has(kVar)) return 1.0 / std::sqrt(p.value[kVar][c] + p.eps);
    return parameter(kRstd, 1);
  }
};

struct Sums {
  double g, q, m;  // sum(dy), sum(dy*(x - mean)), elements
};

template <class A>
Sums sum_channel(const Channel<A>& in) {
  const double g =
      tree_sum<A>(in.count_n, in.count_l, [&](auto n, auto l) { return in.dy(in.index(n, l)); });
  const double q = tree_sum<A>(in.count_n, in.count_l, [&](auto n, auto l) {
    const std::size_t i = in.index(n, l);
    return in.dy(i) * in.centred(i);
  });
  return {g, q, in.count()};
}

Sums given_sums(const ChannelWalk& in) {
  double m = 0;
  for (const double count : in.p.value[kCounts]) m += count;
  return {in.p.value[kSumDyGiven][in.c], in.p.value[kSumDyXmuGiven][in.c], m};
}

template <class A>
void store_dx(const Channel<A>& in, const Sums& sums, double dw, Outputs& out) {
  const double s = in.s();
  const auto scale = static_cast<A>(in.parameter(kW, 1) * s),
             mean_dy = static_cast<A>(sums.g / sums.m), slope = static_cast<A>(s * dw / sums.m);
  in.for_each([&](std::size_t i) {
    const A dx =
        in.p.training ? scale * ((in.dy(i) - mean_dy) - in.centred(i) * slope) : in.dy(i) * scale;
    store(in.p, out, kDx, i, dx);
  });
}

template <class A>
void run_channel(const Channel<A>& in, Outputs& out) {
  const bool given = in.p.op == Op::kElemtBackward;
  const Sums sums = given ? given_sums(in) : sum_channel(in);
  const double dw = sums.m > 0 || given ? in.s() * sums.q : 0;
  store(in.p, out, kDw, in.c, dw);
  store(in.p, out, kDb, in.c, sums.g);
  store(in.p, out, kSumDy, in.c, sums.g);
  store(in.p, out, kSumDyXmu, in.c, sums.q);
  store_dx(in, sums, dw, out);
}

}  // namespace

template <class A>
Outputs batch_norm_model(const Problem& p) {
  Outputs out;
  const std::size_t channels = channel_extents(p).channels;
  for (std::size_t c = 0; c < channels; ++c) run_channel(Channel<A>{{p, c}}, out);
  return out;
}

template Outputs batch_norm_model<float>(const Problem&);
template Outputs batch_norm_model<double>(const Problem&);

}  // namespace ops_test
