// mean = sum(x)/M;  var = sum((x - mean)^2)/M;  s = 1/sqrt(var + eps), or as given;
// y = (x - mean)*(s*w) + b;  running := (1 - momentum)*running + momentum*new, new the mean and the
// unbiased variance sum((x - mean)^2)/(M - 1).
#include <cmath>

#include "reference/forward.h"

namespace reference {
namespace {

struct Channel {
  std::vector<std::size_t> index;  // of its elements, in logical order
  Quad w = 1, b = 0, mean = 0, s = 1;
  Quad size_x = 0, squares = 0;  // sum(|x|), sum((x - mean)^2)
};

Channel read_channel(const ForwardNorm& in, std::size_t c) {
  Channel out;
  if (!in.w.empty()) out.w = in.w[c];
  if (!in.b.empty()) out.b = in.b[c];
  for (std::size_t o = 0; o < in.outer; ++o) {
    for (std::size_t i = 0; i < in.inner; ++i) {
      out.index.push_back((o * in.channels + c) * in.inner + i);
    }
  }
  return out;
}

void compute_statistics(const ForwardNorm& in, Channel& channel) {
  Quad sum = 0;
  const Quad m = static_cast<double>(channel.index.size());
  for (const std::size_t i : channel.index) {
    sum += in.x[i];
    channel.size_x += magnitude(in.x[i]);
  }
  channel.mean = sum / m;
  for (const std::size_t i : channel.index) {
    const Quad centred = in.x[i] - channel.mean;
    channel.squares += centred * centred;
  }
  channel.s = 1 / square_root(channel.squares / m + in.eps);
}

void take_statistics(const ForwardNorm& in, std::size_t c, Channel& channel) {
  if (!in.mean.empty()) channel.mean = in.mean[c];
  if (!in.rstd.empty()) channel.s = in.rstd[c];
  if (!in.var.empty()) channel.s = 1 / square_root(Quad{in.var[c]} + in.eps);
}

void set_statistics(const ForwardNorm& in, std::size_t c, const Channel& channel, Forward& out) {
  const Quad m = static_cast<double>(channel.index.size()), var = channel.squares / m;
  const Quad old_share = 1 - Quad{in.momentum}, share = in.momentum;
  out.mean.set(c, channel.mean, channel.size_x / m);
  out.var.set(c, var, var);
  out.rstd.set(c, channel.s, magnitude(channel.s));
  if (!in.running_mean.empty()) {
    const Quad old = old_share * in.running_mean[c];
    out.running_mean.set(c, old + share * channel.mean,
                         magnitude(old) + magnitude(share * channel.size_x / m));
  }
  if (!in.running_var.empty()) {
    const Quad old = old_share * in.running_var[c], added = share * (channel.squares / (m - 1));
    out.running_var.set(c, old + added, magnitude(old) + magnitude(added));
  }
}

// In training the mean, too, moves y.
void set_y(const ForwardNorm& in, const Channel& channel, Forward& out) {
  Quad size = 0;
  for (const std::size_t i : channel.index) {
    if (in.training) size += magnitude(in.x[i] - channel.mean);
  }
  const Quad of_mean =
      size / static_cast<double>(channel.index.size()) * magnitude(channel.s * channel.w);
  for (const std::size_t i : channel.index) {
    const Quad centred = in.x[i] - channel.mean, term = centred * (channel.s * channel.w);
    out.y.set(i, term + channel.b, magnitude(term) + of_mean + magnitude(channel.b));
    for (const Quad value : {Quad{in.x[i]}, centred, centred * channel.s}) out.seen.note(value);
  }
  out.seen.note(channel.w);
  out.seen.note(channel.b);
  out.rstd_seen.note(channel.s);
}

Forward of_no_elements(const ForwardNorm& in) {
  Forward out{Expected(),
              Expected(in.channels),
              Expected(in.channels),
              Expected(in.channels),
              Expected(in.running_mean.size()),
              Expected(in.running_var.size()),
              {},
              {}};
  const Quad nan = std::nan("");
  for (std::size_t c = 0; c < in.channels; ++c) {
    out.rstd.set(c, nan, nan);
    out.var.set(c, nan, nan);
    if (!in.running_mean.empty()) out.running_mean.set(c, in.running_mean[c], 0);
    if (!in.running_var.empty()) out.running_var.set(c, in.running_var[c], 0);
  }
  return out;
}

}  // namespace

Forward batch_norm_forward(const ForwardNorm& in) {
  Forward out = of_no_elements(in);
  if (in.x.empty()) return out;
  out.y = Expected(in.x.size());
  for (std::size_t c = 0; c < in.channels; ++c) {
    Channel channel = read_channel(in, c);
    if (in.training) {
      compute_statistics(in, channel);
      set_statistics(in, c, channel, out);
    } else {
      take_statistics(in, c, channel);
    }
    set_y(in, channel, out);
  }
  return out;
}

}  // namespace reference
