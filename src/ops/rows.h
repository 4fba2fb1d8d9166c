// Row norms (LayerNorm, RMSNorm): their split into rows and columns, and what both directions do with the arguments of a
// call: where rows lie, numbers per row and per column, output that goes past the cache.
#ifndef NORMGRAD_OPS_ROWS_H
#define NORMGRAD_OPS_ROWS_H

#include <algorithm>

#include "kernels/kernels.h"
#include "ops/operators.h"
#include "ops/plan.h"

namespace normgrad {

// Which argument plays which part; kAbsent: this operator has none.
inline constexpr int kAbsent = -1;

// Fills plan.row but for its blocks. Without elements there are no rows.
void split_rows(PlanBody& plan);

// Columns that are mapped at once where rows go by way of a tile, or are longer than the nearest cache.
inline constexpr std::int64_t kRange = 512;
// Rows are mapped right after their sums, as many together as fit into this much of the nearest cache.
inline constexpr std::int64_t kNearBytes = 32768;
// Rows of which a hardware prefetcher, which begins anew with every page, sees too little to come.
inline constexpr std::int64_t kFarRowBytes = 1024;

struct Columns {
  std::int64_t begin, end;
  std::int64_t count() const { return end - begin; }
};

// The numbers of some rows that kernels cannot walk, of the kernels' arithmetic: room for `capacity` of g (null: not read) and of x.
struct RowTile {
  void *g, *x;
  std::int64_t capacity;  // a multiple of a chain's columns
};

class RowArguments {
 public:
  RowArguments(const PlanBody& plan, void* const* data)
      : plan_(plan),
        split_(plan.row),
        data_(data),
        dtype_(walked_type(plan)),
        size_(size_of(dtype_)) {}

  // Of the elements that kernels walk: those of tiles if rows are packed.
  static DataType walked_type(const PlanBody& plan) {
    if (!plan.row.packed) return plan.tensor(plan.op->data).dtype;
    return plan.arithmetic == Arithmetic::kExact ? DataType::kF64 : DataType::kF32;
  }
  DataType dtype() const { return dtype_; }
  bool packed() const { return split_.packed; }
  std::int64_t row_bytes() const { return split_.columns * size_; }
  bool wanted(int role) const { return role != kAbsent && plan_.argument[role].tensor.present(); }
  bool is_in_place(int out, int in) const { return data_[out] == data_[in]; }

  // Rows [row, row + count), which lie evenly spaced. Null in Rows: what is absent or not wanted.
  kernels::Rows rows(int g, int x, int out, std::int64_t row, std::int64_t count) const {
    kernels::Rows rows{address(g, row), address(x, row), address(out, row), stride(g), stride(x),
                       stride(out),     count,           split_.columns};
    rows.row = row;
    return rows;
  }
  // How many rows from `row` on, of at most `count`, lie evenly spaced.
  std::int64_t even_rows(std::int64_t row, std::int64_t count) const {
    if (split_.rank <= 1) return count;
    const std::int64_t inner = split_.extents[split_.rank - 1];
    return std::min(count, inner - row % inner);
  }
  // Some columns of rows [first, first + count) of these.
  kernels::Rows part_of(kernels::Rows rows, std::int64_t first, std::int64_t count,
                        Columns columns) const {
    const std::int64_t offset = columns.begin * size_;
    rows.row += first;
    rows.column += columns.begin;
    if (rows.g != nullptr) {
      rows.g = static_cast<const char*>(rows.g) + first * rows.g_stride + offset;
    }
    if (rows.x != nullptr) {
      rows.x = static_cast<const char*>(rows.x) + first * rows.x_stride + offset;
    }
    if (rows.out != nullptr) {
      rows.out = static_cast<char*>(rows.out) + first * rows.out_stride + offset;
    }
    rows.rows = count;
    rows.columns = columns.count();
    return rows;
  }
  kernels::Rows one_of(const kernels::Rows& rows, std::int64_t r) const {
    return part_of(rows, r, 1, {0, split_.columns});
  }

  // A parameter of the columns, in the order of lanes, padded to whole steps.
  void load_parameter(const kernels::Kernels& k, int role, float absent, float* lanes) const;
  // Sums in the order of lanes, rounded once, to a parameter's gradient.
  void store_sums(const kernels::Kernels& k, int role, const double* sums, Columns columns) const;
  void clear_sums(int role) const;
  // A number per row, of rows that lie evenly spaced.
  void read_numbers(int role, std::int64_t row, std::int64_t count, double absent,
                    double* to) const;
  void write_numbers(int role, std::int64_t row, std::int64_t count, const double* from) const;

  // ---- packed rows ----
  // Some columns of a row of an argument: set to, added to, or multiplied onto numbers, as kernels::Kernels has it; and numbers
  // written there.
  enum class Onto { kSet, kAdd, kScale };
  void gather(Arg arg, std::int64_t row, Columns columns, Onto onto, double factor,
              void* numbers) const;
  void scatter(Arg arg, std::int64_t row, Columns columns, double factor,
               const void* numbers) const;

  // body(some, first, column) for rows as kernels can walk them: [first, ...) of these, columns from `column` of these on. All at
  // once, or by way of tiles that hold x = x + alpha*x2 + x_bias and g = dy*(1 + scale); then out lies in place of g, or of x. is_loaded: one
  // tile holds all, and does already.
  template <class Body>
  void each_tile(const kernels::Rows& rows, const RowTile& tile, Body&& body,
                 bool is_loaded = false) const {
    if (!split_.packed) return body(rows, std::int64_t{0}, std::int64_t{0});
    const std::int64_t width = std::min(rows.columns, tile.capacity);
    const std::int64_t pitch = kernels::padded(width),
                       fit = std::max<std::int64_t>(tile.capacity / pitch, 1);
    for (std::int64_t r = 0; r < rows.rows; r += fit) {
      for (std::int64_t c = 0; c < rows.columns; c += width) {
        kernels::Rows some = rows;
        some.row += r, some.rows = std::min(fit, rows.rows - r);
        some.column += c, some.columns = std::min(width, rows.columns - c);
        some.g = tile.g, some.x = tile.x, some.out = tile.g != nullptr ? tile.g : tile.x;
        some.g_stride = some.x_stride = some.out_stride = pitch * size_;
        some.g_ahead = some.x_ahead = 0;
        if (!is_loaded) load(some, tile);
        body(some, r, c);
      }
    }
  }
  Columns columns_of(const kernels::Rows& rows) const {
    return {rows.column, rows.column + rows.columns};
  }
  // body(row, numbers) for the rows of a tile that some argument is written from, or that still change.
  template <class Body>
  void each_out(const kernels::Rows& some, Body&& body) const {
    for (std::int64_t r = 0; r < some.rows; ++r) {
      body(some.row + r, static_cast<char*>(some.out) + r * some.out_stride);
    }
  }

  // By way of a tile: what goes past the cache, or is not wanted (rows.out is null). At most kRange columns;
  // emit(some, first) writes rows [first, first + some.rows) of these to some.out.
  template <class Emit>
  void emit_by_tile(const kernels::Kernels& k, const kernels::Rows& rows, Emit&& emit) const {
    alignas(64) char tile[2 * kRange * 4];
    const std::int64_t part_bytes = rows.columns * size_;
    const std::int64_t fit = static_cast<std::int64_t>(sizeof(tile)) / part_bytes / 2 * 2;
    for (std::int64_t r = 0; r < rows.rows; r += fit) {
      kernels::Rows some = part_of(rows, r, std::min(fit, rows.rows - r), {0, rows.columns});
      auto* out = static_cast<char*>(some.out);
      some.out = tile;
      some.out_stride = part_bytes;
      emit(some, r);
      if (out == nullptr) continue;
      const bool dense = rows.out_stride == part_bytes;
      const std::int64_t pieces = dense ? 1 : some.rows;
      for (std::int64_t i = 0; i < pieces; ++i) {
        k.stream(tile + i * part_bytes, out + i * rows.out_stride,
                 static_cast<std::size_t>(dense ? some.rows * part_bytes : part_bytes));
      }
    }
  }

 private:
  // Element offset of a row, and what rows of the innermost of their dims are apart.
  std::int64_t offset(int role, std::int64_t row) const {
    if (split_.rank == 1) return row * split_.strides[role][0];
    std::int64_t offset = 0;
    for (int d = split_.rank - 1; d > 0; --d) {
      offset += row % split_.extents[d] * split_.strides[role][d];
      row /= split_.extents[d];
    }
    return split_.rank == 0 ? 0 : offset + row * split_.strides[role][0];
  }
  std::int64_t step(int role) const {
    return split_.rank == 0 ? 0 : split_.strides[role][split_.rank - 1];
  }
  char* address(int role, std::int64_t row) const {
    return wanted(role) && !split_.packed
               ? static_cast<char*>(data_[role]) + offset(role, row) * size_
               : nullptr;
  }
  std::int64_t stride(int role) const { return wanted(role) ? step(role) * size_ : 0; }

  void load(const kernels::Rows& some, const RowTile& tile) const;
  bool is_dense(int role) const;

  const PlanBody& plan_;
  const RowSplit& split_;
  void* const* data_;
  const DataType dtype_;
  const std::int64_t size_;  // of an element
};

}  // namespace normgrad

#endif
