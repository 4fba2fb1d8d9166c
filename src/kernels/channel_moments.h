// Moments of channels: sums of centre - x and of its square. The difference is taken this way round because x may then be
// an operand that lies in memory.
#include "kernels/merge.h"
#include "kernels/numbers.h"
#include "kernels/target.h"

namespace normgrad::NORMGRAD_TARGET {

// A chain has 8 steps of 32 lanes; then its lanes are added to f64.
template <class A, class T, bool kSquares, bool kFetches>
NORMGRAD_INLINE void plane_moments_of(const Rows& m, const T* x, Vec<A> centre, double* totals) {
  for (std::int64_t left = m.columns; left > 0; left -= kChain * kStep) {
    Vec<A> sums[kVectors<A>] = {}, squares[kVectors<A>] = {};
    const auto add = [&](auto unit, std::int64_t column, auto part) NORMGRAD_LAMBDA {
      const int vectors[2] = {first_vector<A, T>(unit), second_vector<A, T>(unit)};
      const std::int64_t at = column + unit * kUnit<A>;
      Vec<A> off[2];
      load_unit(x + at, part, off[0], off[1]);
      if constexpr (kFetches) fetch<A>(x, at, m.x_ahead);
      NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
        const int v = vectors[i];
        off[i] = only_there<T>(centre - off[i], part, i);
        sums[v] = sums[v] + off[i];
        if constexpr (kSquares) squares[v] = multiply_add(off[i], off[i], squares[v]);
      }
    };
    if (left >= kChain * kStep) {
      for_chain<A>(add);
    } else {
      for_row<A>(left, add);
    }
    fold_lanes(sums, totals);
    if constexpr (kSquares) fold_lanes(squares, totals + 8);
    x += kChain * kStep;
  }
}
// Each row's sums are added to its totals, 16 numbers. The sweep of squares follows the other one and finds its rows near.
template <class A, class T>
void plane_moments(bool squares, const Rows& m, const double* centres, double* totals) {
  const T* x = row<T>(m.x, 0, 0);
  for (std::int64_t r = 0; r < m.rows; ++r, totals += kTotals) {
    const Vec<A> centre = coefficient<A>(centres[r]);
    if (squares) {
      plane_moments_of<A, T, true, false>(m, x, centre, totals);
    } else if (m.x_ahead == 0) {
      plane_moments_of<A, T, false, false>(m, x, centre, totals);
    } else {
      plane_moments_of<A, T, false, true>(m, x, centre, totals);
    }
    x = row<T>(x, m.x_stride, 1);
  }
}

// Down columns, whose rows stay near from the first sweep to the second.
template <class A>
struct ColumnMoments {
  alignas(64) A centre[kernels::kChunkColumns], off[kernels::kChunkColumns];
  alignas(64) double sum[kernels::kChunkColumns], squares[kernels::kChunkColumns];
};

// Eight rows at once (kRows; or 0: those that are left) from first_row on: of the first sweep, onto of.off; of the second,
// as a chain each onto the f64 sums.
template <class A, class T, bool kSquares, bool kFetches, int kRows>
NORMGRAD_INLINE void add_rows_off(const Rows& m, std::int64_t first_row, ColumnMoments<A>& of) {
  const T* x = row<T>(m.x, m.x_stride, first_row);
  const int rows = kRows != 0 ? kRows : static_cast<int>(m.rows - first_row);
  for_row<A>(m.columns, [&](auto unit, std::int64_t column, auto part) NORMGRAD_LAMBDA {
    const std::int64_t at = column + unit * kUnit<A>;
    const std::int64_t lanes[2] = {column + first_vector<A, T>(unit) * kWidth<A>,
                                   column + second_vector<A, T>(unit) * kWidth<A>};
    Vec<A> centre[2], sum[2] = {}, squares[2] = {};
    NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
      centre[i] = load<A>(of.centre + lanes[i]);
      if constexpr (!kSquares) sum[i] = load<A>(of.off + lanes[i]);
    }
    const auto add = [&](int r) NORMGRAD_LAMBDA {
      const T* from = row<T>(x, m.x_stride, r) + at;
      Vec<A> off[2];
      load_unit(from, part, off[0], off[1]);
      if constexpr (kFetches) fetch<A>(from - at, at, m.x_ahead);
      NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
        off[i] = centre[i] - off[i];
        sum[i] = sum[i] + off[i];
        if constexpr (kSquares) squares[i] = multiply_add(off[i], off[i], squares[i]);
      }
    };
    if constexpr (kRows != 0) {
      NORMGRAD_UNROLL for (int r = 0; r < kRows; ++r) add(r);
    } else {
      for (int r = 0; r < rows; ++r) add(r);
    }
    NORMGRAD_UNROLL for (int i = 0; i < 2; ++i) {
      if constexpr (kSquares) {
        add_widened(sum[i], of.sum + lanes[i]);
        add_widened(squares[i], of.squares + lanes[i]);
      } else {
        store<A>(sum[i], of.off + lanes[i]);
      }
    }
  });
}
template <class A, class T, bool kSquares, bool kFetches>
NORMGRAD_INLINE void sweep_columns(const Rows& m, ColumnMoments<A>& of) {
  std::int64_t r = 0;
  for (; r + kChain <= m.rows; r += kChain)
    add_rows_off<A, T, kSquares, kFetches, kChain>(m, r, of);
  if (r < m.rows) add_rows_off<A, T, kSquares, false, 0>(m, r, of);
}

// The centre of a chunk is its first row, then the mean around that.
template <class A, class T>
void column_moments(const Rows& m, double before, double* sums, double* squares) {
  ColumnMoments<A> of;
  const std::int64_t columns = kernels::padded(m.columns);
  const auto n = static_cast<double>(m.rows);
  for (std::int64_t c = 0; c < columns; c += kWidth<A>) {
    store<A>(Vec<A>{}, of.centre + c);
    store<A>(Vec<A>{}, of.off + c);
  }
  for_row<A>(m.columns, [&](auto unit, std::int64_t column, auto part) NORMGRAD_LAMBDA {
    Vec<A> first[2];
    load_unit(row<T>(m.x, 0, 0) + column + unit * kUnit<A>, part, first[0], first[1]);
    store<A>(first[0], of.centre + column + first_vector<A, T>(unit) * kWidth<A>);
    store<A>(first[1], of.centre + column + second_vector<A, T>(unit) * kWidth<A>);
  });
  if (m.x_ahead == 0) {
    sweep_columns<A, T, false, false>(m, of);
  } else {
    sweep_columns<A, T, false, true>(m, of);
  }
  const Vec<A> share = all<A>(static_cast<A>(-1 / n));
  for (std::int64_t c = 0; c < columns; c += kWidth<A>) {
    store<A>(multiply_add(load<A>(of.off + c), share, load<A>(of.centre + c)), of.centre + c);
  }
  clear(of.sum, columns);
  clear(of.squares, columns);
  sweep_columns<A, T, true, false>(m, of);
  const kernels::Merge merge(before, n);
  for (std::int64_t c = 0; c < columns; c += kDoubles) {
    Floats narrow;
    std::memcpy(&narrow, of.centre + c, sizeof(narrow));
    const Doubles off = load_doubles(of.sum + c);
    Doubles sum = load_doubles(sums + c), square = load_doubles(squares + c);
    merge(__builtin_convertvector(narrow, Doubles) * n - off,
          load_doubles(of.squares + c) - off * off * (1 / n), sum, square);
    store_doubles(sum, sums + c);
    store_doubles(square, squares + c);
  }
}

inline void merge_moments(const kernels::Merge& merge, const double* from, double* to,
                          std::int64_t pitch, std::int64_t count) {
  for (std::int64_t c = 0; c < count; c += kDoubles) {
    Doubles sum = load_doubles(to + c), squares = load_doubles(to + pitch + c);
    merge(load_doubles(from + c), load_doubles(from + pitch + c), sum, squares);
    store_doubles(sum, to + c);
    store_doubles(squares, to + pitch + c);
  }
}

}  // namespace normgrad::NORMGRAD_TARGET
