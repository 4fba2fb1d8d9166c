// The additions of the backward operators in their one order (docs/architecture.md), written for reading: one after the
// other, as every path of the library must reproduce them. In fast arithmetic short chains are f32, all above is f64; in
// exact arithmetic everything is f64.
#ifndef TESTS_OPS_TREE_H
#define TESTS_OPS_TREE_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "normgrad/settings.h"
#include "reference/number_format.h"

namespace ops_test {

using normgrad::Arithmetic;

// Numbers of either arithmetic are held in doubles; those of fast are f32.
inline double product(Arithmetic arithmetic, double a, double b) {
  if (arithmetic == Arithmetic::kExact) return a * b;
  return static_cast<float>(a) * static_cast<float>(b);
}
// a*b + c: in fast one rounding, in exact two.
inline double multiply_add(Arithmetic arithmetic, double a, double b, double c) {
  if (arithmetic == Arithmetic::kExact) return a * b + c;
  return std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
}

// p[i] += p[i + s], s = 1, 2, 4, ...
inline double fold(std::vector<double> p) {
  for (std::size_t s = 1; s < p.size(); s *= 2) {
    for (std::size_t i = 0; i + s < p.size(); i += 2 * s) p[i] += p[i + s];
  }
  return p.empty() ? 0 : p[0];
}

struct Range {
  std::size_t begin, end;
};

// [0, count) in parts of `size`, the last one shorter.
inline std::vector<Range> parts_of(std::size_t count, std::size_t size) {
  std::vector<Range> out;
  for (std::size_t begin = 0; begin < count; begin += size) {
    out.push_back({begin, std::min(count, begin + size)});
  }
  return out;
}

// A channel, count_n x count_l elements, in chunks of about 4096: part of one n, or several whole ones.
struct Chunk {
  Range n, l;
};
inline std::vector<Chunk> chunks_of(std::size_t count_n, std::size_t count_l) {
  constexpr std::size_t kChunk = 4096;
  std::vector<Chunk> out;
  if (count_l == 0) return out;
  for (const Range n : parts_of(count_n, std::max<std::size_t>(1, kChunk / count_l))) {
    for (const Range l : parts_of(count_l, std::min(count_l, kChunk))) out.push_back({n, l});
  }
  return out;
}

// a*b. A plain term has b = 1: a*1 + c, fused or not, has the one rounding of a + c.
struct Term {
  double a, b = 1;
};

// A sum along memory, in eight f64 totals.
class Totals {
 public:
  Totals(Arithmetic arithmetic, reference::Format data) : arithmetic_(arithmetic), data_(data) {}

  // Adds term(0), ..., term(count - 1).
  template <class TermAt>
  void add_piece(std::size_t count, const TermAt& term) {
    if (arithmetic_ == Arithmetic::kFast) return add_chains(count, term);
    for (std::size_t i = 0; i < count; ++i) {
      total_[i % 8] = multiply_add(arithmetic_, term(i).a, term(i).b, total_[i % 8]);
    }
  }

  double sum() const {
    double t[4], u[2];
    for (int j = 0; j < 4; ++j) t[j] = total_[j] + total_[j + 4];
    for (int j = 0; j < 2; ++j) u[j] = t[j] + t[j + 2];
    return u[0] + u[1];
  }

 private:
  // 8 steps of 32 lanes make chains of 8, which are folded in f32 to eight numbers.
  template <class TermAt>
  void add_chains(std::size_t count, const TermAt& term) {
    for (const Range chunk : parts_of(count, 256)) {
      float lane[32] = {};
      for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
        const Term t = term(i);
        float& chain = lane[lane_of(i % 32)];
        chain = std::fma(static_cast<float>(t.a), static_cast<float>(t.b), chain);
      }
      for (int j = 0; j < 8; ++j) {
        const float eighth = (lane[j] + lane[j + 16]) + (lane[j + 8] + lane[j + 24]);
        total_[j] += static_cast<double>(eighth);
      }
    }
  }
  // bf16 is unpacked in groups of four: even groups to the first 16 lanes, odd ones to the others.
  std::size_t lane_of(std::size_t i) const {
    if (data_ != reference::Format::kBF16) return i;
    const std::size_t group = i / 4;
    return group % 2 * 16 + group / 2 * 4 + i % 4;
  }

  Arithmetic arithmetic_;
  reference::Format data_;
  double total_[8] = {};
};

// Rows in blocks, each cut into groups whose terms are one chain down a column.
using Block = std::vector<Range>;
inline constexpr std::size_t kGroupRows = 8;

inline std::size_t whole_groups(std::size_t rows) {
  return (rows + kGroupRows - 1) / kGroupRows * kGroupRows;
}
// At most 64 blocks, of 32 rows at least.
inline std::size_t block_rows_of(std::size_t rows) {
  return std::min<std::size_t>(32768, std::max<std::size_t>(32, whole_groups((rows + 63) / 64)));
}
// Of pixels: 1, 2, 4, ... 64 blocks, of 32768 elements at least.
inline std::size_t block_rows_of_pixels(std::size_t rows, std::size_t columns) {
  std::size_t blocks = 1;
  while (blocks < 64 && 2 * blocks * 32768 <= rows * columns) blocks *= 2;
  return std::min<std::size_t>(
      32768, std::max<std::size_t>(8, whole_groups((rows + blocks - 1) / blocks)));
}
inline std::vector<Block> row_blocks(std::size_t rows, std::size_t block_rows) {
  std::vector<Block> out;
  for (const Range block : parts_of(rows, block_rows)) {
    out.emplace_back();
    for (const Range group : parts_of(block.end - block.begin, kGroupRows)) {
      out.back().push_back({block.begin + group.begin, block.begin + group.end});
    }
  }
  return out;
}

// A sum down a column. add(rows, sum) adds a group of rows to its block's f64 sum.
template <class Add>
double column_sum(const std::vector<Block>& blocks, const Add& add) {
  std::vector<double> sums;
  for (const Block& block : blocks) {
    double sum = 0;
    for (const Range rows : block) add(rows, sum);
    sums.push_back(sum);
  }
  return fold(sums);
}

}  // namespace ops_test

#endif
