// The accumulation tree of docs/architecture.md, written for reading: one addition after the other,
// in the order that every path of the library must reproduce. A: the type of the arithmetic, double
// for f32 data, float for 16-bit data.
#ifndef TESTS_OPS_TREE_H
#define TESTS_OPS_TREE_H

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace ops_test {

inline constexpr std::size_t kLanes = 16;
inline constexpr std::size_t kChunk = 4096;
inline constexpr std::size_t kChain = 8;  // additions in f32 before the sum goes to f64
inline constexpr std::size_t kRunRows = 256;

// p[i] += p[i + s], s = 1, 2, 4, ...
inline double fold(std::vector<double> p) {
  for (std::size_t s = 1; s < p.size(); s *= 2) {
    for (std::size_t i = 0; i + s < p.size(); i += 2 * s) p[i] += p[i + s];
  }
  return p.empty() ? 0 : p[0];
}

// Adds terms of type A to a double: each by itself (double), or up to 8 at a time, summed in float
// from +0.
template <class A>
struct Accumulator {
  double sum = 0;
  A chain = 0;

  void add(A term) { std::is_same_v<A, double> ? void(sum += term) : void(chain += term); }
  void flush() { sum += chain, chain = 0; }
};

template <class A, class Term>
double sum_chunk(std::size_t n0, std::size_t n1, std::size_t l0, std::size_t l1, const Term& term) {
  Accumulator<A> lane[kLanes];
  std::size_t steps = 0;
  for (std::size_t n = n0; n < n1; ++n) {
    for (std::size_t l = l0; l < l1; l += kLanes) {
      for (std::size_t j = 0; j < kLanes && l + j < l1; ++j) lane[j].add(term(n, l + j));
      if (++steps % kChain == 0) std::for_each(lane, lane + kLanes, [](auto& a) { a.flush(); });
    }
  }
  std::for_each(lane, lane + kLanes, [](auto& a) { a.flush(); });
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) lane[j].sum += lane[j + half].sum;
  }
  return lane[0].sum;
}

// The sum of term(n, l) over count_n x count_l.
template <class A, class Term>
double tree_sum(std::size_t count_n, std::size_t count_l, const Term& term) {
  if (count_n == 0 || count_l == 0) return 0;
  const std::size_t chunk_l = std::min(count_l, kChunk);
  const std::size_t chunk_n = std::max<std::size_t>(1, kChunk / count_l);
  std::vector<double> chunks;
  for (std::size_t n = 0; n < count_n; n += chunk_n) {
    for (std::size_t l = 0; l < count_l; l += chunk_l) {
      chunks.push_back(
          sum_chunk<A>(n, std::min(n + chunk_n, count_n), l, std::min(l + chunk_l, count_l), term));
    }
  }
  return fold(chunks);
}

// The sum of term(row) down a column. wide(group): the rows of this aligned group of 8 are added
// one by one in f64, by wide_term(row).
template <class A, class Term, class Wide, class WideTerm>
double column_sum(std::size_t rows, const Term& term, const Wide& wide, const WideTerm& wide_term) {
  const std::size_t share = (rows + 63) / 64;
  const std::size_t block_rows = std::max<std::size_t>(64, (share + 63) / 64 * 64);
  std::vector<double> blocks;
  for (std::size_t begin = 0; begin < rows; begin += block_rows) {
    const std::size_t end = std::min(rows, begin + block_rows);
    double block = 0;
    for (std::size_t run = begin; run < end; run += kRunRows) {
      Accumulator<A> column;
      for (std::size_t row = run; row < std::min(end, run + kRunRows); ++row) {
        wide(row / kChain) ? void(column.sum += wide_term(row)) : column.add(term(row));
        if ((row - begin) % kChain == kChain - 1) column.flush();
      }
      column.flush();
      block += column.sum;
    }
    blocks.push_back(block);
  }
  return fold(blocks);
}

}  // namespace ops_test

#endif
