// What is done with a group of rows once the constants of each row are known: dx, and the column sums down its rows.
// Columns go in strips of 4 vectors, so that the 8 rows of a strip are summed in registers.
#if defined(NORMGRAD_OPS_ROW_NORM_APPLY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_ROW_NORM_APPLY_INL_H
#undef NORMGRAD_OPS_ROW_NORM_APPLY_INL_H
#else
#define NORMGRAD_OPS_ROW_NORM_APPLY_INL_H
#endif

#include <algorithm>

#include "cpu/column_sums-inl.h"
#include "cpu/elementwise-inl.h"
#include "cpu/sums-inl.h"
#include "ops/formulas-inl.h"
#include "ops/row_norm/rows-inl.h"

NORMGRAD_TARGET_BEGIN

// Columns that are applied at once. Runs past the cache are this long: with 512 2 to 8 % slower, with 128 5 to 20 % (f32 and
// bf16, two threads, Zen 3).
inline constexpr std::int64_t kApplyTile = 1024;

template <class F, typename T>
class RowApply {
 public:
  using A = Arithmetic<T>;

  const A* weights;
  bool dx_wanted;
  bool sums_wanted;
  // Whether rows are so long that a group comes from far, and no processor sees 8 rows coming: what the next strip takes is
  // then fetched by this one, unless it fetches from later rows. 16-bit rows of 8192 and 65536, two threads, Zen 3: 2 to 16 %
  // faster. Not in f32, where one more test slows all other rows down (65536x64 by 10 %), and with AVX2 alone: others were
  // not measured.
  bool fetches_next;
  Stores stores;

  // Columns [begin, end). Column terms are added to sums[column_sum][column -
  // begin]; `pitch` lies between the column sums. Of the rows `ahead`, if any, dy and the place of dx are fetched from
  // memory meanwhile.
  void apply(const RowGroup<T>& group, const Ahead* ahead, std::int64_t begin, std::int64_t end,
             double* sums, std::int64_t pitch) const {
    if constexpr (F::kComputesRstd && sizeof(A) == 4) {
      if (group.in_f64) return apply_in<double>(group, ahead, begin, end, sums, pitch);
    }
    apply_in<A>(group, ahead, begin, end, sums, pitch);
  }

 private:
  static constexpr int kColumnSums = F::kColumnSums;

  // Outputs that are not wanted, or that go past the cache, go through a tile on the stack.
  template <typename B>
  void apply_in(const RowGroup<T>& group, const Ahead* ahead, std::int64_t begin, std::int64_t end,
                double* sums, std::int64_t pitch) const {
    alignas(64) T dx_tile[kGroupRows][kApplyTile];
    alignas(64) double unwanted[kColumnSums * kApplyTile];
    const bool direct = dx_wanted && stores == Stores::kCached;
    for (int k = 0; k < kColumnSums && !sums_wanted; ++k) {
      std::fill_n(unwanted + k * kApplyTile, std::min(kApplyTile, end - begin), 0.0);
    }
    const RowMap<PerRow<B>> map = rounded<B>(group.map);
    for (std::int64_t tile = begin; tile < end; tile += kApplyTile) {
      const std::int64_t count = std::min(kApplyTile, end - tile);
      PerRow<T*> dx;
      for (int r = 0; r < kGroupRows; ++r) dx[r] = direct ? group.dx[r] + tile : dx_tile[r];
      const SumsAt to =
          sums_wanted ? SumsAt{sums + tile - begin, pitch} : SumsAt{unwanted, kApplyTile};
      const Tile<B> at{group, ahead, map, tile, dx, to, direct};
      if (kKeepsXHat<F, T> && group.kept != nullptr) {
        apply_tile<B, kKeepsXHat<F, T>>(at, count);
      } else {
        apply_tile<B, false>(at, count);
      }
      if (direct || !dx_wanted) continue;
      for (int r = 0; r < group.rows; ++r) stream_copy(count, dx_tile[r], group.dx[r] + tile);
    }
  }
  struct SumsAt {
    double* at;
    std::int64_t pitch;
  };

  template <typename B>
  struct Tile {
    const RowGroup<T>& group;
    const Ahead* ahead;
    const RowMap<PerRow<B>>& map;
    std::int64_t begin;  // its first column
    PerRow<T*> dx;
    SumsAt to;
    bool fetch_dx;
  };

  // `count` columns of the group's rows, in strips of 4 vectors: about a cache line.
  template <typename B, bool kKept>
  void apply_tile(const Tile<B>& tile, std::int64_t count) const {
    constexpr int kStrip = kStripVectors;
    constexpr int kLeast = kAlternates<T, B> ? 2 : 1;
    std::int64_t i = 0;
    for (; i + kStrip * kWidth<B> <= count; i += kStrip * kWidth<B>) {
      apply_strip<B, kKept, kStrip>(tile, i, Whole());
    }
    for (; i + kLeast * kWidth<B> <= count; i += kLeast * kWidth<B>) {
      apply_strip<B, kKept, kLeast>(tile, i, Whole());
    }
    if (i < count) apply_strip<B, kKept, kLeast>(tile, i, Part{count - i});
  }

  template <typename B, bool kKept, int kStrip, class Size>
  NORMGRAD_ALWAYS void apply_strip(const Tile<B>& tile, std::int64_t i, Size size) const {
    constexpr bool kAlternating = kAlternates<T, B>;
    ColumnSums<B, kColumnSums, kStrip, kAlternating> sums;
    sums.start(tile.to.at + i, tile.to.pitch, size);
    const std::int64_t column = tile.begin + i;
    // Read once: g++ takes every store of an element for one that might change them.
    const RowGroup<T>& group = tile.group;
    const RowMap<PerRow<B>>& map = tile.map;
    const int rows = group.rows;
    const A* const w = weights;
    const A* const kept_rows = group.kept;
    const std::int64_t kept_pitch = group.kept_pitch;
    const bool fetches = kStrip > 2 && tile.ahead != nullptr;
    const std::int64_t dy_ahead = fetches ? tile.ahead->dy : 0;
    const std::int64_t dx_ahead = fetches ? tile.ahead->dx : 0;
    const bool fetch_dx = tile.fetch_dx;
    constexpr bool kMayFetchNext = NORMGRAD_FAST_PARTS && sizeof(B) == 4 && !kKept && kStrip > 2;
    const bool fetch_next = kMayFetchNext && !fetches && fetches_next;
    for (int r = 0; r < rows; ++r) {
      const RowMap<Vec<B>> m = spread(map, r);
      const T* dy_at = group.dy[r] + column;
      const T* x_at = group.x[r] + column;
      T* dx_at = tile.dx[r] + i;
      if (fetches) {
        unroll<kLines<T, B, kStrip>>([&](auto line) NORMGRAD_INLINE {
          const std::int64_t at = line * (64 / std::int64_t{sizeof(T)});
          cpu::prefetch(cpu::beyond(dy_at, at + dy_ahead));
          if (fetch_dx) cpu::prefetch_to_write(cpu::beyond(dx_at, at + dx_ahead));
        });
      } else if (fetch_next) {
        constexpr std::int64_t kNext = kStrip * kWidth<B>;
        cpu::prefetch_soon(cpu::beyond(dy_at, kNext));
        cpu::prefetch_soon(cpu::beyond(x_at, kNext));
        if (fetch_dx) cpu::prefetch_to_write(cpu::beyond(dx_at, kNext));
      }
      Vec<B> out[kStrip];
      unroll<kStrip>([&](auto v) NORMGRAD_INLINE {
        constexpr std::int64_t kAt = kOffset<kAlternating, v, B>;
        const auto step = step_of<kAlternating, v>(size);
        const Vec<B> dy = load<B>(dy_at + kAt, step);
        const Vec<B> x_hat = [&]() NORMGRAD_INLINE {
          if constexpr (kKept) {
            const A* kept = kept_rows + r * kept_pitch + column;
            return load<B>(kept + kAt + place<B>(step));
          } else {
            return F::x_hat(load<B>(x_at + kAt, step), m);
          }
        }();
        out[v] = F::dx(dy, load_weights<B, T>(w, column + kAt, step), x_hat, m);
        sums.part[0][v] = F::plus_weight_term(sums.part[0][v], dy, x_hat, m);
        if constexpr (kColumnSums == 2) sums.part[1][v] = sums.part[1][v] + dy;
        if constexpr (kStrip == 1) {
          store(out[v], dx_at, size);
        } else if constexpr (v % 2 == 1 && kAlternating) {
          store_alternate(out[v - 1], out[v], dx_at + kAt, size);
        } else if constexpr (v % 2 == 1) {
          store2(out[v - 1], out[v], dx_at + kAt - kWidth<B>);
        }
      });
    }
    sums.finish(tile.to.at + i, tile.to.pitch, size);
  }
};

NORMGRAD_TARGET_END
#endif
