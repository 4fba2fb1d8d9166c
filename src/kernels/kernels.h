// The kernels, which know no operator: sums along rows, sums down columns, the affine map
//   out = a*g + b*(x - mean) + c        g = dy, or w*dy with w per column
// and, for weights that vary along a row, map and column sums in one sweep. A set of them serves one element type, one
// arithmetic and one instruction set.
#ifndef NORMGRAD_KERNELS_KERNELS_H
#define NORMGRAD_KERNELS_KERNELS_H

#include <cstddef>
#include <cstdint>

#include "kernels/merge.h"
#include "normgrad/settings.h"
#include "normgrad/tensor.h"

namespace normgrad::kernels {

// Rows of neighbouring elements, a constant number of bytes apart.
struct Rows {
  const void* g;  // dy
  const void* x;
  void* out;
  std::int64_t g_stride, x_stride, out_stride;  // in bytes
  std::int64_t rows, columns;
  // To be fetched while these are mapped: what lies so many bytes behind; 0: nothing.
  std::int64_t g_ahead = 0, x_ahead = 0;
  // Whether out is stored past the cache, if fills_lines (below) and begin_lines().
  bool past_cache = false;
  // Which rows and columns these are: for drivers.
  std::int64_t row = 0, column = 0;
};

// Whether rows of out begin with a cache line.
inline bool begin_lines(const Rows& rows) {
  const auto strides = static_cast<std::uintptr_t>(rows.rows > 1 ? rows.out_stride : 0);
  return (reinterpret_cast<std::uintptr_t>(rows.out) | strides) % 64 == 0;
}

// Whether f32 has a coefficient with room for the products it takes part in; else exact kernels do its row or channel.
inline bool in_range(double value) {
  const double size = value < 0 ? -value : value;
  return size == 0 || (size >= 1e-30 && size <= 1e30);
}
// And of two at once, which are asked for every row. Not 0: it is.
typedef double TwoDoubles __attribute__((vector_size(16)));
typedef std::int64_t TwoBits __attribute__((vector_size(16)));
inline TwoBits are_in_range(TwoDoubles values) {
  const auto size = (TwoDoubles)((TwoBits)values & ~(std::int64_t{1} << 63));
  return ((size >= 1e-30) & (size <= 1e30)) | (size == 0.0);
}

// What is constant along a row, or down a column:
//   out = scale*(w*g - c1 - x_n*c2)  with  x_n = (x - mean)*r
// (w: of a plane; where it varies along a row, g has it already.) Exact kernels compute just that. Fast kernels multiply it out, with three coefficients rounded to f32:
//   out = a*g + b*(x - mean) + c
// and of a mean with more digits than f32 they also subtract the rest.
struct RowMap {
  double mean = 0, r = 1;
  double scale = 0, c1 = 0, c2 = 0;
  // Of a map of x alone (Form::kX), out = scale*((x - mean) - rest) + shift. Fast kernels subtract as much of the mean as f32
  // has, which leaves a constant.
  double rest = 0, shift = 0;
  double w = 1;

  double constant() const {
    const double left = (mean - static_cast<double>(static_cast<float>(mean))) + rest;
    return left == left ? shift - left * scale : shift;  // an infinite mean leaves nothing
  }
  double a() const { return scale * w; }
  double b() const { return -(scale * c2 * r); }
  double c() const { return -(scale * c1); }

  // What fast kernels read: a, b, c and r in f32.
  struct Rounded {
    float a, b, c, r;
  } rounded = {};
  // Rounds them. Returns whether all are in range; `factor` is the r that they came from.
  bool round(double factor) {
    typedef float Pair __attribute__((vector_size(8)));
    const TwoDoubles ab = {a(), b()}, cr = {c(), factor};
    const Pair first = __builtin_convertvector(ab, Pair), last = __builtin_convertvector(cr, Pair);
    rounded = {first[0], first[1], last[0], last[1]};
    const TwoBits fit = are_in_range(ab) & are_in_range(cr);
    return (fit[0] & fit[1]) != 0;
  }
};

// The maps of channels. By planes row r is of channel first + r; by pixels column c is of channel (first + c) mod channels.
// Fast kernels read them as rows of numbers, which prepare_... make of them.
struct ChannelMaps {
  const RowMap* maps;
  std::int64_t channels;
  std::int64_t first;      // by pixels: a multiple of 32
  std::int64_t pitch;      // from row to row of `rows`
  float* rows;             // kChannelMapRows rows
  bool have_rest = false;  // by pixels
};
inline constexpr int kChannelMapRows = 5;

// Rows that are in work together. Their numbers lie number by number and not row by row: what is scalar in a row is then
// done for several rows in one instruction.
inline constexpr int kGroup = 16;

// Which two sums a row has, with x_mu = x - mean; exact kernels have x_n in its place.
enum class Terms { kWg, kWgxAndSquares };  // (w*g, w*g*x_mu), (w*g*x, x*x)
struct RowSums {
  double first, second;
};
struct GroupSums {
  double first[kGroup], second[kGroup];
  RowSums of(std::int64_t r) const { return {first[r], second[r]}; }
  void set(std::int64_t r, const RowSums& s) { first[r] = s.first, second[r] = s.second; }
};

// The sums of a row around a pivot near its mean, sum(x - pivot) and sum((x - pivot)^2), or around 0: sum(x^2) alone.
enum class About { kZero, kMean };
struct Moments {
  double pivot, sum, squares;
};
struct GroupMoments {
  double pivot[kGroup], sum[kGroup], squares[kGroup];
  Moments of(std::int64_t r) const { return {pivot[r], sum[r], squares[r]}; }
  void set(std::int64_t r, const Moments& m) {
    pivot[r] = m.pivot, sum[r] = m.sum, squares[r] = m.squares;
  }
};
// At most so many columns have one pivot: they lie in the nearest cache.
inline constexpr std::int64_t kMomentColumns = 4096;
// The mean of a row's first columns is nearly always near enough to that of all: then the row is read once less. Of one
// column in 16, at least 64.
inline __attribute__((always_inline)) std::int64_t sample_of(std::int64_t columns) {
  const std::int64_t sample = columns <= 1024 ? 64 : columns <= 2048 ? 128 : 256;
  return columns < sample ? columns : sample;
}
// Whether such a pivot is so far from the mean of n columns, by d, that sums around it lose digits to d: at d^2 > squares/n *
// 8/sample, which is rare. Nearer, var = squares/n - d^2 keeps 7/8 of what it is the difference of, and d is at most 7 times
// mean|x - mean|, however few outliers the squares come from: sum(x - pivot) and so the mean keep their bound.
inline __attribute__((always_inline)) bool is_far(const Moments& m, double n, double sample) {
  return m.sum * m.sum * sample > m.squares * n * 8;
}

// What is constant along a row of  out = x_n*w + b  with  x_n = (x - mean)*r;  mean + rest has more digits than one number.
struct RowScale {
  double mean, rest, r;
};
struct GroupScales {
  double mean[kGroup], rest[kGroup], r[kGroup];

  // Fast kernels compute x_n = (x - mean)*r + shift with the mean in f32, and in shift what that leaves of it.
  struct {
    float mean[kGroup], shift[kGroup], r[kGroup];
  } rounded;
  RowScale of(std::int64_t row) const { return {mean[row], rest[row], r[row]}; }
  void set(std::int64_t row, const RowScale& s) {
    mean[row] = s.mean, rest[row] = s.rest, r[row] = s.r;
    const auto high = static_cast<float>(s.mean);
    rounded.mean[row] = high;
    rounded.shift[row] = static_cast<float>(-((s.mean - static_cast<double>(high)) + s.rest) * s.r);
    rounded.r[row] = static_cast<float>(s.r);
  }
};

// What the map of a channel reads: g alone (out = scale*g), g and x, or x alone.
enum class Form { kG, kGX, kX };

// Eight f64 lanes for each of a row's two sums.
inline constexpr int kTotals = 16;
// The eight lanes of a sum as one number.
inline __attribute__((always_inline)) TwoDoubles fold_to_two(const double* t) {
  typedef double Unaligned __attribute__((vector_size(16), aligned(8)));
  const auto two = [t](int i) -> TwoDoubles { return *reinterpret_cast<const Unaligned*>(t + i); };
  return (two(0) + two(4)) + (two(2) + two(6));
}
inline __attribute__((always_inline)) double fold_totals(const double* t) {
  const TwoDoubles sums = fold_to_two(t);
  return sums[0] + sums[1];
}
// Columns are cut into steps of 32. Rows of numbers per column are padded to whole steps.
inline constexpr std::int64_t kStepColumns = 32;
constexpr std::int64_t padded(std::int64_t columns) {
  return (columns + kStepColumns - 1) / kStepColumns * kStepColumns;
}
// A chain in the kernels' arithmetic has at most so many terms; then it is added to an f64 sum.
inline constexpr std::int64_t kChain = 8;
// Rows of so few columns are mapped several at once.
inline constexpr std::int64_t kShortColumns = 128;
// Rows and columns of a chunk whose moments are taken at once: it stays in the second cache.
inline constexpr std::int64_t kChunkRows = 64, kChunkColumns = 512;

// The chains of dw and db, rows of numbers of the kernels' arithmetic, and the f64 sums that they are added to. db and
// db_sums: null if there is no db.
struct ColumnChains {
  void *dw, *db;
  double *dw_sums, *db_sums;
  // With these rows: what the chains held is forgotten; they are added to the sums.
  bool begin, end;
};

// Rows of numbers per column (w, chains, sums) lie in the order of lanes, which is that of columns but for bf16. There, of
// every eight columns, the first four go to the lower half of a step, the others to the upper: vectors of AVX2 and AVX-512
// are then unpacked and packed without a shuffle.
constexpr std::int64_t lane_of(DataType dtype, std::int64_t column) {
  if (dtype != DataType::kBF16) return column;
  // The last bit of the number of the group of four becomes the first.
  return (column & ~std::int64_t{28}) | (column & 24) >> 1 | (column & 4) << 2;
}

struct Kernels {
  // Each row's two sums, of at most kGroup rows.
  void (*row_sums)(Terms, const Rows&, const float* w, const RowMap*, GroupSums&);
  // out of each row.
  void (*map_rows)(const Rows&, const float* w, const RowMap*);
  // out of each row, and its terms, g*x_n and g, onto the chains of dw and db.
  void (*row_gradients)(const Rows&, const float* w, const RowMap*, const ColumnChains&);
  // The moments of each of at most kGroup rows, of at most kMomentColumns.
  void (*moments)(About, const Rows&, GroupMoments&);
  // out of each row, the first with the scale `first`. b null: nothing is centred, and 0.
  void (*normalize)(const Rows&, const float* w, const float* b, const GroupScales&,
                    std::int64_t first);
  // `columns` neighbouring numbers, of the elements' type or f32, into lanes; what fills the last step is 0.
  void (*load_numbers)(const void* from, bool is_f32, std::int64_t columns, float* lanes);
  // And sums of lanes out, each rounded once.
  void (*store_sums)(const double* sums, std::int64_t columns, bool is_f32, void* to);
  // Adds a chain to its f64 sums, both of `columns` (a whole number of steps).
  void (*end_chain)(const void* chain, double* sums, std::int64_t columns);
  // Sets numbers (a whole number of steps) to 0, or adds to them.
  void (*clear)(double* numbers, std::int64_t count);
  void (*add)(const double* terms, double* sums, std::int64_t count);
  // By planes: makes of maps.maps[0], ..., maps.maps[count - 1] what the next two read; adds each row's sums of g and
  // g*x_mu to its totals: 16 numbers a row, eight lanes of the first sum, eight of the second; out of each row.
  void (*prepare_planes)(Form, const ChannelMaps&, std::int64_t count);
  void (*plane_sums)(const Rows&, const ChannelMaps&, double* totals);
  void (*map_planes)(Form, const Rows&, const ChannelMaps&);
  // By pixels: makes of maps.maps what the next two read, for columns [begin, end), which begin with channel 0 or are not
  // more than there are channels; adds the sums of at most 8 rows to two rows of f64, as one chain each; out of each row.
  void (*prepare_columns)(Form, ChannelMaps&, std::int64_t begin, std::int64_t end);
  void (*column_sums)(const Rows&, const ChannelMaps&, double* sum_g, double* sum_gx);
  void (*map_columns)(Form, const Rows&, const ChannelMaps&);
  // Moments (kernels/merge.h) of x. By planes: adds each row's sums of centre - x, and of its square if that is wanted, to
  // its totals. By pixels: adds the moments of a chunk of rows to those of the `before` rows above it. And adds moments to
  // moments, for `count` columns, a whole number of steps; squares lie `pitch` behind sums.
  void (*plane_moments)(bool squares, const Rows&, const double* centres, double* totals);
  void (*column_moments)(const Rows&, double before, double* sums, double* squares);
  void (*merge_moments)(const Merge&, const double* from, double* to, std::int64_t pitch,
                        std::int64_t count);
  // Between elements and numbers of the kernels' arithmetic, `count` of each, in the order of columns. Whole units of numbers are
  // written and read: their rows are padded to whole steps.
  //   widen: to = from;   widen_add: to = fma(factor, from, to);   widen_scale: to = fma(to, from, to);   narrow: to = factor*from
  void (*widen)(const void* from, std::int64_t count, void* to);
  void (*widen_add)(double factor, const void* from, std::int64_t count, void* to);
  void (*widen_scale)(const void* from, std::int64_t count, void* to);
  void (*narrow)(double factor, const void* from, std::int64_t count, void* to);
  // Copies past the cache; end with stream_fence().
  void (*stream)(const void* from, void* to, std::size_t bytes);
  bool exact;
  // Whether row_gradients and the maps of channels can store past the cache: they fill whole lines.
  bool fills_lines;
};

void stream(const void* from, void* to, std::size_t bytes);
void stream_fence();

// Fast kernels of the instruction set that runs, or the exact ones, which alone have f64 elements.
const Kernels& kernels_for(DataType dtype, Arithmetic arithmetic);

}  // namespace normgrad::kernels

#endif
