// Sums along the rows of a group, and the constants of each row that follow
// from them.
#if defined(NORMGRAD_OPS_ROW_NORM_REDUCE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_ROW_NORM_REDUCE_INL_H
#undef NORMGRAD_OPS_ROW_NORM_REDUCE_INL_H
#else
#define NORMGRAD_OPS_ROW_NORM_REDUCE_INL_H
#endif

#include <algorithm>
#include <array>

#include "cpu/pairwise.h"
#include "cpu/sums-inl.h"
#include "ops/formulas-inl.h"
#include "ops/row_norm/rows-inl.h"

NORMGRAD_TARGET_BEGIN

template <class F, typename T>
class RowReduce {
 public:
  using A = Arithmetic<T>;
  static constexpr int kSums = F::kRowSums * static_cast<int>(kGroupRows);  // [sum][row]
  using GroupSums = std::array<double, kSums>;
  // f32 arithmetic on 16-bit data may lose the squares of a row; its group then
  // takes f64 arithmetic.
  static constexpr bool kWatchesRange = F::kComputesRstd && sizeof(A) == 4;

  const A* weights;
  std::int64_t columns;

  // Of whole rows. Of the rows `ahead`, if any, x is fetched meanwhile: the rest of them while this group is applied, so
  // that memory has work all the time.
  void reduce(RowGroup<T>& group, const Ahead* ahead) const {
    reduce_in<A>(group, ahead);
    if constexpr (kWatchesRange) {
      group.in_f64 = has_lost_squares(group.map, group.rows);
      if (group.in_f64) reduce_in<double>(group, nullptr);
    }
  }

  // Between two columns of one chunk; group.map holds what is given.
  template <typename B>
  GroupSums chunk_sums(const RowGroup<T>& group, const Ahead* ahead, std::int64_t begin,
                       std::int64_t end) const {
    const RowMap<PerRow<B>> given = rounded<B>(group.map);
    GroupSums sums;
    if (group.rows < kGroupRows) sums.fill(0);
    for (int r = 0; r < group.rows; ++r) {
      const auto of_row = row_sums<B>(group, ahead, r, spread(given, r), begin, end);
      for (int k = 0; k < F::kRowSums; ++k) sums[k * kGroupRows + r] = of_row[k];
    }
    return sums;
  }

  // From what is given to all that apply needs.
  void finish(const GroupSums& sums, RowMap<PerRow<double>>& maps) const {
    for_vectors<double>(kGroupRows, [&](std::int64_t r, auto step) NORMGRAD_INLINE {
      RowMap<Vec<double>> map;
      for_fields(maps, map, [&](const PerRow<double>& from, Vec<double>& to) NORMGRAD_INLINE {
        to = load<double>(from.data() + r, step);
      });
      std::array<Vec<double>, F::kRowSums> sum;
      unroll<F::kRowSums>([&](auto k) NORMGRAD_INLINE {
        sum[k] = load<double>(sums.data() + k * kGroupRows + r, step);
      });
      F::finish(sum, all(static_cast<double>(columns)), map);
      for_fields(map, maps, [&](const Vec<double>& from, PerRow<double>& to) NORMGRAD_INLINE {
        store(from, to.data() + r, step);
      });
    });
  }

  static bool has_lost_squares(const RowMap<PerRow<double>>& map, std::int64_t rows) {
    const auto fits = [](double squares) { return squares >= 0x1p-100 && squares <= 0x1p120; };
    return !std::all_of(map.c1.begin(), map.c1.begin() + rows,
                        fits);  // NaN does not fit
  }

 private:
  template <typename B>
  void reduce_in(RowGroup<T>& group, const Ahead* ahead) const {
    if (columns <= kRowChunk) return finish(chunk_sums<B>(group, ahead, 0, columns), group.map);
    cpu::Pairwise<kSums> sums;
    for (std::int64_t begin = 0; begin < columns; begin += kRowChunk) {
      sums.add(chunk_sums<B>(group, ahead, begin, std::min(begin + kRowChunk, columns)));
    }
    finish(sums.finish(), group.map);
  }

  template <typename B>
  NORMGRAD_ALWAYS std::array<double, F::kRowSums> row_sums(const RowGroup<T>& group,
                                                           const Ahead* ahead, int r,
                                                           const RowMap<Vec<B>>& map,
                                                           std::int64_t begin,
                                                           std::int64_t end) const {
    if constexpr (kKeepsXHat<F, T>) {
      if (group.kept != nullptr) {
        A* const kept = group.kept + r * group.kept_pitch + begin;
        return row_sums<B>(group, ahead, r, map, begin, end,
                           [&](std::int64_t i, auto step, Vec<B> x_hat)
                               NORMGRAD_INLINE { store(x_hat, kept + i + place<B>(step)); });
      }
    }
    return row_sums<B>(group, ahead, r, map, begin, end, [](auto...) NORMGRAD_INLINE {});
  }
  template <typename B, class Keep>
  NORMGRAD_ALWAYS std::array<double, F::kRowSums> row_sums(const RowGroup<T>& group,
                                                           const Ahead* ahead, int r,
                                                           const RowMap<Vec<B>>& map,
                                                           std::int64_t begin, std::int64_t end,
                                                           Keep&& keep) const {
    const T *dy = group.dy[r] + begin, *x = group.x[r] + begin;
    const bool fetches = ahead != nullptr;
    const std::int64_t x_ahead = fetches ? ahead->x : 0;
    const A* w = weights;
    Sums<B, F::kRowSums, kAlternates<T, B>> sums;
    sums.walk(
        end - begin,
        [&](std::int64_t i, auto step) NORMGRAD_INLINE {
          const Vec<B> x_hat = F::x_hat(load<B>(x + i, step), map);
          keep(i, step, x_hat);
          return F::row_terms(load<B>(dy + i, step), load_weights<B, T>(w, begin + i, step), x_hat);
        },
        [&](std::int64_t i) NORMGRAD_INLINE {
          if (fetches) cpu::prefetch(cpu::beyond(x, i + x_ahead));
        });
    return sums.finish();
  }
};

NORMGRAD_TARGET_END
#endif
