#include "ops/channel_moments.h"

#include "ops/channel_sums.h"

namespace ops_test {
namespace {

// squares = squares_a + squares_b + n_a*n_b/(n_a + n_b)*(mean_b - mean_a)^2, without means.
Moments together(const Moments& a, const Moments& b) {
  const double share = a.n == 0 ? 0 : 1 / (a.n * b.n * (a.n + b.n));
  const double distance = b.sum * a.n - a.sum * b.n;
  return {a.n + b.n, a.sum + b.sum, (a.squares + b.squares) + distance * distance * share};
}

// By stride doubling.
Moments fold(std::vector<Moments> parts) {
  for (std::size_t s = 1; s < parts.size(); s *= 2) {
    for (std::size_t i = 0; i + s < parts.size(); i += 2 * s) {
      parts[i] = together(parts[i], parts[i + s]);
    }
  }
  return parts[0];
}

double off(Arithmetic arithmetic, double x, double centre) {
  if (arithmetic == Arithmetic::kExact) return x - centre;
  return static_cast<float>(x) - static_cast<float>(centre);
}

// Around what is close to the mean of a part: its moments, from the sums of x off there. exact: the sum around 0.
Moments from_centre(Arithmetic arithmetic, double n, double centre, double sum_off, double squares,
                    double exact_sum) {
  const bool exact = arithmetic == Arithmetic::kExact;
  return {n, exact ? exact_sum : n * centre + sum_off, squares};
}

// Chunk by chunk, in two sweeps: around its first element (exact: 0), then around the mean that this gives. Every n is a
// piece.
Moments plane_moments(const ChannelWalk& in, Arithmetic arithmetic) {
  const bool exact = arithmetic == Arithmetic::kExact;
  std::vector<Moments> chunks;
  for (const Chunk& chunk : chunks_of(in.count_n, in.count_l)) {
    const std::size_t length = chunk.l.end - chunk.l.begin;
    const auto n = static_cast<double>((chunk.n.end - chunk.n.begin) * length);
    const auto x = [&](std::size_t row, std::size_t l) {
      return in.p.value[kX][in.index(row, chunk.l.begin + l)];
    };
    const auto sum = [&](double centre, bool squares) {
      Totals totals(arithmetic, in.p.data_format());
      for (std::size_t row = chunk.n.begin; row < chunk.n.end; ++row) {
        totals.add_piece(length, [&](std::size_t l) {
          const double d = off(arithmetic, x(row, l), centre);
          return squares ? Term{d, d} : Term{d};
        });
      }
      return totals.sum();
    };
    const double first = exact ? 0 : x(chunk.n.begin, 0), around_first = sum(first, false);
    const double mean = first + around_first / n;
    const double centre = exact ? mean : static_cast<double>(static_cast<float>(mean));
    const double rest = sum(centre, false);
    chunks.push_back(from_centre(arithmetic, n, centre, rest, sum(centre, true) - rest * rest / n,
                                 around_first));
  }
  return fold(chunks);
}

// Down a column, whose elements x(0), ..., x(rows - 1) are: chunks of 64, one after the other. In fast arithmetic the first
// sweep is one chain.
template <class At>
Moments column_moments(Arithmetic arithmetic, Range rows, const At& x) {
  Moments all;
  for (const Range part : parts_of(rows.end - rows.begin, 64)) {
    const std::size_t begin = rows.begin + part.begin, end = rows.begin + part.end;
    const auto n = static_cast<double>(end - begin);
    const double first = x(begin);
    double around_first = 0, sum = 0;
    for (std::size_t row = begin; row < end; ++row) sum += x(row);
    double centre = sum / n;
    if (arithmetic == Arithmetic::kFast) {
      for (std::size_t row = begin; row < end; ++row) {
        around_first =
            static_cast<float>(around_first) + static_cast<float>(off(arithmetic, x(row), first));
      }
      centre = multiply_add(arithmetic, around_first, 1 / n, first);
    }
    double rest = 0, squares = 0;
    const std::size_t group_rows = arithmetic == Arithmetic::kFast ? kGroupRows : end - begin;
    for (const Range group : parts_of(end - begin, group_rows)) {
      double chain = 0, square_chain = 0;
      for (std::size_t row = begin + group.begin; row < begin + group.end; ++row) {
        const double d = off(arithmetic, x(row), centre);
        chain = multiply_add(arithmetic, d, 1, chain);
        square_chain = multiply_add(arithmetic, d, d, square_chain);
      }
      rest += chain;
      squares += square_chain;
    }
    if (arithmetic == Arithmetic::kFast) squares -= rest * rest * (1 / n);
    all = together(all, from_centre(arithmetic, n, centre, rest, squares, sum));
  }
  return all;
}

// Pixels that fill no row are a part by themselves, the last one.
Moments pixel_moments(const ChannelWalk& in, Arithmetic arithmetic) {
  const std::size_t pixels = in.count_n * in.count_l;
  const std::size_t k = pixels_in_a_row(in.e.channels, pixels), rows = pixels / k;
  std::vector<Moments> columns;
  for (std::size_t in_row = 0; in_row < k; ++in_row) {
    std::vector<Moments> blocks;
    for (const Range block : parts_of(rows, block_rows_of_pixels(rows, k * in.e.channels))) {
      blocks.push_back(column_moments(arithmetic, block, [&](std::size_t row) {
        return in.p.value[kX][in.index(0, row * k + in_row)];
      }));
    }
    columns.push_back(fold(blocks));
  }
  const Moments whole = fold(columns);
  if (pixels % k == 0) return whole;
  return together(whole, column_moments(arithmetic, {rows * k, pixels}, [&](std::size_t pixel) {
                    return in.p.value[kX][in.index(0, pixel)];
                  }));
}

}  // namespace

Moments channel_moments(const ChannelWalk& in, Arithmetic arithmetic) {
  return walks_pixels(in.p) ? pixel_moments(in, arithmetic) : plane_moments(in, arithmetic);
}

}  // namespace ops_test
