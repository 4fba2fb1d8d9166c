// The walk across channels: where neighbouring elements belong to neighbouring channels (channels-last,
// (N, C)). Few channels without gaps between pixels: the 16 pixels of a step are taken as one long pixel. Then
// the accumulators form a single row, [lane][channel], and any number of channels fills whole vectors.
#if defined(NORMGRAD_OPS_CHANNEL_NORM_PIXELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_CHANNEL_NORM_PIXELS_INL_H
#undef NORMGRAD_OPS_CHANNEL_NORM_PIXELS_INL_H
#else
#define NORMGRAD_OPS_CHANNEL_NORM_PIXELS_INL_H
#endif

#include <algorithm>

#include "runtime/sizes.h"
#include "ops/channel_norm/pixel_output-inl.h"
#include "ops/channel_norm/pixel_sums-inl.h"

NORMGRAD_TARGET_BEGIN

template <typename T>
class PixelLoops {
 public:
  PixelLoops(const ChannelSplit& split, const ChannelArguments& arguments, void* const* data)
      : split_(split),
        walked_(split.l <= kLanes ? as_one_plane(split, arguments) : split),
        pixels_(walked_, arguments, data),
        output_(split, arguments, data) {
    const std::int64_t chunks = split.n_chunks * split.l_chunks;
    tile_ = pixels_.widest_tile();
    while (tile_ > kLine && tiles() * chunks < threads())
      tile_ = ceil_div(tile_, 2 * kLine) * kLine;
    const std::int64_t row = split.channels * static_cast<std::int64_t>(sizeof(T));
    whole_tiles_ = chunks == 1 && (threads() == 1 || row / threads() >= kApart);
  }

  std::int64_t tiles() const { return ceil_div(split_.channels, tile_); }
  ChannelTile tile(std::int64_t index) const {
    const std::int64_t first = index * tile_;
    return {first, std::min(tile_, split_.channels - first)};
  }
  // A thread takes all of some channels, if they are one chunk and what it writes of a pixel is far from what others do.
  bool takes_whole_tiles() const { return whole_tiles_; }

  // Adds up one chunk of each of the tile's channels.
  template <class F>
  void sums(ChannelTile tile, std::int64_t chunk, const ChannelMaps& maps, ChannelSums to) const {
    using A = TermArithmetic<F, T>;
    const PixelData<T>& dy = pixels_.dy;
    const PixelData<T>& x = pixels_.x;
    const bool is_long = is_long_pixel({F::kReadsDy ? &dy : &x, F::kReadsX ? &x : &dy});
    const std::int64_t width = is_long ? kLanes * tile.count : tile.count;
    const TileMap<A> map(maps, tile.count, width, true);
    const std::int64_t lanes = std::min(split_.l, kLanes);
    PixelSums<F, T> sums(tile.count, lanes);
    const std::int64_t full = sums.lanes();
    StepBlock<T> block;
    block.width = width;
    block.dy_stride = dy.pixel_stride(tile);
    block.x_stride = x.pixel_stride(tile);
    block.dy_ahead = dy.ahead(kChain * lanes);
    block.x_ahead = x.ahead(kChain * lanes);
    block.fetch = kernels::is_worth_fetching(split_.n * split_.l * split_.channels);
    T dy_pack[kChain][kLanes * kPackedTile];
    T x_pack[kChain][kLanes * kPackedTile];
    const auto add = [&]() NORMGRAD_INLINE {
      with_split<F, A>(map.is_split,
                       [&](auto split) NORMGRAD_ATTR { sums.template add<split>(block, map); });
      block.steps = 0;
      block.is_full = true;
    };
    const bool dy_is_packed = F::kReadsDy && !dy.direct(), x_is_packed = F::kReadsX && !x.direct();
    using Pointers = typename Pixels<T>::Pointers;
    const auto add_step = [&](const Segment& step, Pointers at) NORMGRAD_INLINE {
      const int s = block.steps++;
      if (dy_is_packed) at.dy = dy.packed(step, tile, dy_pack[s]);
      if (x_is_packed) at.x = x.packed(step, tile, x_pack[s]);
      block.dy[s] = F::kReadsDy ? at.dy : at.x;
      block.x[s] = F::kReadsX ? at.x : at.dy;
      block.extent[s] = step.count * tile.count;
      block.is_full = block.is_full && step.count == full;
      if (block.steps == kChain) add();
    };
    pixels_.each_run_of(lanes, tile, span_of(split_, chunk), add_step);
    if (block.steps > 0) add();
    sums.finish(to);
  }

  // By pixels it is faster, unless that takes another trip to memory.
  bool output_goes_with_sums(bool beyond_cache) const { return beyond_cache; }
  std::int64_t output_parts() const { return output_.parts(); }
  OutputPart output_part(std::int64_t index) const { return output_.part(index); }
  template <class F>
  void write(const OutputPart& part, const ChannelMaps& maps, Stores stores) const {
    output_.template write<F>(part.tile, part.span, maps, stores);
  }

 private:
  static constexpr std::int64_t kLine = 64 / sizeof(T);  // channels of a cache line
  static constexpr std::int64_t kApart = 2048;  // bytes: further than processors fetch ahead

  bool is_long_pixel(std::initializer_list<const PixelData<T>*> data) const {
    static_assert(kLanes * kLine <= kLongPixel);
    return split_.channels <= kLine && split_.l >= kLanes &&
           std::none_of(data.begin(), data.end(),
                        [](const PixelData<T>* d) { return d->has_gaps(); });
  }

  const ChannelSplit& split_;
  // A step is a run of up to 16 l of one n. If that is all of them, the n can be walked as one plane.
  ChannelSplit walked_;
  Pixels<T> pixels_;
  PixelOutput<T> output_;
  std::int64_t tile_;
  bool whole_tiles_;
};

NORMGRAD_TARGET_END
#endif
