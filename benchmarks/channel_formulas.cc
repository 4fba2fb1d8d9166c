#include "channel_formulas.h"

#include <cmath>

namespace bench {
namespace {

void add_image(const Channels& s, std::int64_t n, const Array& dy, const Array& x,
               std::vector<ChannelSums>& channels) {
  s.for_image(n, [&](std::int64_t c, std::int64_t i) {
    ChannelSums& of = channels[static_cast<std::size_t>(c)];
    const double g = dy[i], term = g * ((x[i] - of.mean) * of.r);
    of.db += g;
    of.db_t += std::abs(g);
    of.dw += term;
    of.dw_t += std::abs(term);
  });
}

}  // namespace

void add_sums(const Channels& s, const Array& dy, const Array& x,
              std::vector<ChannelSums>& channels) {
  const std::vector<ChannelSums> empty = channels;
  for (std::int64_t n = 0; n < s.n; ++n) {
    // By itself, so that no sum has more than 10^5 terms in sequence.
    std::vector<ChannelSums> image = empty;
    add_image(s, n, dy, x, image);
    for (std::size_t c = 0; c < channels.size(); ++c) {
      channels[c].db += image[c].db;
      channels[c].db_t += image[c].db_t;
      channels[c].dw += image[c].dw;
      channels[c].dw_t += image[c].dw_t;
    }
  }
}

void check_dx(const Channels& s, const Array& dx, const Array& dy, const Array& x,
              const std::vector<ChannelSums>& channels, double scale) {
  for (std::int64_t n = 0; n < s.n; ++n) {
    s.for_image(n, [&](std::int64_t c, std::int64_t i) {
      const ChannelSums& of = channels[static_cast<std::size_t>(c)];
      const double g = dy[i], x_hat = (x[i] - of.mean) * of.r;
      expect(dx, i, of.w * of.r * (g - of.db * scale - x_hat * (of.dw * scale)),
             std::abs(of.w * of.r) *
                 (std::abs(g) + of.db_t * scale + std::abs(x_hat) * (of.dw_t * scale)),
             "BatchNorm dx");
    });
  }
}

}  // namespace bench
