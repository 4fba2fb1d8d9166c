// The exact kernels: f64, one rounding at the store, plain loops. No speed is promised. Every formula is computed as it is
// written, with its factors outside, so that statistics that are not finite have the results that the formula has.
#include <cmath>
#include <type_traits>

#include "kernels/element.h"
#include "kernels/sets.h"

namespace normgrad::exact {

using kernels::ChannelMaps;
using kernels::Form;
using kernels::RowMap;
using kernels::Rows;
using kernels::Terms;

// Of a column in rows of numbers per column.
template <class T>
std::int64_t lane_of(std::int64_t column) {
  constexpr bool kIsBf16 = std::is_same_v<T, kernels::BFloat>;
  return kernels::lane_of(kIsBf16 ? DataType::kBF16 : DataType::kF32, column);
}

template <class T>
double element(const void* data, std::int64_t stride, std::int64_t r, std::int64_t c) {
  const auto* row = reinterpret_cast<const T*>(static_cast<const char*>(data) + r * stride);
  return kernels::to_double(kernels::read(row + c));
}
template <class T>
void put(const Rows& m, std::int64_t r, std::int64_t c, double value) {
  auto* row = reinterpret_cast<T*>(static_cast<char*>(m.out) + r * m.out_stride);
  kernels::write(row + c, kernels::round_to<T>(value));
}

double normalized(double x, const RowMap& map) { return (x - map.mean) * map.r; }
double mapped(double g, double x_n, const RowMap& map) {
  return map.scale * ((g * map.w - map.c1) - x_n * map.c2);
}

// Added to 16 numbers a row: element c belongs to lane c mod 8. w null: 1.
template <class T>
void row_totals(Terms terms, const Rows& m, const float* w, const RowMap* map, double* totals) {
  for (std::int64_t r = 0; r < m.rows; ++r, totals += kernels::kTotals) {
    for (std::int64_t c = 0; c < m.columns; ++c) {
      const double dy = element<T>(m.g, m.g_stride, r, c), x = element<T>(m.x, m.x_stride, r, c);
      const double g = w == nullptr ? dy : dy * static_cast<double>(w[lane_of<T>(c)]);
      double *first = totals + c % 8, *second = totals + 8 + c % 8;
      if (terms == Terms::kWgxAndSquares) {
        *first += g * x;
        *second += x * x;
      } else {
        *first += g;
        *second += g * normalized(x, map[r]);
      }
    }
  }
}

template <class T>
void row_sums(Terms terms, const Rows& m, const float* w, const RowMap* map,
              kernels::GroupSums& sums) {
  double totals[kernels::kGroup * kernels::kTotals] = {};
  row_totals<T>(terms, m, w, map, totals);
  for (std::int64_t r = 0; r < m.rows; ++r) {
    const double* of_row = totals + r * kernels::kTotals;
    sums.first[r] = kernels::fold_totals(of_row);
    sums.second[r] = kernels::fold_totals(of_row + 8);
  }
}

// w null: 1.
template <class T>
void map_rows(const Rows& m, const float* w, const RowMap* map) {
  for (std::int64_t r = 0; r < m.rows; ++r) {
    for (std::int64_t c = 0; c < m.columns; ++c) {
      const double dy = element<T>(m.g, m.g_stride, r, c);
      const double g = w == nullptr ? dy : dy * static_cast<double>(w[lane_of<T>(c)]);
      put<T>(m, r, c, mapped(g, normalized(element<T>(m.x, m.x_stride, r, c), map[r]), map[r]));
    }
  }
}

// The eight lanes of sum(term(c)).
template <class Term>
double sum_of(std::int64_t columns, Term&& term) {
  double lanes[8] = {};
  for (std::int64_t c = 0; c < columns; ++c) lanes[c % 8] += term(c);
  return kernels::fold_totals(lanes);
}
// An infinite pivot is the mean.
template <class T>
void moments(kernels::About about, const Rows& m, kernels::GroupMoments& moments) {
  for (std::int64_t r = 0; r < m.rows; ++r) {
    const auto x = [&](std::int64_t c) { return element<T>(m.x, m.x_stride, r, c); };
    const bool centred = about == kernels::About::kMean;
    const double pivot = centred ? sum_of(m.columns, x) / static_cast<double>(m.columns) : 0;
    const auto off = [&](std::int64_t c) { return x(c) - pivot; };
    const double sum = centred && std::isfinite(pivot) ? sum_of(m.columns, off) : 0;
    moments.set(r,
                {pivot, sum, sum_of(m.columns, [&](std::int64_t c) { return off(c) * off(c); })});
  }
}

template <class T>
void normalize(const Rows& m, const float* w, const float* b, const kernels::GroupScales& scales,
               std::int64_t first) {
  for (std::int64_t r = 0; r < m.rows; ++r) {
    const double mean = scales.mean[first + r], rest = scales.rest[first + r];
    const double scale = scales.r[first + r];
    for (std::int64_t c = 0; c < m.columns; ++c) {
      const double x = element<T>(m.x, m.x_stride, r, c), weight = w[lane_of<T>(c)];
      const double x_n = (b == nullptr ? x : (x - mean) - rest) * scale;
      put<T>(m, r, c, b == nullptr ? x_n * weight : x_n * weight + double{b[lane_of<T>(c)]});
    }
  }
}

template <class T>
void load_numbers(const void* from, bool is_f32, std::int64_t columns, float* lanes) {
  const std::int64_t padded = kernels::padded(columns);
  for (std::int64_t c = padded - kernels::kStepColumns; c < padded; ++c) lanes[c] = 0;
  for (std::int64_t c = 0; c < columns; ++c) {
    lanes[lane_of<T>(c)] = is_f32 ? kernels::read(static_cast<const float*>(from) + c)
                                  : static_cast<float>(kernels::to_double(
                                        kernels::read(static_cast<const T*>(from) + c)));
  }
}

template <class T>
void store_sums(const double* sums, std::int64_t columns, bool is_f32, void* to) {
  for (std::int64_t c = 0; c < columns; ++c) {
    const double sum = sums[lane_of<T>(c)];
    if (is_f32) {
      kernels::write(static_cast<float*>(to) + c, kernels::round_to<float>(sum));
    } else {
      kernels::write(static_cast<T*>(to) + c, kernels::round_to<T>(sum));
    }
  }
}

void end_chain(const void* chain, double* sums, std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; ++c) sums[c] += static_cast<const double*>(chain)[c];
}

template <class T>
void row_gradients(const Rows& m, const float* w, const RowMap* map,
                   const kernels::ColumnChains& chains) {
  const std::int64_t columns = kernels::padded(m.columns);
  auto *dw = static_cast<double*>(chains.dw), *db = static_cast<double*>(chains.db);
  for (std::int64_t c = 0; chains.begin && c < columns; ++c) {
    dw[c] = 0;
    if (db != nullptr) db[c] = 0;
  }
  for (std::int64_t r = 0; r < m.rows; ++r) {
    for (std::int64_t c = 0; c < m.columns; ++c) {
      const std::int64_t lane = lane_of<T>(c);
      const double dy = element<T>(m.g, m.g_stride, r, c);
      const double x_n = normalized(element<T>(m.x, m.x_stride, r, c), map[r]);
      put<T>(m, r, c, mapped(dy * static_cast<double>(w[lane]), x_n, map[r]));
      dw[lane] += dy * x_n;
      if (db != nullptr) db[lane] += dy;
    }
  }
  if (!chains.end) return;
  end_chain(dw, chains.dw_sums, columns);
  if (db != nullptr) end_chain(db, chains.db_sums, columns);
}

void clear(double* numbers, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) numbers[i] = 0;
}

void add(const double* terms, double* sums, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sums[i] += terms[i];
}

// Maps of channels are read as they are.
void prepare_planes(Form, const ChannelMaps&, std::int64_t) {}
void prepare_columns(Form, ChannelMaps&, std::int64_t, std::int64_t) {}

template <class T>
void plane_sums(const Rows& m, const ChannelMaps& maps, double* totals) {
  row_totals<T>(Terms::kWg, m, nullptr, maps.maps + maps.first, totals);
}
template <class T>
double channel_out(Form form, const Rows& m, std::int64_t r, std::int64_t c, const RowMap& map) {
  const double x = element<T>(m.x, m.x_stride, r, c);
  if (form == Form::kX) return ((x - map.mean) - map.rest) * map.scale + map.shift;
  const double dy = element<T>(m.g, m.g_stride, r, c);
  return form == Form::kG ? dy * map.scale : mapped(dy, normalized(x, map), map);
}
template <class T>
void map_planes(Form form, const Rows& m, const ChannelMaps& maps) {
  const RowMap* map = maps.maps + maps.first;
  for (std::int64_t r = 0; r < m.rows; ++r) {
    for (std::int64_t c = 0; c < m.columns; ++c) {
      put<T>(m, r, c, channel_out<T>(form, m, r, c, map[r]));
    }
  }
}

const RowMap& map_of(const ChannelMaps& maps, std::int64_t column) {
  return maps.maps[(maps.first + column) % maps.channels];
}

template <class T>
void column_sums(const Rows& m, const ChannelMaps& maps, double* sum_g, double* sum_gx) {
  for (std::int64_t c = 0; c < m.columns; ++c) {
    const RowMap& map = map_of(maps, c);
    double g_chain = 0, gx_chain = 0;
    for (std::int64_t r = 0; r < m.rows; ++r) {
      const double dy = element<T>(m.g, m.g_stride, r, c);
      g_chain += dy;
      gx_chain += dy * normalized(element<T>(m.x, m.x_stride, r, c), map);
    }
    sum_g[lane_of<T>(c)] += g_chain;
    sum_gx[lane_of<T>(c)] += gx_chain;
  }
}

template <class T>
void map_columns(Form form, const Rows& m, const ChannelMaps& maps) {
  for (std::int64_t r = 0; r < m.rows; ++r) {
    for (std::int64_t c = 0; c < m.columns; ++c) {
      put<T>(m, r, c, channel_out<T>(form, m, r, c, map_of(maps, c)));
    }
  }
}

template <class T>
void plane_moments(bool squares, const Rows& m, const double* centres, double* totals) {
  for (std::int64_t r = 0; r < m.rows; ++r, totals += kernels::kTotals) {
    for (std::int64_t c = 0; c < m.columns; ++c) {
      const double off = centres[r] - element<T>(m.x, m.x_stride, r, c);
      totals[c % 8] += off;
      if (squares) totals[8 + c % 8] += off * off;
    }
  }
}

template <class T>
void column_moments(const Rows& m, double before, double* sums, double* squares) {
  const auto n = static_cast<double>(m.rows);
  const kernels::Merge merge(before, n);
  for (std::int64_t c = 0; c < m.columns; ++c) {
    double sum = 0, square = 0;
    for (std::int64_t r = 0; r < m.rows; ++r) sum += element<T>(m.x, m.x_stride, r, c);
    const double mean = sum / n;
    for (std::int64_t r = 0; r < m.rows; ++r) {
      const double off = mean - element<T>(m.x, m.x_stride, r, c);
      square += off * off;
    }
    merge(sum, square, sums[lane_of<T>(c)], squares[lane_of<T>(c)]);
  }
}

void merge_moments(const kernels::Merge& merge, const double* from, double* to, std::int64_t pitch,
                   std::int64_t count) {
  for (std::int64_t c = 0; c < count; ++c) merge(from[c], from[pitch + c], to[c], to[pitch + c]);
}

template <class T, class Body>
void for_numbers(const void* from, std::int64_t count, void* to, Body&& body) {
  auto* numbers = static_cast<double*>(to);
  for (std::int64_t i = 0; i < count; ++i) {
    numbers[i] =
        body(kernels::to_double(kernels::read(static_cast<const T*>(from) + i)), numbers[i]);
  }
}
template <class T>
void widen(const void* from, std::int64_t count, void* to) {
  for_numbers<T>(from, count, to, [](double element, double) { return element; });
}
template <class T>
void widen_add(double factor, const void* from, std::int64_t count, void* to) {
  for_numbers<T>(from, count, to, [factor](double element, double number) {
    return std::fma(factor, element, number);
  });
}
template <class T>
void widen_scale(const void* from, std::int64_t count, void* to) {
  for_numbers<T>(from, count, to,
                 [](double element, double number) { return std::fma(number, element, number); });
}
template <class T>
void narrow(double factor, const void* from, std::int64_t count, void* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    kernels::write(static_cast<T*>(to) + i,
                   kernels::round_to<T>(factor * static_cast<const double*>(from)[i]));
  }
}

template <class T>
constexpr kernels::Kernels kernel_set() {
  return {row_sums<T>,
          map_rows<T>,
          row_gradients<T>,
          moments<T>,
          normalize<T>,
          load_numbers<T>,
          store_sums<T>,
          end_chain,
          clear,
          add,
          prepare_planes,
          plane_sums<T>,
          map_planes<T>,
          prepare_columns,
          column_sums<T>,
          map_columns<T>,
          plane_moments<T>,
          column_moments<T>,
          merge_moments,
          widen<T>,
          widen_add<T>,
          widen_scale<T>,
          narrow<T>,
          kernels::stream,
          true,
          false};
}

const kernels::ExactKernelSets kExact = {
    {kernel_set<kernels::Half>(), kernel_set<kernels::BFloat>(), kernel_set<float>()},
    kernel_set<double>()};

}  // namespace normgrad::exact
