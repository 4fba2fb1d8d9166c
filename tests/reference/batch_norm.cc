// db = sum(dy);  q = sum(dy*(x - mean));  dw = s*q;  s = rstd, or 1/sqrt(var + eps), or 1.
// Training:  dx = (w*s)*((dy - db/M) - (x - mean)*(s*dw/M)), the row norm's derivation with the
// weight outside, since it is constant along the reduced axes. Inference: the statistics are
// constants, dx = dy*(s*w). SyncBatchNorm's second half: the training row with the
// sums that are given, M = sum(counts).
#include "reference/gradients.h"

namespace reference {
namespace {

struct Channel {
  std::vector<std::size_t> index;  // of its elements, in logical order
  Quad w, mean, s;
};

Channel read_channel(const ChannelNorm& in, std::size_t c) {
  Channel out{{}, 1, 0, 1};
  if (!in.w.empty()) out.w = in.w[c];
  if (!in.mean.empty()) out.mean = in.mean[c];
  if (!in.rstd.empty()) out.s = in.rstd[c];
  if (!in.var.empty()) out.s = 1 / square_root(Quad{in.var[c]} + in.eps);
  for (std::size_t o = 0; o < in.outer; ++o) {
    for (std::size_t i = 0; i < in.inner; ++i) {
      out.index.push_back((o * in.channels + c) * in.inner + i);
    }
  }
  return out;
}

struct Sums {
  Quad g = 0, gx = 0, size_g = 0, size_gx = 0;
};

Sums sum_channel(const ChannelNorm& in, const Channel& channel, Magnitudes& seen) {
  Sums out;
  for (const std::size_t i : channel.index) {
    const Quad dy = in.dy[i], centred = in.x[i] - channel.mean;
    out.g += dy;
    out.gx += dy * centred;
    out.size_g += magnitude(dy);
    out.size_gx += magnitude(dy * centred);
    for (const Quad value : {dy, Quad{in.x[i]}, centred, centred * channel.s}) seen.note(value);
  }
  seen.note(channel.w);
  return out;
}

void set_dx(const ChannelNorm& in, const Channel& channel, const Sums& sums, Quad m, Expected& dx) {
  const Quad s = channel.s;
  const Quad dw = s * sums.gx;
  for (const std::size_t i : channel.index) {
    const Quad dy = in.dy[i], centred = in.x[i] - channel.mean;
    if (!in.training) {
      dx.set(i, dy * (s * channel.w), magnitude(dy * s * channel.w));
      continue;
    }
    const Quad size_m = magnitude(m);  // given counts may be anything
    dx.set(i, (channel.w * s) * ((dy - sums.g / m) - centred * (s * dw / m)),
           magnitude(channel.w * s) *
               (magnitude(dy) + sums.size_g / size_m +
                magnitude(centred * s) * (magnitude(s) * sums.size_gx / size_m)));
  }
}

}  // namespace

Gradients batch_norm_backward(const ChannelNorm& in) {
  Gradients out{Expected(in.outer * in.channels * in.inner),
                Expected(in.channels),
                Expected(in.channels),
                {},
                {},
                Expected(in.channels),
                Expected(in.channels)};
  if (in.outer * in.inner == 0) return out;
  for (std::size_t c = 0; c < in.channels; ++c) {
    const Channel channel = read_channel(in, c);
    const Sums sums = sum_channel(in, channel, out.seen);
    out.rstd.note(channel.s);
    set_dx(in, channel, sums, static_cast<double>(channel.index.size()), out.dx);
    out.dw.set(c, channel.s * sums.gx, magnitude(channel.s) * sums.size_gx);
    out.db.set(c, sums.g, sums.size_g);
    out.sum_dy.set(c, sums.g, sums.size_g);
    out.sum_dy_xmu.set(c, sums.gx, sums.size_gx);
  }
  return out;
}

Gradients batch_norm_elemt_backward(const ChannelNorm& in) {
  Gradients out;
  out.dx = Expected(in.outer * in.channels * in.inner);
  Quad m = 0;
  for (const double count : in.counts) m += count;
  for (std::size_t c = 0; c < in.channels && in.outer * in.inner > 0; ++c) {
    const Channel channel = read_channel(in, c);
    sum_channel(in, channel, out.seen);
    out.rstd.note(channel.s);
    const Quad sum = in.sum_dy[c], sum_xmu = in.sum_dy_xmu[c];
    set_dx(in, channel, {sum, sum_xmu, magnitude(sum), magnitude(sum_xmu)}, m, out.dx);
    for (const Quad coefficient : {sum / m, channel.s * sum_xmu / m}) out.seen.note(coefficient);
  }
  return out;
}

}  // namespace reference
