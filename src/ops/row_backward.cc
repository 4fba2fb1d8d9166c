#include "ops/row_backward.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cache.h"
#include "kernels/element.h"
#include "kernels/pairwise.h"
#include "kernels/parallel_for.h"
#include "ops/folds.h"
#include "ops/row_backward_space.h"
#include "runtime/layout.h"

namespace normgrad {
namespace {

using kernels::GroupSums;
using kernels::kChain;
using kernels::Kernels;
using kernels::kGroup;
using kernels::RowMap;
using kernels::Rows;
using kernels::RowSums;
using kernels::Terms;

class RowBackward {
 public:
  RowBackward(const PlanBody& plan, const RowRoles& roles, const RowRecipe& recipe,
              void* const* data, std::byte* workspace)
      : plan_(plan),
        roles_(roles),
        recipe_(recipe),
        split_(plan.row),
        arguments_(plan, data),
        space_(plan, roles, workspace),
        kernels_(kernels::kernels_for(arguments_.dtype(), plan.arithmetic)),
        exact_(kernels::kernels_for(arguments_.dtype(), Arithmetic::kExact)),
        elements_(split_.rows * split_.columns),
        share_(1 / static_cast<double>(split_.columns)),
        row_bytes_(arguments_.row_bytes()),
        writes_(arguments_.wanted(roles.dx)),
        streams_(writes_ && !arguments_.packed() &&
                 kernels::is_worth_streaming(3 * split_.rows * row_bytes_) &&
                 !arguments_.is_in_place(roles.dx, roles.dy) &&
                 !arguments_.is_in_place(roles.dx, roles.x)),
        fetches_(!arguments_.packed() && row_bytes_ >= kFarRowBytes &&
                 kernels::is_far_away((writes_ ? 3 : 2) * split_.rows * row_bytes_)),
        together_(rows_together()) {}

  void run() {
    arguments_.load_parameter(kernels_, roles_.w, 1, space_.w);
    if (shares_rows(split_)) {
      run_batches();
    } else {
      kernels::parallel_for(split_.blocks, elements_,
                            [&](std::int64_t block) { run_block(block); });
    }
    fold_and_store();
  }

 private:
  std::int64_t rows_together() const {
    if (row_bytes_ > kNearBytes) return kChain;
    const std::int64_t fit = kNearBytes / 2 / row_bytes_;
    return fit >= kGroup ? kGroup : std::clamp(fit / 2 * 2, std::int64_t{2}, kChain);
  }

  Rows rows_at(std::int64_t row, std::int64_t count) const {
    return arguments_.rows(roles_.dy, roles_.x, roles_.dx, row, count);
  }
  // Rows that kernels cannot walk, by way of tiles, in a frame of their own.
  template <class Body>
  [[gnu::noinline]] void each_packed(const Rows& rows, Body&& body) const {
    alignas(64) char g[kRowTileColumns * 8], x[kRowTileColumns * 8];
    arguments_.each_tile(rows, {g, x, kRowTileColumns}, body);
  }

  // ---- sums along rows, and maps ----
  // At most a group of rows, evenly spaced.
  void begin_maps(std::int64_t row, std::int64_t count, RowMap* maps) const {
    double means[kGroup], statistics[kGroup];
    arguments_.read_numbers(roles_.mean, row, count, 0, means);
    arguments_.read_numbers(roles_.rstd, row, count, 1, statistics);
    recipe_.begin(means, statistics, count, maps);
  }
  // Of one block of columns.
  void block_sums(const Kernels& k, const Rows& rows, std::int64_t block, const RowMap* maps,
                  GroupSums& sums) const {
    const std::int64_t width = row_block_columns(split_);
    const Columns columns{block * width, std::min(split_.columns, (block + 1) * width)};
    const Rows part = arguments_.part_of(rows, 0, rows.rows, columns);
    const float* w = space_.w + columns.begin;
    if (!arguments_.packed()) return k.row_sums(recipe_.terms, part, w, maps, sums);
    each_packed(part, [&](const Rows& some, std::int64_t first, std::int64_t) {
      GroupSums of_tile;
      k.row_sums(recipe_.terms, some, w, maps + first, of_tile);
      for (std::int64_t r = 0; r < some.rows; ++r) sums.set(first + r, of_tile.of(r));
    });
  }
  RowSums block_sums_of_one(const Kernels& k, const Rows& row, std::int64_t block,
                            const RowMap* map) const {
    GroupSums one;
    block_sums(k, row, block, map, one);
    return one.of(0);
  }
  void row_sums(const Kernels& k, const Rows& rows, const RowMap* maps, GroupSums& sums) const {
    const std::int64_t blocks = ceil_div(split_.columns, row_block_columns(split_));
    if (blocks == 1) return block_sums(k, rows, 0, maps, sums);
    for (std::int64_t r = 0; r < rows.rows; ++r) {
      const Rows row = arguments_.one_of(rows, r);
      kernels::Pairwise<2> total;
      for (std::int64_t b = 0; b < blocks; ++b) {
        const RowSums part = block_sums_of_one(k, row, b, maps + r);
        total.add({part.first, part.second});
      }
      const auto both = total.finish();
      sums.set(r, {both[0], both[1]});
    }
  }
  bool f32_has(const RowSums& sums) const {
    const bool finite = std::isfinite(sums.first) && std::isfinite(sums.second);
    return finite && (recipe_.terms != Terms::kWgxAndSquares ||
                      (sums.second >= 0x1p-100 && sums.second <= 0x1p120));
  }
  // From the sums of the kernels that run. exact: who must do a row.
  void finish_maps(const Rows& rows, GroupSums& sums, RowMap* maps, bool* exact) const {
    const auto sum_exactly = [&](std::int64_t r) {
      GroupSums one;
      row_sums(exact_, arguments_.one_of(rows, r), maps + r, one);
      return one;
    };
    for (std::int64_t r = 0; r < rows.rows; ++r) {
      exact[r] = kernels_.exact || !f32_has(sums.of(r));
      if (kernels_.exact) continue;
      if (exact[r]) {
        sums.set(r, sum_exactly(r).of(0));
      } else if (recipe_.terms == Terms::kWg) {
        sums.second[r] *= maps[r].r;  // fast kernels sum x_mu, not x_n
      }
    }
    recipe_.finish(sums, rows.rows, share_, maps);
    for (std::int64_t r = 0; r < rows.rows; ++r) {
      if (maps[r].round(maps[r].r) || exact[r]) continue;
      // Products that such a factor belongs to may be lost in the sums, too.
      exact[r] = true;
      recipe_.finish(sum_exactly(r), 1, share_, maps + r);
    }
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
  void emit_columns(const Kernels& k, const Rows& rows, const RowMap* maps,
                    const Chains& chains) const {
    const float* w = space_.w + rows.column;
    if (chains.dw == nullptr) return k.map_rows(rows, w, maps);
    k.row_gradients(rows, w, maps, rows.column == 0 ? chains : from(chains, rows.column, k));
  }
  // Of `all` rows, [first, ...): who begins a chain, and who ends it.
  static Chains of_some(Chains chains, std::int64_t all, std::int64_t first, std::int64_t count) {
    chains.begin &= first == 0;
    chains.end &= first + count == all;
    return chains;
  }
  void emit_packed(const Kernels& k, const Rows& rows, const RowMap* maps,
                   const Chains& chains) const {
    each_packed(rows, [&](const Rows& some, std::int64_t first, std::int64_t) {
      emit_columns(k, some, maps + first, of_some(chains, rows.rows, first, some.rows));
      const Columns columns = arguments_.columns_of(some);
      arguments_.each_out(some, [&](std::int64_t row, void* numbers) {
        if (arguments_.wanted(index_of(Arg::kDsum))) {
          arguments_.gather(Arg::kDsum, row, columns, RowArguments::Onto::kAdd, 1, numbers);
        }
        arguments_.scatter(Arg::kDx, row, columns, 1, numbers);
        arguments_.scatter(Arg::kDx2, row, columns, plan_.alpha, numbers);
      });
    });
  }
  // Rows that the same kernels do, by ranges of columns where something is to be done with each range.
  void emit_rows(const Kernels& k, const Rows& rows, const RowMap* maps, Columns columns,
                 const Chains& chains) const {
    if (arguments_.packed()) {
      return emit_packed(k, arguments_.part_of(rows, 0, rows.rows, columns), maps, chains);
    }
    const bool past_cache =
        streams_ && k.fills_lines && chains.dw != nullptr && kernels::begin_lines(rows);
    const bool in_tile = (streams_ && !past_cache) || !writes_;
    const bool in_ranges = in_tile || rows.rows * row_bytes_ > kNearBytes;
    const std::int64_t range = in_ranges ? kRange : columns.count();
    for (std::int64_t begin = columns.begin; begin < columns.end; begin += range) {
      const Columns part{begin, std::min(columns.end, begin + range)};
      Rows some = arguments_.part_of(rows, 0, rows.rows, part);
      some.past_cache = past_cache;
      if (in_tile) {
        arguments_.emit_by_tile(k, some, [&](const Rows& rows_of_tile, std::int64_t first) {
          emit_columns(k, rows_of_tile, maps + first,
                       of_some(chains, some.rows, first, rows_of_tile.rows));
        });
      } else {
        emit_columns(k, some, maps, chains);
      }
    }
  }
  // Rows of one chain, each by the kernels that it asks for. Exact ones add their terms straight to the sums.
  // chains.begin: no row has been added yet; chains.end: with the last of these. Returns whether a chain is open then.
  bool emit(const Rows& rows, const RowMap* maps, const bool* exact, Columns columns,
            Chains chains) const {
    const bool end = chains.end;
    for (std::int64_t r = 0; r < rows.rows;) {
      std::int64_t same = 1;
      while (r + same < rows.rows && exact[r + same] == exact[r]) ++same;
      const Rows some = arguments_.part_of(rows, r, same, {0, split_.columns});
      const bool last = r + same == rows.rows;
      if (exact[r] && !kernels_.exact) {
        const Chains straight{chains.dw_sums, chains.db_sums, chains.dw_sums,
                              chains.db_sums, false,          false};
        emit_rows(exact_, some, maps + r, columns, straight);
        if (last && end && !chains.begin) end_chains(chains, columns);
      } else {
        chains.end = end && last;
        emit_rows(kernels_, some, maps + r, columns, chains);
        chains.begin = false;
      }
      r += same;
    }
    return !chains.begin && !end;
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

  void run_block(std::int64_t block) const {
    Chains chains = chains_of(block);
    const Columns all{0, split_.columns};
    const std::int64_t end = std::min(split_.rows, (block + 1) * split_.block_rows);
    bool open = false;
    RowMap maps[kGroup];
    GroupSums sums;
    bool exact[kGroup];
    for (std::int64_t row = block * split_.block_rows, count; row < end; row += count) {
      const std::int64_t chains_end = row / kChain * kChain + std::max(together_, kChain);
      count = arguments_.even_rows(row, std::min(together_, std::min(end, chains_end) - row));
      Rows rows = rows_at(row, count);
      if (fetches_ && row + 2 * count <= end && arguments_.even_rows(row, 2 * count) == 2 * count) {
        // While these are mapped: the next sums then find them near.
        rows.g_ahead = count * rows.g_stride;
        rows.x_ahead = count * rows.x_stride;
      }
      begin_maps(row, count, maps);
      row_sums(kernels_, rows, maps, sums);
      finish_maps(rows, sums, maps, exact);
      for (std::int64_t r = 0, some; r < count; r += some) {
        const std::int64_t chain_end = std::min(end, (row + r) / kChain * kChain + kChain);
        some = std::min(count - r, chain_end - (row + r));
        chains.begin = !open;
        chains.end = row + r + some == chain_end;
        open = emit(arguments_.part_of(rows, r, some, all), maps + r, exact + r, all, chains);
      }
    }
    if (streams_) kernels::stream_fence();
  }

  // Threads share rows: first their blocks of columns for the sums, then ranges of columns for the map.
  void run_batches() const {
    Chains chains = chains_of(0);
    chains.begin = chains.end = true;
    const std::int64_t batch = batch_rows(split_, arguments_.dtype());
    const std::int64_t blocks = ceil_div(split_.columns, row_block_columns(split_));
    const std::int64_t ranges = ceil_div(split_.columns, 2 * kRange);
    for (std::int64_t first = 0; first < split_.rows; first += batch) {
      const std::int64_t count = std::min(batch, split_.rows - first);
      const std::int64_t elements = count * split_.columns;
      for (std::int64_t r = 0; r < count; ++r) begin_maps(first + r, 1, space_.maps + r);
      kernels::parallel_for(count * blocks, elements, [&](std::int64_t task) {
        const std::int64_t r = task / blocks, b = task % blocks;
        space_.partials[task] =
            block_sums_of_one(kernels_, rows_at(first + r, 1), b, space_.maps + r);
      });
      for (std::int64_t r = 0; r < count; ++r) {
        kernels::Pairwise<2> row;
        for (std::int64_t b = 0; b < blocks; ++b) {
          const RowSums& part = space_.partials[r * blocks + b];
          row.add({part.first, part.second});
        }
        const auto both = row.finish();
        GroupSums sums;
        sums.set(0, {both[0], both[1]});
        finish_maps(rows_at(first + r, 1), sums, space_.maps + r, space_.exact + r);
      }
      kernels::parallel_for(ranges, elements, [&](std::int64_t range) {
        const Columns columns{range * 2 * kRange,
                              std::min(split_.columns, (range + 1) * 2 * kRange)};
        for (std::int64_t r = 0; r < count; r += kChain)
          emit_chain(first, r, count, columns, chains);
        if (streams_) kernels::stream_fence();
      });
    }
  }
  // Rows [r, r + 8) of a batch.
  void emit_chain(std::int64_t first, std::int64_t r, std::int64_t count, Columns columns,
                  Chains chains) const {
    const std::int64_t end = std::min(count, r + kChain);
    bool open = false;
    for (std::int64_t some; r < end; r += some) {
      some = arguments_.even_rows(first + r, end - r);
      chains.begin = !open;
      chains.end = r + some == end;
      Rows rows = rows_at(first + r, some);
      if (fetches_) rows.g_ahead = rows.x_ahead = kRange * size_of(arguments_.dtype());
      open = emit(rows, space_.maps + r, space_.exact + r, columns, chains);
    }
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
            arguments_.store_sums(kernels_, s == 0 ? roles_.dw : roles_.db, sums, columns);
          }
        });
  }

  const PlanBody& plan_;
  const RowRoles& roles_;
  const RowRecipe& recipe_;
  const RowSplit& split_;
  const RowArguments arguments_;
  const RowBackwardSpace space_;
  const Kernels &kernels_, &exact_;
  const std::int64_t elements_;
  const double share_;  // of a row that an element is
  const std::int64_t row_bytes_;
  const bool writes_, streams_, fetches_;
  const std::int64_t together_;  // rows whose sums are taken before they are mapped
};

}  // namespace

void run_row_backward(const PlanBody& plan, const RowRoles& roles, const RowRecipe& recipe,
                      void* const* data, std::byte* workspace) {
  if (plan.row.rows == 0) {
    const RowArguments arguments(plan, data);
    for (const int role : {roles.dw, roles.db}) arguments.clear_sums(role);
    return;
  }
  RowBackward(plan, roles, recipe, data, workspace).run();
}

}  // namespace normgrad
