// What the walk across channels keeps of a tile's channels while it goes from pixel to pixel.
#if defined(NORMGRAD_OPS_CHANNEL_NORM_TILE_MAP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_CHANNEL_NORM_TILE_MAP_INL_H
#undef NORMGRAD_OPS_CHANNEL_NORM_TILE_MAP_INL_H
#else
#define NORMGRAD_OPS_CHANNEL_NORM_TILE_MAP_INL_H
#endif

#include <algorithm>
#include <span>

#include "ops/channel_norm/element-inl.h"

NORMGRAD_TARGET_BEGIN

// The most elements of a long pixel: 16 pixels of 32 channels.
inline constexpr std::int64_t kLongPixel = kLanes * 32;

// The constants of a tile's channels as arithmetic type A has them, an array for each. kAlternating: in the
// order of pairs that alternate.
template <typename A, bool kAlternating = false>
class TileMap {
 public:
  // `count` channels, repeated up to `width`; for a formula that needs the mean alone, or all.
  TileMap(const ChannelMaps& maps, std::int64_t count, std::int64_t width, bool mean_alone) {
    for (std::int64_t i = 0; i < count; ++i) {
      const double low = low_of_mean<A>(maps[i]);
      is_split |= low != 0;
      mean_[i] = constant<A>(maps[i].mean);
      mean_low_[i] = constant<A>(low);
      if (mean_alone) continue;
      scale_[i] = constant<A>(maps[i].scale);
      c1_[i] = constant<A>(maps[i].c1);
      c2_[i] = constant<A>(maps[i].c2);
    }
    A* const arrays[] = {mean_, mean_low_, scale_, c1_, c2_};
    for (A* values : std::span(arrays, mean_alone ? 2 : 5)) {
      for (std::int64_t filled = count; filled < width; filled *= 2) {
        std::copy_n(values, std::min(filled, width - filled), values + filled);
      }
      std::fill_n(values + width, kPadding, A{0});
      if constexpr (kAlternating) alternate(values, width);
    }
  }
  // At element i of a vector that begins a pixel or lies whole vectors on; what is past its end is 0.
  template <class Step>
  NORMGRAD_ALWAYS ChannelMap<Vec<A>> at(std::int64_t i, Step) const {
    return at(i);
  }
  template <int kOdd>
  NORMGRAD_ALWAYS ChannelMap<Vec<A>> at(std::int64_t i, Alternate<kOdd>) const {
    return at(i + kOdd * kWidth<A>);
  }
  template <int kOdd>
  NORMGRAD_ALWAYS ChannelMap<Vec<A>> at(std::int64_t i, AlternatePart<kOdd>) const {
    return at(i + kOdd * kWidth<A>);
  }

  bool is_split = false;  // some mean has a low part

 private:
  static constexpr std::int64_t kPadding = 2 * kLanes;
  // 3 lines more keep the arrays from sharing places in the cache.
  static constexpr std::int64_t kMost = kLongPixel + kPadding + 3 * 64 / std::int64_t{sizeof(A)};

  NORMGRAD_ALWAYS ChannelMap<Vec<A>> at(std::int64_t i) const {
    return {load<A>(mean_ + i), load<A>(mean_low_ + i), load<A>(scale_ + i), load<A>(c1_ + i),
            load<A>(c2_ + i)};
  }
  static void alternate(A* values, std::int64_t width) {
    constexpr std::int64_t kPair = 2 * kWidth<A>;
    for (std::int64_t begin = 0; begin < width; begin += kPair) {
      A pair[kPair];
      std::copy_n(values + begin, kPair, pair);
      for (std::int64_t j = 0; j < kPair; ++j) {
        values[begin + j % 2 * kWidth<A> + j / 2] = pair[j];
      }
    }
  }

  // Vectors of 64 bytes would otherwise lie in two cache lines each.
  alignas(64) A mean_[kMost];
  alignas(64) A mean_low_[kMost];
  alignas(64) A scale_[kMost];
  alignas(64) A c1_[kMost];
  alignas(64) A c2_[kMost];
};

NORMGRAD_TARGET_END
#endif
