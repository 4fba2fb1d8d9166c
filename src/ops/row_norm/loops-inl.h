// The loops of the row norms, for a formula F (formulas-inl.h) and an element type T. Rows go
// through in groups of 8:
//   1. reduce: sums along each row                           (reads the group from memory)
//   2. apply: dx, and the column sums down the group's rows  (reads it from cache)
// Every read of an element comes before dx is written there, so dx may lie in place of dy or x.
#if defined(NORMGRAD_OPS_ROW_NORM_LOOPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_ROW_NORM_LOOPS_INL_H
#undef NORMGRAD_OPS_ROW_NORM_LOOPS_INL_H
#else
#define NORMGRAD_OPS_ROW_NORM_LOOPS_INL_H
#endif

#include <algorithm>
#include <type_traits>

#include "core/sizes.h"
#include "cpu/elementwise-inl.h"
#include "cpu/parallel_for.h"
#include "cpu/sums-inl.h"
#include "ops/formulas-inl.h"
#include "ops/row_norm/apply-inl.h"
#include "ops/row_norm/reduce-inl.h"
#include "ops/row_norm/row_norm.h"
#include "ops/row_norm/rows-inl.h"

NORMGRAD_TARGET_BEGIN

template <class F, typename T>
class RowLoops {
 public:
  RowLoops(const Plan& plan, const RowRoles& roles, void* const* data, std::byte* workspace)
      : plan_(plan), roles_(roles), split_(plan.row), data_(data), rows_(plan, roles, data) {
    apply_.dx_wanted = rows_.wanted(roles.dx);
    apply_.sums_wanted = rows_.wanted(roles.dw) || rows_.wanted(roles.db);
    reduce_.columns = split_.columns;
    apply_.fetches_next = split_.columns > kMostKept;
    if (split_.rows == 0) return;  // there need be no workspace
    const auto address = reinterpret_cast<std::uintptr_t>(workspace);
    workspace += (64 - address % 64) % 64;
    const RowWorkspace at = row_workspace(plan, roles);
    slots_ = reinterpret_cast<double*>(workspace + at.slots);
    partials_ = reinterpret_cast<GroupSums*>(workspace + at.partials);
    maps_ = reinterpret_cast<RowMap<PerRow<double>>*>(workspace + at.maps);
    auto* weights = reinterpret_cast<A*>(workspace + at.weights);
    if (at.w_as_is) {
      weights = static_cast<A*>(data[roles.w]);
    } else {
      rows_.prepare_weights(weights);
    }
    reduce_.weights = apply_.weights = weights;
    elements_ = split_.rows * split_.columns;
    const bool in_place = data[roles.dx] == data[roles.dy] || data[roles.dx] == data[roles.x];
    apply_.stores =
        in_place ? Stores::kCached : stores_for(3 * elements_ * std::int64_t{sizeof(T)});
  }

  void run() {
    if (split_.columns == 0) return;
    if (split_.rows > 0) {
      if (is_wide(split_)) {
        run_wide();
      } else {
        run_blocks();
      }
    }
    if (apply_.sums_wanted) store_column_sums();
  }

 private:
  using A = Arithmetic<T>;
  using Group = RowGroup<T>;
  using GroupSums = typename RowReduce<F, T>::GroupSums;
  static_assert(sizeof(RowMap<PerRow<double>>) == kGroupRows * kRowMapBytes);
  static constexpr int kColumnSums = F::kColumnSums;
  static constexpr std::int64_t kTile = 512;  // columns of a task, at least

  double* slot(std::int64_t block) const { return slots_ + block * kColumnSums * split_.columns; }

  // Where a run's column sums go, columns [begin, end) of `block`. A block of one run is its own
  // run.
  class RunSums {
   public:
    RunSums(const RowLoops& loops, std::int64_t block, std::int64_t begin, std::int64_t end)
        : direct_(loops.split_.block_rows <= kRunRows),
          columns_(end - begin),
          pitch_(loops.split_.columns),
          block_(loops.slot(block) + begin) {}

    double* sums() { return direct_ ? block_ : run_; }
    std::int64_t pitch() const { return direct_ ? pitch_ : columns_; }
    void start_block() { clear(block_, pitch_); }
    void start_run() {
      if (!direct_) clear(run_, columns_);
    }
    void end_run() {
      if (direct_) return;
      for (int k = 0; k < kColumnSums; ++k) {
        for (std::int64_t c = 0; c < columns_; ++c)
          block_[k * pitch_ + c] += run_[k * columns_ + c];
      }
    }

   private:
    void clear(double* sums, std::int64_t pitch) {
      for (int k = 0; k < kColumnSums; ++k) std::fill_n(sums + k * pitch, columns_, 0.0);
    }
    bool direct_;
    std::int64_t columns_, pitch_;
    double* block_;
    alignas(64) double run_[kColumnSums * kMaxRunColumns];
  };

  // Every thread takes whole blocks of rows.
  void run_blocks() {
    // Rows that are fetched while others are worked on: at least so far ahead that memory has answered by their turn.
    constexpr std::int64_t kBytesAhead = 16384;
    const std::int64_t columns = split_.columns;
    const std::int64_t group_bytes = kGroupRows * columns * std::int64_t{sizeof(T)};
    const std::int64_t rows_ahead =
        kGroupRows * std::max(std::int64_t{1}, kBytesAhead / group_bytes);
    const bool keeps = kKeepsXHat<F, T> && columns <= kMostKept;
    const std::int64_t pitch = keeps ? pitch_of_kept(columns) : 0;
    // What is fetched must not drive out what is worked on: dy, x and dx of both groups, what is kept, run sums and weights.
    // With 1.25 MiB of L2, 2048x4096 gains (bf16 0.39 -> 0.37 ns an element, f32 0.83 -> 0.74, two threads); where it has
    // 512 KiB, f32 512x8192 loses (1.41 -> 1.70, one thread).
    const std::int64_t worked_on = 6 * group_bytes + kGroupRows * pitch * std::int64_t{sizeof(A)} +
                                   (kColumnSums + 1) * columns * std::int64_t{sizeof(double)};
    const bool fetches =
        worked_on <= cpu::second_level_cache_bytes() && cpu::is_worth_fetching(elements_);
    cpu::parallel_for(split_.blocks, elements_, [&](std::int64_t block) NORMGRAD_ATTR {
      const std::int64_t begin = block * split_.block_rows;
      const std::int64_t end = std::min(begin + split_.block_rows, split_.rows);
      RunSums run(*this, block, 0, split_.columns);
      alignas(64) A kept[kKeepsXHat<F, T> ? kGroupRows * pitch_of_kept(kMostKept) : 1];
      if (apply_.sums_wanted) run.start_block();
      for (std::int64_t run_begin = begin; run_begin < end; run_begin += kRunRows) {
        const std::int64_t run_end = std::min(run_begin + kRunRows, end);
        if (apply_.sums_wanted) run.start_run();
        for (std::int64_t row = run_begin; row < run_end; row += kGroupRows) {
          Group group;
          rows_.locate(row, end, group);
          Ahead distance;
          const Ahead* ahead = nullptr;
          if (fetches && row + rows_ahead < end) {
            distance = rows_.distance(row, row + rows_ahead);
            ahead = &distance;
          }
          if (keeps) group.kept = kept;
          group.kept_pitch = pitch;
          rows_.read_statistics(row, group);
          reduce_.reduce(group, ahead);
          apply_.apply(group, ahead, 0, split_.columns, run.sums(), run.pitch());
        }
        if (apply_.sums_wanted) run.end_run();
      }
      end_stores(apply_.stores);
    });
  }

  // Threads share the rows of a batch: first its row sums by (row, chunk), then the rest by column
  // range. A batch is a whole run, or less where a run is a block.
  void run_wide() {
    const std::int64_t row_bytes = 2 * split_.columns * std::int64_t{sizeof(T)};
    const std::int64_t fitting =
        cpu::last_level_cache_bytes() / 4 / row_bytes / kGroupRows * kGroupRows;
    const std::int64_t longest = std::min(split_.block_rows, kRunRows);
    const std::int64_t batch =
        split_.block_rows > kRunRows ? kRunRows : std::clamp(fitting, kGroupRows, longest);
    for (std::int64_t block = 0; block < split_.blocks; ++block) {
      const std::int64_t begin = block * split_.block_rows;
      const std::int64_t end = std::min(begin + split_.block_rows, split_.rows);
      for (std::int64_t row = begin; row < end; row += batch) {
        run_batch(block, row, std::min(row + batch, end));
      }
    }
  }

  void run_batch(std::int64_t block, std::int64_t begin, std::int64_t end) {
    const std::int64_t groups = ceil_div(end - begin, kGroupRows);
    std::uint64_t in_f64 = 0;  // a bit per group of the batch
    reduce_groups<A>(begin, end, 0);
    if constexpr (RowReduce<F, T>::kWatchesRange) {
      for (std::int64_t g = 0; g < groups; ++g) {
        const std::int64_t row = begin + g * kGroupRows;
        const std::int64_t row_end = std::min(row + kGroupRows, end);
        if (!reduce_.has_lost_squares(maps_[g], row_end - row)) continue;
        in_f64 |= std::uint64_t{1} << g;
        reduce_groups<double>(row, row_end, g);
      }
    }
    // The longest runs, if there is enough for all threads.
    const bool is_long = split_.columns >= 4 * threads() * kApplyTile;
    const std::int64_t width = is_long ? kApplyTile : kTile;
    const std::int64_t tiles = ceil_div(split_.columns, width);
    cpu::parallel_for(tiles, (end - begin) * split_.columns, [&](std::int64_t tile) NORMGRAD_ATTR {
      const std::int64_t column = tile * width;
      const std::int64_t column_end = std::min(column + width, split_.columns);
      RunSums run(*this, block, column, column_end);
      if (apply_.sums_wanted && begin == block * split_.block_rows) run.start_block();
      if (apply_.sums_wanted) run.start_run();
      for (std::int64_t g = 0; g < groups; ++g) {
        Group group;
        rows_.locate(begin + g * kGroupRows, end, group);
        group.map = maps_[g];
        group.in_f64 = (in_f64 >> g & 1) != 0;
        apply_.apply(group, nullptr, column, column_end, run.sums(), run.pitch());
      }
      if (apply_.sums_wanted) run.end_run();
      end_stores(apply_.stores);
    });
  }

  // maps_[first ...] of the rows [begin, end), by (group, chunk).
  template <typename B>
  void reduce_groups(std::int64_t begin, std::int64_t end, std::int64_t first) {
    const std::int64_t groups = ceil_div(end - begin, kGroupRows);
    const std::int64_t chunks = ceil_div(split_.columns, kRowChunk);
    const auto group_at = [&](std::int64_t g) {
      Group group;
      rows_.locate(begin + g * kGroupRows, end, group);
      rows_.read_statistics(begin + g * kGroupRows, group);
      return group;
    };
    auto sum_chunk = [&](std::int64_t task) NORMGRAD_ATTR {
      const std::int64_t g = task % groups;
      const std::int64_t column = task / groups * kRowChunk;
      partials_[task] = reduce_.template chunk_sums<B>(
          group_at(g), nullptr, column, std::min(column + kRowChunk, split_.columns));
    };
    cpu::parallel_for(groups * chunks, (end - begin) * split_.columns, sum_chunk);
    for (std::int64_t g = 0; g < groups; ++g) {
      cpu::Pairwise<RowReduce<F, T>::kSums> sums;
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk) sums.add(partials_[chunk * groups + g]);
      maps_[first + g] = group_at(g).map;
      reduce_.finish(sums.finish(), maps_[first + g]);
    }
  }

  // Blocks fold by stride doubling; the result is rounded once into dw and db.
  void store_column_sums() {
    auto store_tile = [&](std::int64_t tile) NORMGRAD_ATTR {
      const std::int64_t begin = tile * kTile;
      const std::int64_t end = std::min(begin + kTile, split_.columns);
      for (int k = 0; k < kColumnSums; ++k) {
        const int role = k == 0 ? roles_.dw : roles_.db;
        if (!rows_.wanted(role)) continue;
        fold_blocks(k, begin, end);
        const Tensor& out = plan_.argument[role].tensor;
        cpu::with_element_type(out.dtype, [&](auto* type) NORMGRAD_ATTR {
          auto* to = static_cast<decltype(type)>(data_[role]) + begin * out.strides[0];
          if (split_.rows == 0) {
            const double zeros[kTile] = {};
            store_numbers(end - begin, zeros, to, out.strides[0]);
          } else {
            store_numbers(end - begin, slots_ + k * split_.columns + begin, to, out.strides[0]);
          }
        });
      }
    };
    cpu::parallel_for(ceil_div(split_.columns, kTile), split_.blocks * split_.columns, store_tile);
  }
  template <typename E>
  static void store_numbers(std::int64_t n, const double* from, E* to, std::int64_t stride) {
    constexpr std::int64_t kPair = 2 * kWidth<double>;
    std::int64_t i = 0;
    for (; stride == 1 && i + kPair <= n; i += kPair) {
      store2(load<double>(from + i), load<double>(from + i + kWidth<double>), to + i);
    }
    for (; i < n; ++i) cpu::write(to + i * stride, cpu::round_to<E>(from[i]));
  }
  void fold_blocks(int k, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t s = 1; s < split_.blocks; s *= 2) {
      for (std::int64_t i = 0; i + s < split_.blocks; i += 2 * s) {
        double* to = slot(i) + k * split_.columns;
        const double* from = slot(i + s) + k * split_.columns;
        for (std::int64_t c = begin; c < end; ++c) to[c] += from[c];
      }
    }
  }

  const Plan& plan_;
  const RowRoles& roles_;
  const RowSplit& split_;
  void* const* data_;
  Rows<T> rows_;
  RowReduce<F, T> reduce_{};
  RowApply<F, T> apply_{};
  double* slots_ = nullptr;
  GroupSums* partials_ = nullptr;
  RowMap<PerRow<double>>* maps_ = nullptr;
  std::int64_t elements_ = 0;
};

// Picks the element type.
template <class F>
void run_row_norm(const Plan& plan, const RowRoles& roles, void* const* data,
                  std::byte* workspace) {
  switch (plan.argument[roles.dy].tensor.dtype) {
    case DataType::kF16:
      return RowLoops<F, Half>(plan, roles, data, workspace).run();
    case DataType::kBF16:
      return RowLoops<F, BFloat>(plan, roles, data, workspace).run();
    default:
      return RowLoops<F, float>(plan, roles, data, workspace).run();
  }
}

NORMGRAD_TARGET_END
#endif
