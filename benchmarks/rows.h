// The tensors of LayerNorm and RMSNorm: rows, and where they lie.
#ifndef NORMGRAD_BENCHMARKS_ROWS_H
#define NORMGRAD_BENCHMARKS_ROWS_H

#include <cstdint>
#include <string>
#include <vector>

#include "workload.h"

namespace bench {

// leading dims x columns. Permuted: a view (S, B, D) of a tensor that lies as (B, S, D).
struct Rows {
  Rows(std::vector<std::int64_t> leading, std::int64_t columns, Layout layout);

  normgrad::Tensor tensor(DataType dtype, const char* name) const;
  normgrad::Tensor row_tensor(DataType dtype, const char* name) const;  // one element per row
  Array array(DataType dtype) const { return Array(dtype, rows * columns, storage); }

  // Where a row begins.
  std::int64_t begin(std::int64_t row) const {
    const std::int64_t inner = leading.back();
    return row / inner * outer_stride + row % inner * inner_stride;
  }

  std::vector<std::int64_t> leading;  // one or two
  Layout layout;
  std::int64_t rows, columns;
  std::int64_t outer_stride, inner_stride;  // between rows; with one leading dim, the latter
  std::int64_t storage;                     // elements, those between rows included
};

// Every shape of LayerNorm and RMSNorm, row-major, and some of them padded; or a growing batch;
// or the one shape to count.
std::vector<Rows> all_rows(Set set);

// Adds op for these tensors in every data type; make(rows, dtype) makes the workload.
template <class Make>
void add_row_entries(std::vector<Entry>& entries, const std::string& op,
                     const std::vector<Rows>& tensors, const Make& make) {
  for (const Rows& s : tensors) {
    std::vector<std::int64_t> shape = s.leading;
    shape.push_back(s.columns);
    for (const DataType t : kTypes) {
      Entry entry{op, s.layout, join(shape), t, s.rows * s.columns, [=] { return make(s, t); }, {}};
      if (s.layout != Layout::kRowMajor) {
        const Rows twin(s.leading, s.columns, Layout::kRowMajor);
        entry.make_twin = [=] { return make(twin, t); };
      }
      entries.push_back(entry);
    }
  }
}

}  // namespace bench

#endif
