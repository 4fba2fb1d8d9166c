// What is done with a group of rows once the constants of each row are known: dx, and the column sums down its rows.
// Columns go in strips of 4 vectors, so that the 8 rows of a strip are summed in registers.
#if defined(NORMGRAD_OPS_ROW_NORM_APPLY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_ROW_NORM_APPLY_INL_H
#undef NORMGRAD_OPS_ROW_NORM_APPLY_INL_H
#else
#define NORMGRAD_OPS_ROW_NORM_APPLY_INL_H
#endif

#include <algorithm>

#include "cpu/elementwise-inl.h"
#include "cpu/sums-inl.h"
#include "ops/formulas-inl.h"
#include "ops/row_norm/row_norm.h"

NORMGRAD_TARGET_BEGIN

inline constexpr std::int64_t kApplyTile = 512;  // columns that are applied at once

template <typename T>
struct RowGroup {
  int rows = 0;
  const T* dy[kGroupRows];
  const T* x[kGroupRows];
  T* dx[kGroupRows];
  RowMap<double> map[kGroupRows];
  bool in_f64 = false;             // of 16-bit data whose squares f32 has lost
  const RowGroup* next = nullptr;  // fetched from memory while this one is applied
};

template <typename B>
inline NORMGRAD_ALWAYS RowMap<Vec<B>> spread(const RowMap<double>& m) {
  return {all(static_cast<B>(m.mean)), all(static_cast<B>(m.mean_low)), all(static_cast<B>(m.rstd)),
          all(static_cast<B>(m.c1)), all(static_cast<B>(m.c2))};
}

template <class F, typename T>
class RowApply {
 public:
  using A = Arithmetic<T>;
  // f32 arithmetic on 16-bit data may lose the squares of a row; its group then takes f64 arithmetic.
  static constexpr bool kWatchesRange = F::kComputesRstd && sizeof(A) == 4;

  const A* weights;
  bool dx_wanted;
  bool sums_wanted;
  Stores stores;

  // Columns [begin, end). Column terms are added to sums[column_sum][column - begin]; `pitch` lies between the column
  // sums.
  void apply(const RowGroup<T>& group, std::int64_t begin, std::int64_t end, double* sums,
             std::int64_t pitch) const {
    if constexpr (kWatchesRange) {
      if (group.in_f64) return apply_in<double>(group, begin, end, sums, pitch);
    }
    apply_in<A>(group, begin, end, sums, pitch);
  }

 private:
  static constexpr int kColumnSums = F::kColumnSums;

  // Outputs that are not wanted, or that go past the cache, go through a tile on the stack.
  template <typename B>
  void apply_in(const RowGroup<T>& group, std::int64_t begin, std::int64_t end, double* sums,
                std::int64_t pitch) const {
    alignas(64) T dx_tile[kGroupRows][kApplyTile];
    double unwanted[kColumnSums * kApplyTile];
    const bool direct = dx_wanted && stores == Stores::kCached;
    if (!sums_wanted) std::fill_n(unwanted, kColumnSums * kApplyTile, 0.0);
    RowMap<Vec<B>> map[kGroupRows];
    for (int r = 0; r < group.rows; ++r) map[r] = spread<B>(group.map[r]);
    for (std::int64_t tile = begin; tile < end; tile += kApplyTile) {
      const std::int64_t count = std::min(kApplyTile, end - tile);
      T* dx[kGroupRows];
      for (int r = 0; r < group.rows; ++r) dx[r] = direct ? group.dx[r] + tile : dx_tile[r];
      const ColumnSums to =
          sums_wanted ? ColumnSums{sums + tile - begin, pitch} : ColumnSums{unwanted, kApplyTile};
      if (group.rows == kGroupRows) {
        apply_tile<B, kGroupRows>(group, map, tile, count, dx, to);
      } else {
        apply_tile<B, 0>(group, map, tile, count, dx, to);
      }
      if (direct || !dx_wanted) continue;
      for (int r = 0; r < group.rows; ++r) stream_copy(count, dx_tile[r], group.dx[r] + tile);
    }
  }
  struct ColumnSums {
    double* at;
    std::int64_t pitch;
  };

  // Columns [tile, tile + count) of kRows rows (0: of group.rows), in strips of 4 vectors: about a
  // cache line.
  template <typename B, int kRows>
  void apply_tile(const RowGroup<T>& group, const RowMap<Vec<B>>* map, std::int64_t tile,
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
  NORMGRAD_ALWAYS void apply_strip(const RowGroup<T>& group, const RowMap<Vec<B>>* map,
                                   std::int64_t tile, std::int64_t i, T* const* dx, ColumnSums to,
                                   Step step) const {
    Vec<B> sum[kColumnSums][kStrip];
    start_sums<B>(sum, to, i, step);
    const A* w_at = weights + tile + i;
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
};

NORMGRAD_TARGET_END
#endif
