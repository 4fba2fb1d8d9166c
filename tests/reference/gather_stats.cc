// N = sum(counts);  mean = sum(counts*mean_w)/N;  S = sum(counts*(1/rstd_w^2 - eps + (mean_w -
// mean)^2));  rstd = 1/sqrt(S/N + eps);  running := (1 - momentum)*running + momentum*(mean,
// S/(N - 1)). The scale of S adds up the variances and the distances.
#include "reference/forward.h"

namespace reference {
namespace {

struct Channel {
  Quad n = 0, mean = 0, mean_scale = 0;  // N; sum(counts*mean)/N
  Quad sum = 0, scale = 0;               // S
};

Channel gather(const Parts& in, std::size_t c) {
  Channel out;
  for (std::size_t w = 0; w < in.devices; ++w) {
    const Quad term = Quad{in.counts[w]} * in.mean[w * in.channels + c];
    out.n += in.counts[w];
    out.mean += term;
    out.mean_scale += magnitude(term);
  }
  out.mean /= out.n;
  out.mean_scale = magnitude(out.mean_scale / out.n);
  for (std::size_t w = 0; w < in.devices; ++w) {
    const Quad rstd = in.rstd[w * in.channels + c], inverse = 1 / (rstd * rstd);
    const Quad distance = in.mean[w * in.channels + c] - out.mean, count = in.counts[w];
    out.sum += count * ((inverse - in.eps) + distance * distance);
    out.scale += magnitude(count) * (magnitude(inverse - in.eps) + distance * distance);
  }
  return out;
}

void update(const Parts& in, std::size_t c, const Channel& channel, Whole& out) {
  const Quad old_share = 1 - Quad{in.momentum}, share = in.momentum;
  if (!in.running_mean.empty()) {
    const Quad old = old_share * in.running_mean[c];
    out.running_mean.set(c, old + share * channel.mean,
                         magnitude(old) + magnitude(share) * channel.mean_scale);
  }
  if (!in.running_var.empty()) {
    const Quad old = old_share * in.running_var[c];
    out.running_var.set(c, old + share * (channel.sum / (channel.n - 1)),
                        magnitude(old) + magnitude(share * (channel.scale / (channel.n - 1))));
  }
}

}  // namespace

Whole gather_stats(const Parts& in) {
  Whole out{Expected(in.channels), Expected(in.channels), Expected(in.running_mean.size()),
            Expected(in.running_var.size())};
  for (std::size_t c = 0; c < in.channels; ++c) {
    if (in.devices == 0) {
      out.rstd.set(c, std::nan(""), std::nan(""));
      if (!in.running_mean.empty()) out.running_mean.set(c, in.running_mean[c], 0);
      if (!in.running_var.empty()) out.running_var.set(c, in.running_var[c], 0);
      continue;
    }
    const Channel channel = gather(in, c);
    const Quad rstd = 1 / square_root(channel.sum / channel.n + in.eps);
    out.mean.set(c, channel.mean, channel.mean_scale);
    out.rstd.set(c, rstd, magnitude(rstd));
    update(in, c, channel, out);
  }
  for (const double rstd : in.rstd) {
    const double share = in.eps * rstd * rstd;
    if (!(share <= out.eps_share)) out.eps_share = share;
  }
  return out;
}

}  // namespace reference
