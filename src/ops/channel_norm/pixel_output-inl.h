// The output of the walk across channels. It is elementwise, so its spans need not be the chunks of the reduction: a
// thread begins with all channels of neighbouring pixels. Where threads write side by side in a pixel, processors fetch ahead
// into each other's part (f32 (4096, 49), two threads: 130 us by channels, 20 by pixels).
#if defined(NORMGRAD_OPS_CHANNEL_NORM_PIXEL_OUTPUT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_CHANNEL_NORM_PIXEL_OUTPUT_INL_H
#undef NORMGRAD_OPS_CHANNEL_NORM_PIXEL_OUTPUT_INL_H
#else
#define NORMGRAD_OPS_CHANNEL_NORM_PIXEL_OUTPUT_INL_H
#endif

#include <algorithm>

#include "runtime/sizes.h"
#include "ops/channel_norm/pixel_data-inl.h"
#include "ops/channel_norm/tile_map-inl.h"

NORMGRAD_TARGET_BEGIN

template <typename T>
class PixelOutput {
 public:
  PixelOutput(const ChannelSplit& split, const ChannelArguments& arguments, void* const* data)
      : split_(as_one_plane(split, arguments)), pixels_(split_, arguments, data) {
    const std::int64_t pixels = split_.n * split_.l;
    const std::int64_t elements = pixels * split_.channels;
    const std::int64_t for_threads = std::min<std::int64_t>(threads(), elements / kLeastElements);
    span_ = ceil_div(pixels, std::max({elements / kMostElements, for_threads, std::int64_t{1}}));
    // Where pixels share cache lines, spans need not.
    if (split_.channels % kLine != 0) span_ = ceil_div(span_, kLine) * kLine;
    spans_ = ceil_div(pixels, span_);
    tile_ = pixels_.widest_tile();
    if (kernels::is_worth_fetching(elements)) {
      ahead_ = std::clamp<std::int64_t>(kAhead / split_.channels, 4, 48);
    }
  }

  // All tiles of a span before the next.
  std::int64_t parts() const { return spans_ * tiles(); }
  OutputPart part(std::int64_t index) const {
    const std::int64_t channel = index % tiles() * tile_;
    const std::int64_t pixel = index / tiles() * span_;
    return {{channel, std::min(tile_, split_.channels - channel)},
            {pixel, std::min(pixel + span_, split_.n * split_.l)}};
  }

  // Writes a span of the tile's channels.
  template <class F>
  void write(ChannelTile tile, Span span, const ChannelMaps& maps, Stores stores) const {
    using A = Arithmetic<T>;
    // Without gaps, several pixels are written as one long one.
    const bool gaps = pixels_.dy.has_gaps() || pixels_.x.has_gaps() || pixels_.out.has_gaps() ||
                      tile.count < split_.channels;
    const std::int64_t run = gaps ? kLanes : pixels_at_once(tile.count);
    const std::int64_t width = gaps ? tile.count : run * tile.count;
    const TileMap<A, kAlternates<T, A>> map(maps, tile.count, width, false);
    const bool streamed = kStreams && stores == Stores::kStreamed && pixels_.out.is_aligned(tile);
    // Nothing is fetched beyond the span's end: what is to be written there may be another thread's.
    const std::int64_t last = std::max(span.begin, span.end - ahead_);
    const auto write = [&](auto split, auto how) NORMGRAD_ATTR {
      write_runs<F, split, how>(tile, {span.begin, last}, map, run, width, ahead_);
      write_runs<F, split, how>(tile, {last, span.end}, map, run, width, 0);
    };
    using Streamed = std::integral_constant<Stores, Stores::kStreamed>;
    using Cached = std::integral_constant<Stores, Stores::kCached>;
    with_split<F, A>(map.is_split, [&](auto split) NORMGRAD_ATTR {
      streamed ? write(split, Streamed()) : write(split, Cached());
    });
  }

 private:
  static constexpr std::int64_t kLine = 64 / sizeof(T);
  // Of a span: enough to be worth the constants of its channels, and so few that threads end together.
  static constexpr std::int64_t kLeastElements = 1 << 13, kMostElements = 1 << 18;
  static constexpr std::int64_t kAhead =
      16384 / sizeof(T);  // elements fetched ahead, from 4 to 48 pixels

  std::int64_t tiles() const { return ceil_div(split_.channels, tile_); }

  // About 256 elements; whole vectors if there are few channels.
  static std::int64_t pixels_at_once(std::int64_t channels) {
    const std::int64_t unit = channels < kLanes ? kLanes : 1;
    return unit * std::max<std::int64_t>(1, kLongPixel / 2 / (unit * channels));
  }

  template <class F, bool kSplit, Stores kStores, class Map>
  void write_runs(ChannelTile tile, Span span, const Map& map, std::int64_t longest,
                  std::int64_t width, std::int64_t ahead) const {
    using A = Arithmetic<T>;
    using Pointers = typename Pixels<T>::Pointers;
    const PixelData<T>& dy = pixels_.dy;
    const PixelData<T>& x = pixels_.x;
    const PixelData<T>& out = pixels_.out;
    const std::int64_t dy_stride = dy.pixel_stride(tile), x_stride = x.pixel_stride(tile);
    const std::int64_t out_stride = out.pixel_stride(tile);
    const std::int64_t dy_ahead = dy.ahead(ahead), x_ahead = x.ahead(ahead);
    const std::int64_t out_ahead = out.ahead(ahead);
    const bool dy_is_packed = F::kReadsDy && !dy.direct(), x_is_packed = F::kReadsX && !x.direct();
    const bool out_is_packed = !out.direct();
    pixels_.each_run_of(longest, tile, span, [&](const Segment& run, Pointers at) NORMGRAD_INLINE {
      T dy_pack[kLanes * kPackedTile];
      T x_pack[kLanes * kPackedTile];
      T out_pack[kLanes * kPackedTile];
      if (dy_is_packed) at.dy = dy.packed(run, tile, dy_pack);
      if (x_is_packed) at.x = x.packed(run, tile, x_pack);
      if (out_is_packed) at.out = out_pack;
      for (std::int64_t left = run.count * tile.count; left > 0; left -= width) {
        elementwise_by<kStores, A>(
            std::min(left, width), at.out,
            [&](std::int64_t i, auto part) NORMGRAD_INLINE {
              return value_of<F, kSplit>(at.dy + i, at.x + i, map.at(i, part), part);
            },
            [&](std::int64_t i) NORMGRAD_INLINE {
              if (ahead == 0) return;
              if (F::kReadsDy) kernels::prefetch(at.dy + i + dy_ahead);
              if (F::kReadsX) kernels::prefetch(at.x + i + x_ahead);
              if (kStores == Stores::kCached) kernels::prefetch_to_write(at.out + i + out_ahead);
            });
        at.dy += dy_stride;
        at.x += x_stride;
        at.out += out_stride;
      }
      if (out_is_packed) out.unpack(run, tile, out_pack);
    });
  }

  ChannelSplit split_;
  Pixels<T> pixels_;
  std::int64_t tile_, span_, spans_;
  std::int64_t ahead_ = 0;  // pixels
};

NORMGRAD_TARGET_END
#endif
