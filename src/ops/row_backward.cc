#include "ops/row_backward.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/layout.h"
#include "kernels/cache.h"
#include "kernels/parallel_for.h"
#include "kernels/element.h"
#include "kernels/pairwise.h"
#include "ops/folds.h"
#include "runtime/failure.h"
#include "ops/workspace.h"

namespace normgrad {
namespace {

using kernels::kChain;
using kernels::Kernels;
using kernels::kTotals;
using kernels::RowMap;
using kernels::Terms;

// A row's sums are cut into blocks of so many columns, which threads may share.
constexpr std::int64_t kBlockColumns = 8192;
// Rows of the column sums' blocks, at least and at most, and how many blocks there are if that lets them.
constexpr std::int64_t kLeastBlockRows = 32, kMostBlockRows = 32768, kBlocks = 64;
// Columns that are mapped at once where rows are prefetched, stored past the cache, or longer than the nearest cache.
constexpr std::int64_t kRange = 512;
// Rows are mapped right after their sums: at least two, and as many as the nearest cache holds this much of; of longer
// rows all of a chain, by ranges of columns, so that dw and db stay near.
constexpr std::int64_t kNearBytes = 16384;
// Of few long rows, so many bytes of dy and x are in work between the sums and the map.
constexpr std::int64_t kBatchBytes = std::int64_t{8} << 20;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t to) {
  return ceil_div(value, to) * to;
}

// Few long rows: threads share each row.
bool shares_rows(const RowSplit& split) {
  return split.columns > kBlockColumns && split.rows < 256;
}
std::int64_t batch_rows(const RowSplit& split, DataType dtype) {
  const std::int64_t row_bytes = 2 * split.columns * size_of(dtype);
  return std::clamp(kBatchBytes / row_bytes / kChain * kChain, kChain,
                    round_up(split.rows, kChain));
}

// The workspace.
struct Space {
  Space(const PlanBody& plan, const RowRoles& roles, void* at = nullptr) : cut(at) {
    const RowSplit& split = plan.row;
    const auto wanted = [&](int role) {
      return role != kAbsent && plan.argument[role].tensor.present();
    };
    pitch = kernels::padded(split.columns);
    sum_count = !wanted(roles.dw) && !wanted(roles.db) ? 0 : roles.db == kAbsent ? 1 : 2;
    const Checked slots = Checked(split.blocks) * sum_count * pitch;
    w = cut.take<float>(pitch);
    sums = cut.take<double>(slots);
    chains = cut.take<double>(slots);
    if (!shares_rows(split)) return;
    const std::int64_t rows = batch_rows(split, plan.argument[roles.dy].tensor.dtype);
    partials = cut.take<double>(Checked(rows) * ceil_div(split.columns, kBlockColumns) * 2);
    maps = cut.take<RowMap>(rows);
    exact = cut.take<bool>(rows);
  }

  Workspace cut;
  std::int64_t pitch;  // of rows of numbers per column
  int sum_count;       // dw and db, dw, or none
  float* w;
  double *sums, *chains;       // [block][sum][column]; a chain may use half of its bytes
  double* partials = nullptr;  // [row of a batch][block of columns][2]
  RowMap* maps = nullptr;
  bool* exact = nullptr;
};

struct Columns {
  std::int64_t begin, end;
  std::int64_t count() const { return end - begin; }
};

class RowBackward {
 public:
  RowBackward(const PlanBody& plan, const RowRoles& roles, const RowRecipe& recipe, void* const* data,
              std::byte* workspace)
      : plan_(plan),
        roles_(roles),
        recipe_(recipe),
        split_(plan.row),
        data_(data),
        space_(plan, roles, workspace),
        dtype_(plan.argument[roles.dy].tensor.dtype),
        size_(size_of(dtype_)),
        kernels_(kernels::kernels_for(dtype_, plan.arithmetic)),
        exact_(kernels::kernels_for(dtype_, Arithmetic::kExact)),
        elements_(split_.rows * split_.columns),
        has_mean_(wanted(roles.mean)),
        has_rstd_(wanted(roles.rstd)),
        fetches_(kernels::is_worth_fetching(elements_)),
        together_(rows_together()),
        streams_(wanted(roles.dx) && 3 * elements_ * size_ > kernels::last_level_cache_bytes() &&
                 data[roles.dx] != data[roles.dy] && data[roles.dx] != data[roles.x]),
        maps_whole_rows_(wanted(roles.dx) && !fetches_ && !streams_ &&
                         split_.columns * size_ <= kNearBytes) {}

  void run() {
    prepare_weights();
    if (shares_rows(split_)) {
      run_batches();
    } else {
      kernels::parallel_for(split_.blocks, elements_, [&](std::int64_t block) { run_block(block); });
    }
    fold_and_store();
  }

 private:
  bool wanted(int role) const { return role != kAbsent && plan_.argument[role].tensor.present(); }

  void prepare_weights() const {
    const Tensor& w = plan_.argument[roles_.w].tensor;
    if (!w.present()) {
      std::fill_n(space_.w, space_.pitch, 1.0f);
      return;
    }
    std::fill_n(space_.w + space_.pitch - kernels::kStepColumns, kernels::kStepColumns, 0.0f);
    kernels::with_element_type(w.dtype, [&](auto* type) {
      const auto* from = static_cast<decltype(type)>(data_[roles_.w]);
      for (std::int64_t c = 0; c < split_.columns; ++c) {
        space_.w[kernels::lane_of(dtype_, c)] =
            static_cast<float>(kernels::to_double(kernels::read(from + c * w.strides[0])));
      }
    });
  }

  std::int64_t rows_together() const {
    const std::int64_t row_bytes = 2 * split_.columns * size_;
    if (row_bytes > 2 * kNearBytes) return kChain;
    return std::clamp(kNearBytes / row_bytes / 2 * 2, std::int64_t{2}, kChain);
  }

  // ---- where rows lie ----
  char* address(int role, std::int64_t row) const {
    return static_cast<char*>(data_[role]) + row_offset(split_, role, row) * size_;
  }
  std::int64_t stride(int role) const {
    return split_.rank == 0 ? 0 : split_.strides[role][split_.rank - 1] * size_;
  }
  // How many rows from `row` on, of at most `count`, lie evenly spaced.
  std::int64_t even_rows(std::int64_t row, std::int64_t count) const {
    if (split_.rank <= 1) return count;
    const std::int64_t inner = split_.extents[split_.rank - 1];
    return std::min(count, inner - row % inner);
  }
  kernels::Rows rows_at(std::int64_t row, std::int64_t count, Columns columns) const {
    const std::int64_t offset = columns.begin * size_;
    kernels::Rows rows{address(roles_.dy, row) + offset,
                       address(roles_.x, row) + offset,
                       nullptr,
                       stride(roles_.dy),
                       stride(roles_.x),
                       0,
                       count,
                       columns.count()};
    if (wanted(roles_.dx)) {
      rows.out = address(roles_.dx, row) + offset;
      rows.out_stride = stride(roles_.dx);
    }
    return rows;
  }

  // ---- sums along rows, and maps ----
  double statistic(int role, std::int64_t row) const {
    const DataType dtype = plan_.argument[role].tensor.dtype;
    const std::int64_t at = row_offset(split_, role, row);
    if (dtype == DataType::kF32) return kernels::read(static_cast<const float*>(data_[role]) + at);
    return kernels::load_element(data_[role], dtype, at);
  }
  RowMap begin_map(std::int64_t row) const {
    return recipe_.begin(has_mean_ ? statistic(roles_.mean, row) : 0,
                         has_rstd_ ? statistic(roles_.rstd, row) : 1);
  }
  static std::array<double, 2> folded(const double* totals) {
    return {kernels::fold_totals(totals), kernels::fold_totals(totals + 8)};
  }
  // Of one block of columns.
  std::array<double, 2> block_sums(const Kernels& k, std::int64_t row, std::int64_t block,
                                   const RowMap& map) const {
    const Columns columns{block * kBlockColumns,
                          std::min(split_.columns, (block + 1) * kBlockColumns)};
    double totals[kTotals] = {};
    k.row_sums(recipe_.terms, rows_at(row, 1, columns), space_.w + columns.begin, &map, totals);
    return folded(totals);
  }
  std::array<double, 2> row_sums(const Kernels& k, std::int64_t row, const RowMap& map) const {
    kernels::Pairwise<2> sums;
    for (std::int64_t b = 0; b < ceil_div(split_.columns, kBlockColumns); ++b) {
      sums.add(block_sums(k, row, b, map));
    }
    return sums.finish();
  }
  bool f32_has(const std::array<double, 2>& sums) const {
    const bool finite = std::isfinite(sums[0]) && std::isfinite(sums[1]);
    return finite &&
           (recipe_.terms != Terms::kWgxAndSquares || (sums[1] >= 0x1p-100 && sums[1] <= 0x1p120));
  }
  // Whether exact kernels must do the row. sums: those of the kernels that run.
  bool finish_map(std::int64_t row, std::array<double, 2> sums, RowMap& map) const {
    bool exact = kernels_.exact;
    if (!exact && !f32_has(sums)) {
      sums = row_sums(exact_, row, map);
      exact = true;
    } else if (!exact && recipe_.terms == Terms::kWg) {
      sums[1] *= map.r;  // fast kernels sum x_mu, not x_n
    }
    recipe_.finish(sums[0], sums[1], static_cast<double>(split_.columns), map);
    return exact || !in_range(map);
  }

  // ---- dx and column terms ----
  using Chains = kernels::ColumnChains;
  // Those of columns from `column` on.
  static Chains from(Chains chains, std::int64_t column, const Kernels& k) {
    const std::int64_t bytes = column * (k.exact ? 8 : 4);
    const auto on = [&](void*& chain, double*& sums) {
      if (chain == nullptr) return;
      chain = static_cast<char*>(chain) + bytes;
      sums += column;
    };
    on(chains.dw, chains.dw_sums);
    on(chains.db, chains.db_sums);
    return chains;
  }
  void emit_columns(const Kernels& k, const kernels::Rows& rows, const RowMap* maps,
                    const Chains& chains, std::int64_t column) const {
    const float* w = space_.w + column;
    if (chains.dw == nullptr) return k.map_rows(kernels::Form::kWgX, rows, w, maps);
    k.row_gradients(rows, w, maps, column == 0 ? chains : from(chains, column, k));
  }
  // Evenly spaced rows, by ranges of columns where something is to be done with each range.
  void emit_rows(const Kernels& k, std::int64_t row, std::int64_t count, const RowMap* maps,
                 Columns columns, Chains chains) const {
    const bool in_tile = streams_ || !wanted(roles_.dx);
    const std::int64_t next = row + count;
    const bool fetches = fetches_ && next + count <= split_.rows;
    const std::int64_t range = in_tile || fetches || count > 2 ? kRange : columns.count();
    alignas(64) char tile[2 * kRange * 4];
    for (std::int64_t begin = columns.begin; begin < columns.end; begin += range) {
      const Columns part{begin, std::min(columns.end, begin + range)};
      if (fetches) fetch(next, count, part);
      if (!in_tile) {
        emit_columns(k, rows_at(row, count, part), maps, chains, begin);
        continue;
      }
      for (std::int64_t r = 0; r < count; r += 2) {  // by way of the tile
        kernels::Rows two = rows_at(row + r, std::min<std::int64_t>(2, count - r), part);
        char* out = static_cast<char*>(two.out);
        const std::int64_t out_stride = two.out_stride;
        two.out = tile;
        two.out_stride = kRange * size_;
        Chains of_two = chains;
        of_two.begin &= r == 0;
        of_two.end &= r + 2 >= count;
        emit_columns(k, two, maps + r, of_two, begin);
        for (std::int64_t i = 0; streams_ && i < two.rows; ++i) {
          kernels::stream(tile + i * two.out_stride, out + i * out_stride,
                          static_cast<std::size_t>(part.count() * size_));
        }
      }
    }
  }
  // The next rows, while these are mapped: their sums then find them in the cache.
  void fetch(std::int64_t row, std::int64_t count, Columns columns) const {
    for (std::int64_t r = row; r < row + count; ++r) {
      for (const int role : {roles_.dy, roles_.x}) {
        const char* begin = address(role, r) + columns.begin * size_;
        for (std::int64_t at = 0; at < columns.count() * size_; at += 64) kernels::prefetch(begin + at);
      }
    }
  }
  // Rows of one chain, each by the kernels that it asks for. Exact ones add their terms straight to the sums.
  // chains.begin: no row has been added yet. Returns whether one has by now.
  bool emit(std::int64_t row, std::int64_t count, const RowMap* maps, const bool* exact,
            Columns columns, Chains chains) const {
    chains.end = false;
    for (std::int64_t r = 0; r < count;) {
      std::int64_t same = 1;
      const std::int64_t even = even_rows(row + r, count - r);
      while (same < even && exact[r + same] == exact[r]) ++same;
      if (exact[r] && !kernels_.exact) {
        const Chains straight{chains.dw_sums, chains.db_sums, chains.dw_sums,
                              chains.db_sums, false,          false};
        emit_rows(exact_, row + r, same, maps + r, columns, straight);
      } else {
        emit_rows(kernels_, row + r, same, maps + r, columns, chains);
        chains.begin = false;
      }
      r += same;
    }
    return !chains.begin;
  }
  void end_chains(const Chains& chains, Columns columns) const {
    if (chains.dw == nullptr) return;
    const Chains part = from(chains, columns.begin, kernels_);
    const std::int64_t width = kernels::padded(columns.count());
    kernels_.end_chain(part.dw, part.dw_sums, width);
    if (part.db != nullptr) kernels_.end_chain(part.db, part.db_sums, width);
  }
  Chains chains_of(std::int64_t block) const {
    if (space_.sum_count == 0) return {};
    const std::int64_t first = block * space_.sum_count * space_.pitch;
    Chains chains{space_.chains + first, nullptr, space_.sums + first, nullptr, false, false};
    kernels_.clear(chains.dw_sums, space_.sum_count * space_.pitch);
    if (space_.sum_count == 2) {
      chains.db = space_.chains + first + space_.pitch;
      chains.db_sums = chains.dw_sums + space_.pitch;
    }
    return chains;
  }

  // Evenly spaced rows, at most a chain of them.
  // Returns whether the chains have rows now, and are not ended.
  bool run_rows(const kernels::Rows& rows, std::int64_t row, const Chains& chains) const {
    RowMap maps[kChain];
    bool exact[kChain];
    bool alike = true;
    const auto finish = [&](std::int64_t r, const std::array<double, 2>& row_sums_of_r) {
      exact[r] = finish_map(row + r, row_sums_of_r, maps[r]);
      alike &= exact[r] == kernels_.exact;
    };
    for (std::int64_t r = 0; r < rows.rows; ++r) maps[r] = begin_map(row + r);
    if (split_.columns <= kBlockColumns) {  // one call for all of them
      double totals[kChain * kTotals];
      std::fill_n(totals, rows.rows * kTotals, 0.0);
      kernels_.row_sums(recipe_.terms, rows, space_.w, maps, totals);
      for (std::int64_t r = 0; r < rows.rows; ++r) finish(r, folded(totals + r * kTotals));
    } else {
      for (std::int64_t r = 0; r < rows.rows; ++r) {
        finish(r, row_sums(kernels_, row + r, maps[r]));
      }
    }
    if (alike && maps_whole_rows_) {
      emit_columns(kernels_, rows, maps, chains, 0);
      return !chains.end;
    }
    return emit(row, rows.rows, maps, exact, {0, split_.columns}, chains);
  }
  void run_block(std::int64_t block) const {
    Chains chains = chains_of(block);
    const Columns all{0, split_.columns};
    const std::int64_t end = std::min(split_.rows, (block + 1) * split_.block_rows);
    for (std::int64_t group = block * split_.block_rows; group < end; group += kChain) {
      const std::int64_t group_end = std::min(end, group + kChain);
      bool open = false;
      for (std::int64_t row = group; row < group_end;) {
        const std::int64_t count = even_rows(row, std::min(together_, group_end - row));
        chains.begin = !open;
        chains.end = row + count == group_end;
        open = run_rows(rows_at(row, count, all), row, chains);
        row += count;
      }
      if (open) end_chains(chains, all);
    }
    if (streams_) kernels::stream_fence();
  }

  // Threads share rows: first their blocks of columns for the sums, then ranges of columns for the map.
  void run_batches() const {
    Chains chains = chains_of(0);
    chains.begin = true;
    const std::int64_t batch = batch_rows(split_, dtype_);
    const std::int64_t blocks = ceil_div(split_.columns, kBlockColumns);
    const std::int64_t ranges = ceil_div(split_.columns, 2 * kRange);
    for (std::int64_t first = 0; first < split_.rows; first += batch) {
      const std::int64_t count = std::min(batch, split_.rows - first);
      const std::int64_t elements = count * split_.columns;
      for (std::int64_t r = 0; r < count; ++r) space_.maps[r] = begin_map(first + r);
      kernels::parallel_for(count * blocks, elements, [&](std::int64_t task) {
        const std::int64_t r = task / blocks, b = task % blocks;
        const auto part = block_sums(kernels_, first + r, b, space_.maps[r]);
        std::copy_n(part.data(), 2, space_.partials + 2 * task);
      });
      for (std::int64_t r = 0; r < count; ++r) {
        kernels::Pairwise<2> row;
        for (std::int64_t b = 0; b < blocks; ++b) {
          const double* part = space_.partials + 2 * (r * blocks + b);
          row.add({part[0], part[1]});
        }
        space_.exact[r] = finish_map(first + r, row.finish(), space_.maps[r]);
      }
      kernels::parallel_for(ranges, elements, [&](std::int64_t range) {
        const Columns columns{range * 2 * kRange,
                              std::min(split_.columns, (range + 1) * 2 * kRange)};
        for (std::int64_t r = 0; r < count; r += kChain) {
          const std::int64_t rows = std::min(kChain, count - r);
          if (emit(first + r, rows, space_.maps + r, space_.exact + r, columns, chains)) {
            end_chains(chains, columns);
          }
        }
        if (streams_) kernels::stream_fence();
      });
    }
  }

  void store(int role, const double* sums, Columns columns) const {
    if (!wanted(role)) return;
    const Tensor& tensor = plan_.argument[role].tensor;
    kernels::with_element_type(tensor.dtype, [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      auto* to = static_cast<T*>(data_[role]);
      for (std::int64_t c = columns.begin; c < columns.end; ++c) {
        kernels::write(to + c * tensor.strides[0],
                       kernels::round_to<T>(sums[kernels::lane_of(dtype_, c)]));
      }
    });
  }
  void fold_and_store() const {
    if (space_.sum_count == 0) return;
    const std::int64_t pitch = space_.pitch * space_.sum_count;
    constexpr std::int64_t kColumns = 2048;
    kernels::parallel_for(
        ceil_div(split_.columns, kColumns), split_.blocks * pitch, [&](std::int64_t part) {
          const Columns columns{part * kColumns, std::min(split_.columns, (part + 1) * kColumns)};
          for (int s = 0; s < space_.sum_count; ++s) {
            double* sums = space_.sums + s * space_.pitch;
            fold_rows(kernels_, sums, split_.blocks, pitch, columns.begin,
                      columns.begin + kernels::padded(columns.count()));
            store(s == 0 ? roles_.dw : roles_.db, sums, columns);
          }
        });
  }

  const PlanBody& plan_;
  const RowRoles& roles_;
  const RowRecipe& recipe_;
  const RowSplit& split_;
  void* const* data_;
  const Space space_;
  const DataType dtype_;
  const std::int64_t size_;  // of an element
  const Kernels &kernels_, &exact_;
  const std::int64_t elements_;
  const bool has_mean_, has_rstd_;
  const bool fetches_;
  const std::int64_t together_;  // rows whose sums are taken before they are mapped
  const bool streams_;
  const bool maps_whole_rows_;
};

void store_empty_sums(const PlanBody& plan, const RowRoles& roles, void* const* data) {
  for (const int role : {roles.dw, roles.db}) {
    if (role == kAbsent) continue;
    const Tensor& tensor = plan.argument[role].tensor;
    for (std::int64_t c = 0; tensor.present() && c < tensor.shape[0]; ++c) {
      kernels::store_element(data[role], tensor.dtype, c * tensor.strides[0], 0);
    }
  }
}

}  // namespace

Status plan_row_backward(PlanBody& plan, const RowRoles& roles) {
  RowSplit& split = plan.row;
  if (split.rows == 0) return Status::kOk;
  const std::int64_t share = round_up(ceil_div(split.rows, kBlocks), kChain);
  split.block_rows = shares_rows(split) ? round_up(split.rows, kChain)
                                        : std::clamp(share, kLeastBlockRows, kMostBlockRows);
  split.blocks = ceil_div(split.rows, split.block_rows);
  const Checked bytes = Space(plan, roles).cut.bytes();
  if (!bytes.ok()) {
    return fail(Status::kBadShape, "%lld columns are more than memory can hold the sums of",
                static_cast<long long>(split.columns));
  }
  plan.workspace_bytes = static_cast<std::size_t>(bytes.value());
  return Status::kOk;
}

void run_row_backward(const PlanBody& plan, const RowRoles& roles, const RowRecipe& recipe,
                      void* const* data, std::byte* workspace) {
  if (plan.row.rows == 0) return store_empty_sums(plan, roles, data);
  RowBackward(plan, roles, recipe, data, workspace).run();
}

}  // namespace normgrad
