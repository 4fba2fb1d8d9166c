// db = sum(dy);  q = sum(dy*(x - mean));  dw = s*q;  s = rstd, or 1/sqrt(var + eps), or 1.
// Training:  dx = (w*s)*((dy - db/M) - (x - mean)*(s*dw/M)), the row norm's derivation with the
// weight outside, since it is constant along the reduced axes. Inference: the statistics are
// constants, dx = dy*(s*w).
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

void set_dx(const ChannelNorm& in, const Channel& channel, const Sums& sums, Expected& dx) {
  const Quad s = channel.s, m = static_cast<double>(channel.index.size());
  const Quad dw = s * sums.gx;
  for (const std::size_t i : channel.index) {
    const Quad dy = in.dy[i], centred = in.x[i] - channel.mean;
    if (!in.training) {
      dx.set(i, dy * (s * channel.w), magnitude(dy * s * channel.w));
      continue;
    }
    dx.set(i, (channel.w * s) * ((dy - sums.g / m) - centred * (s * dw / m)),
           magnitude(channel.w * s) * (magnitude(dy) + sums.size_g / m +
                                       magnitude(centred * s) * (magnitude(s) * sums.size_gx / m)));
  }
}

}  // namespace

Gradients batch_norm_backward(const ChannelNorm& in) {
  Gradients out{Expected(in.outer * in.channels * in.inner),
                Expected(in.channels),
                Expected(in.channels),
                {},
                {}};
  if (in.outer * in.inner == 0) return out;
  for (std::size_t c = 0; c < in.channels; ++c) {
    const Channel channel = read_channel(in, c);
    const Sums sums = sum_channel(in, channel, out.seen);
    out.rstd.note(channel.s);
    set_dx(in, channel, sums, out.dx);
    out.dw.set(c, channel.s * sums.gx, magnitude(channel.s) * sums.size_gx);
    out.db.set(c, sums.g, sums.size_g);
  }
  return out;
}

}  // namespace reference
