#include "ops/channel_sums.h"

#include <cstdlib>
#include <limits>
#include <numeric>

#include "ops/channel_walk.h"
#include "ops/dx_map.h"

namespace ops_test {
namespace {

struct ChannelTerms : ChannelWalk {
  Arithmetic arithmetic;

  Term g(std::size_t i) const { return {p.value[kDy][i]}; }
  Term gx(std::size_t i) const {
    return {p.value[kDy][i], centred(arithmetic, p.value[kX][i], parameter(kMean, 0))};
  }
};

// Chunk by chunk; every n of a chunk is a piece.
template <class TermOf>
double plane_sum(const ChannelTerms& in, const TermOf& term) {
  std::vector<double> chunks;
  for (const Chunk& chunk : chunks_of(in.count_n, in.count_l)) {
    Totals totals(in.arithmetic, in.p.data_format());
    for (std::size_t n = chunk.n.begin; n < chunk.n.end; ++n) {
      totals.add_piece(chunk.l.end - chunk.l.begin,
                       [&](std::size_t l) { return term(in.index(n, chunk.l.begin + l)); });
    }
    chunks.push_back(totals.sum());
  }
  return fold(chunks);
}

// Down columns: column j of a row has channel j%C of the row's pixel j/C. Pixels that fill no row make a part of one, which
// is a group by itself.
template <class TermOf>
double pixel_sum(const ChannelTerms& in, const TermOf& term) {
  const std::size_t pixels = in.count_n * in.count_l;
  const std::size_t k = pixels_in_a_row(in.e.channels, pixels), rows = pixels / k;
  std::vector<Block> blocks = row_blocks(rows, block_rows_of_pixels(rows, k * in.e.channels));
  if (pixels % k != 0) {
    if (blocks.empty()) blocks.emplace_back();
    blocks.back().push_back({rows, rows + 1});
  }
  std::vector<double> columns;
  for (std::size_t in_row = 0; in_row < k; ++in_row) {
    columns.push_back(column_sum(blocks, [&](Range group, double& sum) {
      double chain = 0;
      for (std::size_t row = group.begin; row < group.end; ++row) {
        const std::size_t pixel = row * k + in_row;
        if (pixel >= pixels) continue;
        const Term t = term(in.index(0, pixel));
        chain = multiply_add(in.arithmetic, t.a, t.b, chain);
      }
      sum += chain;
    }));
  }
  return fold(columns);
}

}  // namespace

bool walks_pixels(const Problem& p) {
  const TensorSpec& x = p.tensor[kX];
  const auto axis = static_cast<std::size_t>(p.channel_axis);
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::int64_t others = 1, nearest = kNone;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    const bool is_n = d == 0 && axis != 0;
    if (d == axis || is_n) continue;
    others *= x.shape[d];
    if (x.shape[d] > 1 && x.strides[d] != 0) nearest = std::min(nearest, std::abs(x.strides[d]));
  }
  if (others == 1) return true;
  if (x.shape[axis] <= 1 || x.strides[axis] == 0 || nearest == kNone) return false;
  return std::abs(x.strides[axis]) < nearest;
}

std::size_t pixels_in_a_row(std::size_t channels, std::size_t count) {
  std::size_t k = 32 / std::gcd(channels, std::size_t{32});  // fills whole steps of 32
  if (channels * k > 2048 || count < 8 * k) return 1;
  while (channels * k * 2 <= 512 && count >= 2 * k * 64) k *= 2;
  return k;
}

std::vector<ChannelSums> channel_sums(const Problem& p, Arithmetic arithmetic) {
  const bool pixels = walks_pixels(p);
  const auto sum = [&](const ChannelTerms& in, const auto& term) {
    return pixels ? pixel_sum(in, term) : plane_sum(in, term);
  };
  std::vector<ChannelSums> out;
  for (std::size_t c = 0; c < channel_extents(p).channels; ++c) {
    const ChannelTerms in{{p, c}, arithmetic};
    out.push_back({sum(in, [&](std::size_t i) { return in.g(i); }),
                   sum(in, [&](std::size_t i) { return in.gx(i); })});
  }
  return out;
}

}  // namespace ops_test
