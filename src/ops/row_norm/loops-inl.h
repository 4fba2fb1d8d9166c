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
#include "ops/row_norm/row_norm.h"

NORMGRAD_TARGET_BEGIN

template <class F, typename T>
class RowLoops {
 public:
  RowLoops(const Plan& plan, const RowRoles& roles, void* const* data, std::byte* workspace)
      : plan_(plan), roles_(roles), split_(plan.row), data_(data) {
    sums_wanted_ = wanted(roles.dw) || wanted(roles.db);
    if (split_.rows == 0) return;  // there need be no workspace
    const auto address = reinterpret_cast<std::uintptr_t>(workspace);
    workspace += (64 - address % 64) % 64;
    const RowWorkspace at = row_workspace(plan, roles);
    slots_ = reinterpret_cast<double*>(workspace + at.slots);
    partials_ = reinterpret_cast<double*>(workspace + at.partials);
    maps_ = reinterpret_cast<RowMap<double>*>(workspace + at.maps);
    weights_ = at.w_as_is ? typed<const A>(roles.w)
                          : prepare_weights(reinterpret_cast<A*>(workspace + at.weights));
    elements_ = split_.rows * split_.columns;
    const bool in_place = data[roles.dx] == data[roles.dy] || data[roles.dx] == data[roles.x];
    stores_ = in_place ? Stores::kCached : stores_for(3 * elements_ * std::int64_t{sizeof(T)});
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
    if (sums_wanted_) store_column_sums();
  }

 private:
  using A = Arithmetic<T>;
  static_assert(sizeof(RowMap<double>) == kRowMapBytes);
  static constexpr int kColumnSums = F::kColumnSums;
  static constexpr std::int64_t kTile = kApplyTile;
  static constexpr bool kWatchesRange = RowApply<F, T>::kWatchesRange;

  using Group = RowGroup<T>;
  bool wanted(int role) const { return role != kAbsent && plan_.argument[role].tensor.present(); }
  template <typename E>
  E* typed(int role) const {
    return static_cast<E*>(data_[role]);
  }

  // w as contiguous A (exact: every parameter fits into f32); 1 if there is none.
  const A* prepare_weights(A* out) const {
    const Tensor& w = plan_.argument[roles_.w].tensor;
    if (!w.present()) {
      std::fill_n(out, split_.columns, A{1});
      return out;
    }
    cpu::with_element_type(w.dtype, [&](auto* type) {
      const auto* from = static_cast<decltype(type)>(data_[roles_.w]);
      for (std::int64_t c = 0; c < split_.columns; ++c) {
        out[c] = static_cast<A>(cpu::to_double(cpu::read(from + c * w.strides[0])));
      }
    });
    return out;
  }

  double statistic(int role, std::int64_t row) const {
    return cpu::load_element(data_[role], plan_.argument[role].tensor.dtype,
                             row_offset(split_, role, row));
  }

  RowMap<double> given_statistics(std::int64_t row) const {
    RowMap<double> map{0, 0, 0, 0, 0};
    if (wanted(roles_.mean)) {
      map.mean = statistic(roles_.mean, row);
      map.mean_low = low_part<A>(map.mean);
    }
    if (wanted(roles_.rstd)) {
      const double given = statistic(roles_.rstd, row);
      map.rstd = roles_.rstd_is_sigma ? 1.0 / given : given;
    }
    return map;
  }

  // Rows from `row` on, before `end`; what is missing of a group repeats its last row.
  Group locate(std::int64_t row, std::int64_t end) const {
    Group group;
    group.rows = static_cast<int>(std::min(kGroupRows, end - row));
    for (int r = 0; r < kGroupRows; ++r) {
      const std::int64_t at = row + std::min(r, group.rows - 1);
      group.dy[r] = typed<const T>(roles_.dy) + row_offset(split_, roles_.dy, at);
      group.x[r] = typed<const T>(roles_.x) + row_offset(split_, roles_.x, at);
      group.dx[r] =
          wanted(roles_.dx) ? typed<T>(roles_.dx) + row_offset(split_, roles_.dx, at) : nullptr;
    }
    return group;
  }

  // 1. Sums along a row, between two columns of one chunk.
  template <typename B>
  std::array<double, F::kRowSums> chunk_sums(const T* dy, const T* x, const RowMap<double>& given,
                                             std::int64_t begin, std::int64_t end) const {
    const RowMap<Vec<B>> map = spread<B>(given);
    const A* w = weights_;
    Sums<B, F::kRowSums> sums;
    sums.walk(end - begin, [&](std::int64_t i, auto step) NORMGRAD_INLINE {
      return F::row_terms(load<B>(dy + begin + i, step), load<B>(w + begin + i, step),
                          F::x_hat(load<B>(x + begin + i, step), map));
    });
    return sums.finish();
  }

  template <typename B>
  RowMap<double> row_map(const T* dy, const T* x, RowMap<double> map) const {
    cpu::Pairwise<F::kRowSums> sums;
    for (std::int64_t begin = 0; begin < split_.columns; begin += kRowChunk) {
      sums.add(chunk_sums<B>(dy, x, map, begin, std::min(begin + kRowChunk, split_.columns)));
    }
    return finish_map(sums.finish(), map);
  }

  RowMap<double> finish_map(std::array<double, F::kRowSums> sums, RowMap<double> map) const {
    F::finish(sums, static_cast<double>(split_.columns), map);
    return map;
  }

  static bool in_range(const RowMap<double>& map) {
    return map.c1 >= 0x1p-100 && map.c1 <= 0x1p120;  // false for NaN
  }

  void reduce_rows(Group& group, std::int64_t row) const {
    for (int r = 0; r < group.rows; ++r) {
      group.map[r] = row_map<A>(group.dy[r], group.x[r], given_statistics(row + r));
      if constexpr (kWatchesRange) group.in_f64 = group.in_f64 || !in_range(group.map[r]);
    }
    if constexpr (kWatchesRange) {
      if (!group.in_f64) return;
      for (int r = 0; r < group.rows; ++r) {
        group.map[r] = row_map<double>(group.dy[r], group.x[r], given_statistics(row + r));
      }
    }
  }

  RowApply<F, T> applier() const { return {weights_, wanted(roles_.dx), sums_wanted_, stores_}; }

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
    double run_[kColumnSums * kMaxRunColumns];
  };

  // Every thread takes whole blocks of rows.
  void run_blocks() {
    cpu::parallel_for(split_.blocks, elements_, [&](std::int64_t block) NORMGRAD_ATTR {
      const std::int64_t begin = block * split_.block_rows;
      const std::int64_t end = std::min(begin + split_.block_rows, split_.rows);
      RunSums run(*this, block, 0, split_.columns);
      if (sums_wanted_) run.start_block();
      for (std::int64_t run_begin = begin; run_begin < end; run_begin += kRunRows) {
        const std::int64_t run_end = std::min(run_begin + kRunRows, end);
        if (sums_wanted_) run.start_run();
        for (std::int64_t row = run_begin; row < run_end; row += kGroupRows) {
          Group group = locate(row, run_end);
          const Group next = locate(std::min(row + kGroupRows, end - 1), end);
          group.next = &next;
          reduce_rows(group, row);
          applier().apply(group, 0, split_.columns, run.sums(), run.pitch());
        }
        if (sums_wanted_) run.end_run();
      }
      end_stores(stores_);
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
    reduce_batch<A>(begin, end);
    std::uint64_t in_f64 = 0;  // a bit per group of the batch
    if constexpr (kWatchesRange) {
      for (std::int64_t row = begin; row < end; ++row) {
        if (!in_range(maps_[row - begin])) in_f64 |= std::uint64_t{1} << (row - begin) / kGroupRows;
      }
      for (std::int64_t row = begin; row < end; row += kGroupRows) {
        if ((in_f64 >> (row - begin) / kGroupRows & 1) != 0) {
          reduce_batch<double>(row, std::min(row + kGroupRows, end), row - begin);
        }
      }
    }
    const std::int64_t tiles = ceil_div(split_.columns, kTile);
    cpu::parallel_for(tiles, (end - begin) * split_.columns, [&](std::int64_t tile) NORMGRAD_ATTR {
      const std::int64_t column = tile * kTile;
      const std::int64_t column_end = std::min(column + kTile, split_.columns);
      RunSums run(*this, block, column, column_end);
      if (sums_wanted_ && begin == block * split_.block_rows) run.start_block();
      if (sums_wanted_) run.start_run();
      for (std::int64_t row = begin; row < end; row += kGroupRows) {
        Group group = locate(row, end);
        for (int r = 0; r < group.rows; ++r) group.map[r] = maps_[row - begin + r];
        group.in_f64 = (in_f64 >> (row - begin) / kGroupRows & 1) != 0;
        applier().apply(group, column, column_end, run.sums(), run.pitch());
      }
      if (sums_wanted_) run.end_run();
      end_stores(stores_);
    });
  }

  // maps_[at ...] for rows [begin, end), a task per (row, chunk).
  template <typename B>
  void reduce_batch(std::int64_t begin, std::int64_t end, std::int64_t at = 0) {
    constexpr int kSums = F::kRowSums;
    const std::int64_t chunks = ceil_div(split_.columns, kRowChunk);
    cpu::parallel_for((end - begin) * chunks, (end - begin) * split_.columns,
                      [&](std::int64_t task) NORMGRAD_ATTR {
                        const std::int64_t row = begin + task / chunks;
                        const std::int64_t column = task % chunks * kRowChunk;
                        const Group group = locate(row, row + 1);
                        const auto sums =
                            chunk_sums<B>(group.dy[0], group.x[0], given_statistics(row), column,
                                          std::min(column + kRowChunk, split_.columns));
                        std::copy_n(sums.data(), kSums, partials_ + task * kSums);
                      });
    for (std::int64_t row = begin; row < end; ++row) {
      cpu::Pairwise<kSums> sums;
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        std::array<double, kSums> partial;
        std::copy_n(partials_ + ((row - begin) * chunks + chunk) * kSums, kSums, partial.data());
        sums.add(partial);
      }
      maps_[at + row - begin] = finish_map(sums.finish(), given_statistics(row));
    }
  }

  // Blocks fold by stride doubling; the result is rounded once into dw and db.
  void store_column_sums() {
    cpu::parallel_for(ceil_div(split_.columns, kTile), split_.blocks * split_.columns,
                      [&](std::int64_t tile) NORMGRAD_ATTR {
                        const std::int64_t begin = tile * kTile;
                        const std::int64_t end = std::min(begin + kTile, split_.columns);
                        for (int k = 0; k < kColumnSums; ++k) {
                          const int role = k == 0 ? roles_.dw : roles_.db;
                          if (!wanted(role)) continue;
                          fold_blocks(k, begin, end);
                          const Tensor& out = plan_.argument[role].tensor;
                          const double* sums =
                              split_.rows == 0 ? nullptr : slots_ + k * split_.columns;
                          cpu::with_element_type(out.dtype, [&](auto* type) {
                            auto* to = static_cast<decltype(type)>(data_[role]);
                            for (std::int64_t c = begin; c < end; ++c) {
                              const double sum = sums == nullptr ? 0.0 : sums[c];
                              cpu::write(to + c * out.strides[0],
                                         cpu::round_to<std::remove_pointer_t<decltype(type)>>(sum));
                            }
                          });
                        }
                      });
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
  const A* weights_ = nullptr;
  double* slots_ = nullptr;
  double* partials_ = nullptr;
  RowMap<double>* maps_ = nullptr;
  std::int64_t elements_ = 0;
  Stores stores_ = Stores::kCached;
  bool sums_wanted_;
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
