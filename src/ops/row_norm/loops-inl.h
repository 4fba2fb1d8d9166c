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
  static constexpr std::int64_t kTile = 512;  // columns that a task applies at once
  // f32 arithmetic on 16-bit data may lose the squares of a row; such a group takes f64 arithmetic
  // instead.
  static constexpr bool kWatchesRange = F::kComputesRstd && sizeof(A) == 4;

  struct Group {
    int rows = 0;
    const T* dy[kGroupRows];
    const T* x[kGroupRows];
    T* dx[kGroupRows];
    RowMap<double> map[kGroupRows];
    bool in_f64 = sizeof(A) == 8;
    const Group* next =
        nullptr;  // comes after this one: fetched from memory while this one is applied
  };

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

  template <typename B>
  static RowMap<Vec<B>> spread(const RowMap<double>& m) {
    return {all(static_cast<B>(m.mean)), all(static_cast<B>(m.mean_low)),
            all(static_cast<B>(m.rstd)), all(static_cast<B>(m.c1)), all(static_cast<B>(m.c2))};
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

  // 2. dx of the group, and its column terms added to sums[column_sum][column - begin]; `pitch`
  // lies between the column sums. Outputs that are not wanted, or that go past the cache, go
  // through a tile on the stack.
  template <typename B>
  void apply_in(const Group& group, std::int64_t begin, std::int64_t end, double* sums,
                std::int64_t pitch) const {
    alignas(64) T dx_tile[kGroupRows][kTile];
    double unwanted[kColumnSums * kTile];
    const bool direct = wanted(roles_.dx) && stores_ == Stores::kCached;
    if (!sums_wanted_) std::fill_n(unwanted, kColumnSums * kTile, 0.0);
    RowMap<Vec<B>> map[kGroupRows];
    for (int r = 0; r < group.rows; ++r) map[r] = spread<B>(group.map[r]);
    for (std::int64_t tile = begin; tile < end; tile += kTile) {
      const std::int64_t count = std::min(kTile, end - tile);
      T* dx[kGroupRows];
      for (int r = 0; r < group.rows; ++r) dx[r] = direct ? group.dx[r] + tile : dx_tile[r];
      const ColumnSums to =
          sums_wanted_ ? ColumnSums{sums + tile - begin, pitch} : ColumnSums{unwanted, kTile};
      if (group.rows == kGroupRows) {
        apply_tile<B, kGroupRows>(group, map, tile, count, dx, to);
      } else {
        apply_tile<B, 0>(group, map, tile, count, dx, to);
      }
      if (direct || !wanted(roles_.dx)) continue;
      for (int r = 0; r < group.rows; ++r) stream_copy(count, dx_tile[r], group.dx[r] + tile);
    }
  }
  void apply(const Group& group, std::int64_t begin, std::int64_t end, double* sums,
             std::int64_t pitch) const {
    if constexpr (kWatchesRange) {
      if (group.in_f64) return apply_in<double>(group, begin, end, sums, pitch);
    }
    apply_in<A>(group, begin, end, sums, pitch);
  }

  struct ColumnSums {
    double* at;
    std::int64_t pitch;
  };

  // Columns [tile, tile + count) of kRows rows (0: of group.rows), in strips of 4 vectors: about a
  // cache line.
  template <typename B, int kRows>
  void apply_tile(const Group& group, const RowMap<Vec<B>>* map, std::int64_t tile,
                  std::int64_t count, T* const* dx, ColumnSums to) const {
    constexpr int kStrip = kWidth<B> == 16 ? 1 : 4;  // the plain path's vectors are wide already
    std::int64_t i = 0;
    for (; i + kStrip * kWidth<B> <= count; i += kStrip * kWidth<B>) {
      apply_strip<B, kRows, kStrip>(group, map, tile, i, dx, to, Whole());
    }
    for_vectors<B>(count - i, [&](std::int64_t at, auto step) NORMGRAD_INLINE {
      apply_strip<B, kRows, 1>(group, map, tile, i + at, dx, to, step);
    });
  }

  template <typename B, int kRows, int kStrip, class Step>
  NORMGRAD_ALWAYS void apply_strip(const Group& group, const RowMap<Vec<B>>* map, std::int64_t tile,
                                   std::int64_t i, T* const* dx, ColumnSums to, Step step) const {
    Vec<B> sum[kColumnSums][kStrip];
    start_sums<B>(sum, to, i, step);
    const A* w_at = weights_ + tile + i;
    const int rows = kRows > 0 ? kRows : group.rows;
    for (int r = 0; r < rows; ++r) {
      const RowMap<Vec<B>> m = map[r];
      const T* dy_at = group.dy[r] + tile + i;
      const T* x_at = group.x[r] + tile + i;
      T* dx_at = dx[r] + i;
      if (kStrip > 1 && group.next != nullptr) {
        cpu::prefetch(group.next->dy[r] + tile + i);
        cpu::prefetch(group.next->x[r] + tile + i);
      }
      Vec<B> out[kStrip];
      unroll<kStrip>([&](auto v) NORMGRAD_INLINE {
        const Vec<B> dy = load<B>(dy_at + v * kWidth<B>, step);
        const Vec<B> x_hat = F::x_hat(load<B>(x_at + v * kWidth<B>, step), m);
        out[v] = F::dx(dy, load<B>(w_at + v * kWidth<B>, step), x_hat, m);
        const auto term = F::column_terms(dy, x_hat, m);
        unroll<kColumnSums>([&](auto k) NORMGRAD_INLINE { sum[k][v] = sum[k][v] + term[k]; });
        if constexpr (kStrip == 1) {
          store(out[v], dx_at, step);
        } else if constexpr (v % 2 == 1) {
          store2(out[v - 1], out[v], dx_at + (v - 1) * kWidth<B>);
        }
      });
    }
    end_sums<B>(sum, to, i, step);
  }

  // f64 terms go on from the sums so far; f32 terms of 8 rows are added from +0 and then to the
  // sums in f64.
  template <typename B, int kStrip, class Step>
  static NORMGRAD_ALWAYS void start_sums(Vec<B> (&sum)[kColumnSums][kStrip], ColumnSums to,
                                         std::int64_t i, Step step) {
    unroll<kColumnSums>([&](auto k) NORMGRAD_INLINE {
      unroll<kStrip>([&](auto v) NORMGRAD_INLINE {
        if constexpr (sizeof(B) == 8) {
          sum[k][v] = load<double>(to.at + k * to.pitch + i + v * kWidth<B>, step);
        } else {
          sum[k][v] = all(B{0});
        }
      });
    });
  }
  template <typename B, int kStrip, class Step>
  static NORMGRAD_ALWAYS void end_sums(const Vec<B> (&sum)[kColumnSums][kStrip], ColumnSums to,
                                       std::int64_t i, Step step) {
    unroll<kColumnSums>([&](auto k) NORMGRAD_INLINE {
      unroll<kStrip>([&](auto v) NORMGRAD_INLINE {
        double* at = to.at + k * to.pitch + i + v * kWidth<B>;
        if constexpr (sizeof(B) == 8) {
          store(sum[k][v], at, step);
        } else {
          add_f64(sum[k][v], at, step);
        }
      });
    });
  }
  // to[...] += a, in f64.
  static NORMGRAD_ALWAYS void add_f64(Vec<float> a, double* to, Whole) {
    unroll<kWidening>([&](auto p) NORMGRAD_INLINE {
      double* at = to + p * kWidth<double>;
      store(load<double>(at) + widen<p>(a), at);
    });
  }
  static NORMGRAD_ALWAYS void add_f64(Vec<float> a, double* to, Part part) {
    float lane[kWidth<float>];
    store(a, lane);
    for (std::int64_t j = 0; j < part.count; ++j) to[j] += static_cast<double>(lane[j]);
  }

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
          apply(group, 0, split_.columns, run.sums(), run.pitch());
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
        apply(group, column, column_end, run.sums(), run.pitch());
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
