// The sums of the walk across channels: a row of accumulators for each of the 16 lanes, 8 steps added in registers, a
// cache line of channels after the other.
#if defined(NORMGRAD_OPS_CHANNEL_NORM_PIXEL_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_CHANNEL_NORM_PIXEL_SUMS_INL_H
#undef NORMGRAD_OPS_CHANNEL_NORM_PIXEL_SUMS_INL_H
#else
#define NORMGRAD_OPS_CHANNEL_NORM_PIXEL_SUMS_INL_H
#endif

#include <algorithm>

#include "kernels/column_sums-inl.h"
#include "ops/channel_norm/tile_map-inl.h"

NORMGRAD_TARGET_BEGIN

// Up to 8 steps whose terms are added together. A step has `extent` elements, in rows of `width`.
template <typename T>
struct StepBlock {
  int steps = 0;
  std::int64_t width, dy_stride, x_stride;
  std::int64_t dy_ahead, x_ahead;  // to the same place in the next block
  const T* dy[kChain];
  const T* x[kChain];
  std::int64_t extent[kChain];
  bool is_full = true;  // every step has an element for every accumulator
  bool fetch = false;   // the next block meanwhile
};

// The f64 sums of a tile, [sum][lane][channel of the tile].
template <class F, typename T>
class PixelSums {
 public:
  using A = TermArithmetic<F, T>;

  // `lanes`: the most that a step has.
  PixelSums(std::int64_t channels, std::int64_t lanes) : channels_(channels) {
    while (lanes_ < lanes) lanes_ *= 2;
    for (auto& sums : sums_) std::fill_n(sums, lanes_ * channels, 0.0);
  }

  std::int64_t lanes() const { return lanes_; }

  template <bool kSplit>
  void add(const StepBlock<T>& block, const TileMap<A>& map) {
    const std::int64_t rows = std::max<std::int64_t>(1, lanes_ * channels_ / block.width);
    RowTerms terms(block);
    for (std::int64_t row = 0; row < rows; ++row) {
      if (!block.is_full) terms.keep_those_in(block, row * block.width);
      if (terms.steps == 0) continue;
      terms.dy_at = row * block.dy_stride;
      terms.x_at = row * block.x_stride;
      add_row<kSplit>(terms, block.width, map, sums_[0] + row * block.width);
    }
  }

  void finish(ChannelSums to) {
    for (int k = 0; k < F::kSums; ++k) {
      for (std::int64_t half = lanes_ / 2; half > 0; half /= 2) {
        double* const upper = sums_[k] + half * channels_;
        for (std::int64_t i = 0; i < half * channels_; ++i) sums_[k][i] += upper[i];
      }
      for (std::int64_t c = 0; c < channels_; ++c) to.at[c * to.stride + k] = sums_[k][c];
    }
  }

 private:
  static constexpr std::int64_t kPitch = kLanes * kChannelTile;

  // The steps that have elements in a row of accumulators.
  struct RowTerms {
    int steps;
    bool is_full = true;       // each has a whole row of them
    std::int64_t dy_at, x_at;  // where in a step the row begins
    std::int64_t dy_ahead, x_ahead;
    const T* dy[kChain];
    const T* x[kChain];
    std::int64_t there[kChain];
    bool fetch;

    explicit RowTerms(const StepBlock<T>& block)
        : steps(block.steps), dy_ahead(block.dy_ahead), x_ahead(block.x_ahead), fetch(block.fetch) {
      std::copy_n(block.dy, steps, dy);
      std::copy_n(block.x, steps, x);
    }
    void keep_those_in(const StepBlock<T>& block, std::int64_t begin) {
      steps = 0;
      is_full = true;
      for (int s = 0; s < block.steps; ++s) {
        const std::int64_t count = std::min(block.extent[s] - begin, block.width);
        if (count <= 0) continue;
        dy[steps] = block.dy[s];
        x[steps] = block.x[s];
        there[steps++] = count;
        is_full = is_full && count == block.width;
      }
    }
  };

  template <bool kSplit>
  static void add_row(const RowTerms& terms, std::int64_t width, const TileMap<A>& map,
                      double* to) {
    constexpr int kStrip = kStripVectors;
    std::int64_t i = 0;
    if (terms.is_full) {
      for (; i + kStrip * kWidth<A> <= width; i += kStrip * kWidth<A>) {
        add_strip<kSplit, kStrip>(terms, i, map, to, Whole());
      }
      for_vectors<A>(width - i, [&](std::int64_t at, auto step) NORMGRAD_INLINE {
        add_strip<kSplit, 1>(terms, i + at, map, to, step);
      });
    } else {
      for_vectors<A>(width, [&](std::int64_t at, auto step)
                                NORMGRAD_INLINE { add_ragged<kSplit>(terms, at, map, to, step); });
    }
  }

  template <bool kSplit, int kVectors, class Step>
  static NORMGRAD_ALWAYS void add_strip(const RowTerms& terms, std::int64_t i,
                                        const TileMap<A>& map, double* to, Step step) {
    ColumnSums<A, F::kSums, kVectors> sums;
    sums.start(to + i, kPitch, step);
    for (int s = 0; s < terms.steps; ++s) {
      const T* dy = terms.dy[s] + terms.dy_at + i;
      const T* x = terms.x[s] + terms.x_at + i;
      if (kVectors > 1 && terms.fetch) {
        unroll<kLines<T, A, kVectors>>([&](auto line) NORMGRAD_INLINE {
          kernels::prefetch(dy + terms.dy_ahead + line * (64 / std::int64_t{sizeof(T)}));
          kernels::prefetch(x + terms.x_ahead + line * (64 / std::int64_t{sizeof(T)}));
        });
      }
      unroll<kVectors>([&](auto v) NORMGRAD_INLINE {
        const std::int64_t at = v * kWidth<A>;
        const auto term = value_of<F, kSplit>(dy + at, x + at, map.at(i + at, step), step);
        unroll<F::kSums>([&](auto k) NORMGRAD_INLINE { sums.add(k, v, term[k]); });
      });
    }
    sums.finish(to + i, kPitch, step);
  }

  // Some step ends before or within the vector at i.
  template <bool kSplit, class Step>
  static NORMGRAD_ALWAYS void add_ragged(const RowTerms& terms, std::int64_t i,
                                         const TileMap<A>& map, double* to, Step step) {
    ColumnSums<A, F::kSums, 1> sums;
    sums.start(to + i, kPitch, step);
    for (int s = 0; s < terms.steps; ++s) {
      const auto add = [&](auto there) NORMGRAD_INLINE {
        const auto term = value_of<F, kSplit>(terms.dy[s] + terms.dy_at + i,
                                              terms.x[s] + terms.x_at + i, map.at(i, step), there);
        unroll<F::kSums>([&](auto k) NORMGRAD_INLINE { sums.add(k, 0, keep(term[k], there)); });
      };
      const std::int64_t left = terms.there[s] - i;
      if (left >= kWidth<A>) {
        add(Whole());
      } else if (left > 0) {
        add(Part{left});
      }
    }
    sums.finish(to + i, kPitch, step);
  }

  std::int64_t channels_;
  std::int64_t lanes_ = 1;  // a power of two
  alignas(64) double sums_[F::kSums][kPitch];
};

NORMGRAD_TARGET_END
#endif
