// Sums down columns, of at most 8 rows: a chain, which is then added to f64.
#include "kernels/channel_maps.h"

namespace normgrad::NORMGRAD_TARGET {

// Columns whose chains lie on the stack between the first four rows and the others. Eight rows at once would compete for
// one set of the nearest cache where they lie a multiple of 4 KiB apart.
inline constexpr std::int64_t kStrip = 512;

// Where a chain begins and ends.
struct Chains {
  std::int64_t begin;  // column
  float *g, *gx;       // between calls
  double *sum_g, *sum_gx;
};

// kRows rows from first_row on. kStart: the chains begin here; kEnd: they end here, and go to the sums.
template <class A, class T, bool kHasRest, int kRows, bool kStart, bool kEnd>
NORMGRAD_INLINE void add_rows(const Rows& m, std::int64_t first_row, std::int64_t columns,
                              const A* mean, const A* rest, const Chains& chains) {
  const T *g[kRows], *x[kRows];
  NORMGRAD_UNROLL for (int r = 0; r < kRows; ++r) {
    g[r] = row<T>(m.g, m.g_stride, first_row + r) + chains.begin;
    x[r] = row<T>(m.x, m.x_stride, first_row + r) + chains.begin;
  }
  mean += chains.begin;
  rest += chains.begin;
  double *sum_g = chains.sum_g + chains.begin, *sum_gx = chains.sum_gx + chains.begin;
  const bool far = m.g_ahead != 0 || m.x_ahead != 0;
  for_row<A>(columns, [&](auto unit, std::int64_t column, auto part) NORMGRAD_LAMBDA {
    const std::int64_t at = column + unit * kUnit<A>;
    if (far) {
      NORMGRAD_UNROLL for (int r = 0; r < kRows; ++r) {
        fetch<A>(g[r], at, m.g_ahead);
        fetch<A>(x[r], at, m.x_ahead);
      }
    }
    const std::int64_t lanes[2] = {column + first_vector<A, T>(unit) * kWidth<A>,
                                   column + second_vector<A, T>(unit) * kWidth<A>};
    Vec<A> g_chain[2] = {}, gx_chain[2] = {};
    if constexpr (!kStart) {
      NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
        g_chain[i] = load<A>(chains.g + lanes[i]);
        gx_chain[i] = load<A>(chains.gx + lanes[i]);
      }
    }
    NORMGRAD_UNROLL for (int r = 0; r < kRows; ++r) {
      Vec<A> gs[2], xs[2];
      load_unit(g[r] + at, part, gs[0], gs[1]);
      load_unit(x[r] + at, part, xs[0], xs[1]);
      NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
        Vec<A> x_mu = xs[i] - load<A>(mean + lanes[i]);
        if constexpr (kHasRest) x_mu = x_mu - load<A>(rest + lanes[i]);
        g_chain[i] = g_chain[i] + gs[i];
        gx_chain[i] = multiply_add(gs[i], x_mu, gx_chain[i]);
      }
    }
    NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
      if constexpr (kEnd) {
        add_widened(g_chain[i], sum_g + lanes[i]);
        add_widened(gx_chain[i], sum_gx + lanes[i]);
      } else {
        store<A>(g_chain[i], chains.g + lanes[i]);
        store<A>(gx_chain[i], chains.gx + lanes[i]);
      }
    }
  });
}

template <class A, class T, bool kHasRest>
void column_sums_of(const Rows& m, const A* mean, const A* rest, double* sum_g, double* sum_gx) {
  for (std::int64_t begin = 0; begin < m.columns; begin += kStrip) {
    const std::int64_t columns = m.columns - begin < kStrip ? m.columns - begin : kStrip;
    A g_chain[kStrip], gx_chain[kStrip];
    const Chains chains{begin, g_chain, gx_chain, sum_g, sum_gx};
    // From far away a row at a time, which a processor sees as one stream: that costs instructions, but they wait for memory.
    if (m.rows == kChain && m.x_ahead == 0) {
      add_rows<A, T, kHasRest, 4, true, false>(m, 0, columns, mean, rest, chains);
      add_rows<A, T, kHasRest, 4, false, true>(m, 4, columns, mean, rest, chains);
      continue;
    }
    if (m.rows == 1) {
      add_rows<A, T, kHasRest, 1, true, true>(m, 0, columns, mean, rest, chains);
      continue;
    }
    add_rows<A, T, kHasRest, 1, true, false>(m, 0, columns, mean, rest, chains);
    for (std::int64_t r = 1; r + 1 < m.rows; ++r) {
      add_rows<A, T, kHasRest, 1, false, false>(m, r, columns, mean, rest, chains);
    }
    add_rows<A, T, kHasRest, 1, false, true>(m, m.rows - 1, columns, mean, rest, chains);
  }
}

template <class A, class T>
void column_sums(const Rows& m, const ChannelMaps& maps, double* sum_g, double* sum_gx) {
  const A *mean = map_row<A>(maps, kMean), *rest = map_row<A>(maps, kRest);
  if (!maps.have_rest) return column_sums_of<A, T, false>(m, mean, rest, sum_g, sum_gx);
  column_sums_of<A, T, true>(m, mean, rest, sum_g, sum_gx);
}

}  // namespace normgrad::NORMGRAD_TARGET
