// The walk across channels: where neighbouring elements belong to neighbouring channels (channels-last,
// (N, C)). A pixel is what one (n, l) has of a tile of channels. The 16 pixels of a step of the summation
// tree go to 16 rows of accumulators; 8 steps at a time are added in registers, a cache line of channels
// after the other.
//
// Few channels without gaps between pixels: the 16 pixels of a step are taken as one long pixel. Then the
// accumulators form a single row, [lane][channel], and any number of channels fills whole vectors.
#if defined(NORMGRAD_OPS_CHANNEL_NORM_PIXELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_CHANNEL_NORM_PIXELS_INL_H
#undef NORMGRAD_OPS_CHANNEL_NORM_PIXELS_INL_H
#else
#define NORMGRAD_OPS_CHANNEL_NORM_PIXELS_INL_H
#endif

#include <algorithm>

#include "core/sizes.h"
#include "ops/channel_norm/pixel_sums-inl.h"
#include "ops/channel_norm/tile_map-inl.h"

NORMGRAD_TARGET_BEGIN

template <typename T>
class PixelLoops {
 public:
  PixelLoops(const ChannelSplit& split, const ChannelArguments& arguments, void* const* data)
      : split_(split),
        dy_(split, arguments.dy, data),
        x_(split, arguments.x, data),
        out_(split, arguments.out, data) {
    const std::int64_t chunks = split.n_chunks * split.l_chunks;
    const bool direct = dy_.direct() && x_.direct() && (out_.is_absent() || out_.direct());
    tile_ = std::min(split.channels, direct ? kChannelTile : kPackedTile);
    while (tile_ > kLine && tiles() * chunks < threads())
      tile_ = ceil_div(tile_, 2 * kLine) * kLine;
  }

  std::int64_t tiles() const { return ceil_div(split_.channels, tile_); }
  ChannelTile tile(std::int64_t index) const {
    const std::int64_t first = index * tile_;
    return {first, std::min(tile_, split_.channels - first)};
  }

  bool takes_whole_tiles() const { return false; }

  // Adds up one chunk of each of the tile's channels.
  template <class F>
  void sums(ChannelTile tile, std::int64_t chunk, const ChannelMap<double>* maps,
            ChannelSums to) const {
    using A = TermArithmetic<F, T>;
    const bool is_long = is_long_pixel({F::kReadsDy ? &dy_ : &x_, F::kReadsX ? &x_ : &dy_});
    const std::int64_t width = is_long ? kLanes * tile.count : tile.count;
    const TileMap<A> map(maps, tile.count, width, true);
    PixelSums<F, T> sums(tile.count, std::min(split_.chunk_l, kLanes));
    StepBlock<T> block;
    block.width = width;
    block.dy_stride = dy_.pixel_stride(tile);
    block.x_stride = x_.pixel_stride(tile);
    block.dy_ahead = dy_.ahead(kChain * kLanes);
    block.x_ahead = x_.ahead(kChain * kLanes);
    T dy_pack[kChain][kLanes * kPackedTile];
    T x_pack[kChain][kLanes * kPackedTile];
    const auto add = [&]() NORMGRAD_INLINE {
      with_split<F, A>(map.is_split,
                       [&](auto split) NORMGRAD_ATTR { sums.template add<split>(block, map); });
      block.steps = 0;
      block.is_full = true;
    };
    each_run_of(kLanes, tile, chunk, [&](const Segment& step, Pointers at) NORMGRAD_INLINE {
      const int s = block.steps++;
      if (F::kReadsDy && !dy_.direct()) at.dy = dy_.packed(step, tile, dy_pack[s]);
      if (F::kReadsX && !x_.direct()) at.x = x_.packed(step, tile, x_pack[s]);
      block.dy[s] = F::kReadsDy ? at.dy : at.x;
      block.x[s] = F::kReadsX ? at.x : at.dy;
      block.extent[s] = step.count * tile.count;
      block.is_full = block.is_full && step.count == kLanes;
      if (block.steps == kChain) add();
    });
    if (block.steps > 0) add();
    sums.finish(to);
  }

  // Writes the output of one chunk.
  template <class F>
  void write(ChannelTile tile, std::int64_t chunk, const ChannelMap<double>* maps, Stores stores,
             std::int64_t) const {
    using A = Arithmetic<T>;
    // Without gaps, several pixels are written as one long one.
    const bool gaps =
        dy_.has_gaps() || x_.has_gaps() || out_.has_gaps() || tile.count < split_.channels;
    const std::int64_t run = gaps ? kLanes : pixels_at_once(tile.count);
    const std::int64_t width = gaps ? tile.count : run * tile.count;
    const TileMap<A, kAlternates<T, A>> map(maps, tile.count, width, false);
    const bool streamed = stores == Stores::kStreamed && out_.is_aligned(tile);
    const auto write = [&](auto split, auto how) NORMGRAD_ATTR {
      write_runs<F, split, how>(tile, chunk, map, run, width);
    };
    using Streamed = std::integral_constant<Stores, Stores::kStreamed>;
    using Cached = std::integral_constant<Stores, Stores::kCached>;
    with_split<F, A>(map.is_split, [&](auto split) NORMGRAD_ATTR {
      streamed ? write(split, Streamed()) : write(split, Cached());
    });
  }

 private:
  static constexpr std::int64_t kLine = 64 / sizeof(T);  // channels of a cache line
  static constexpr std::int64_t kPackedTile = 64;        // channels that are packed at once

  // Where an argument's pixels lie.
  class Data {
   public:
    Data(const ChannelSplit& split, int argument, void* const* data)
        : split_(split), argument_(argument), data_(static_cast<T*>(data[argument])) {}

    // Read or written in place; false where there is nothing.
    bool direct() const {
      return data_ != nullptr && split_.channel_strides[argument_] == 1 && split_.rank <= 1;
    }
    bool is_absent() const { return data_ == nullptr; }
    bool has_gaps() const {
      return !direct() || split_.rank == 0 || split_.strides[argument_][0] != split_.channels;
    }
    // From pixel to pixel of a step, in memory or packed.
    std::int64_t pixel_stride(ChannelTile tile) const {
      if (!direct()) return tile.count;
      return split_.rank == 0 ? 0 : split_.strides[argument_][0];
    }
    // How far on the pixel lies that comes so many pixels later; 0 if that is not worth a thought.
    std::int64_t ahead(std::int64_t pixels) const {
      constexpr std::int64_t kFar = std::int64_t{1} << 32;
      if (!direct()) return 0;
      const std::int64_t stride =
          split_.rank == 0 ? split_.n_strides[argument_] : split_.strides[argument_][0];
      if (stride < -kFar || stride > kFar) return 0;
      return (split_.rank == 0 ? ceil_div(pixels, kLanes) : pixels) * stride;
    }
    // A pixel's address and the way to the next, if direct().
    T* first(const Segment& step) const {
      return direct() ? data_ + offset_of(split_, argument_, step) : nullptr;
    }
    std::int64_t to_next() const {
      return direct() && split_.rank == 1 ? split_.strides[argument_][0] : 0;
    }
    // Every pixel of the tile begins at a multiple of 32 bytes.
    bool is_aligned(ChannelTile tile) const {
      constexpr std::int64_t kElements = 32 / sizeof(T);
      return direct() && reinterpret_cast<std::uintptr_t>(data_) % 32 == 0 &&
             tile.first % kElements == 0 && pixel_stride(tile) % kElements == 0 &&
             split_.n_strides[argument_] % kElements == 0;
    }
    const T* packed(const Segment& step, ChannelTile tile, T* pack) const {
      each_element(step, tile, [&](std::int64_t at, std::int64_t offset) {
        pack[at] = cpu::read(data_ + offset);
      });
      return pack;
    }
    void unpack(const Segment& step, ChannelTile tile, const T* pack) const {
      each_element(step, tile, [&](std::int64_t at, std::int64_t offset) {
        cpu::write(data_ + offset, pack[at]);
      });
    }

   private:
    template <class Body>
    void each_element(const Segment& step, ChannelTile tile, Body&& body) const {
      const std::int64_t to_next = split_.channel_strides[argument_];
      each_run(split_, argument_, step,
               [&](std::int64_t at, std::int64_t offset, std::int64_t count, std::int64_t stride) {
                 for (std::int64_t p = 0; p < count; ++p) {
                   for (std::int64_t c = 0; c < tile.count; ++c) {
                     body((at + p) * tile.count + c, offset + p * stride + c * to_next);
                   }
                 }
               });
    }

    const ChannelSplit& split_;
    int argument_;
    T* data_;
  };

  bool is_long_pixel(std::initializer_list<const Data*> data) const {
    static_assert(kLanes * kLine <= kLongPixel);
    return split_.channels <= kLine && split_.l >= kLanes &&
           std::none_of(data.begin(), data.end(), [](const Data* d) { return d->has_gaps(); });
  }

  // About 256 elements; whole vectors if there are few channels.
  static std::int64_t pixels_at_once(std::int64_t channels) {
    const std::int64_t unit = channels < kLanes ? kLanes : 1;
    return unit * std::max<std::int64_t>(1, kLongPixel / 2 / (unit * channels));
  }

  // Where the pixels of a run begin, in arguments that are read or written in place.
  struct Pointers {
    const T* dy;
    const T* x;
    T* out;
  };
  // body(run, pointers) for every run of up to `longest` pixels of a chunk.
  template <class Body>
  NORMGRAD_ALWAYS void each_run_of(std::int64_t longest, ChannelTile tile, std::int64_t chunk,
                                   Body&& body) const {
    each_segment(split_, tile.first, chunk, [&](const Segment& segment) NORMGRAD_INLINE {
      Pointers at{dy_.first(segment), x_.first(segment), out_.first(segment)};
      for (std::int64_t l = 0; l < segment.count; l += longest) {
        const std::int64_t pixels = std::min(longest, segment.count - l);
        body(Segment{segment.n, segment.channel, segment.l + l, pixels}, at);
        if (l + longest >= segment.count) break;  // what is beyond may be no address
        at.dy += longest * dy_.to_next();
        at.x += longest * x_.to_next();
        at.out += longest * out_.to_next();
      }
    });
  }

  template <class F, bool kSplit, Stores kStores, class Map>
  void write_runs(ChannelTile tile, std::int64_t chunk, const Map& map, std::int64_t longest,
                  std::int64_t width) const {
    using A = Arithmetic<T>;
    const std::int64_t dy_stride = dy_.pixel_stride(tile), x_stride = x_.pixel_stride(tile);
    const std::int64_t out_stride = out_.pixel_stride(tile);
    constexpr std::int64_t kAhead = 48;
    const std::int64_t dy_ahead = dy_.ahead(kAhead), x_ahead = x_.ahead(kAhead);
    const std::int64_t out_ahead = out_.ahead(kAhead);
    each_run_of(longest, tile, chunk, [&](const Segment& run, Pointers at) NORMGRAD_INLINE {
      T dy_pack[kLanes * kPackedTile];
      T x_pack[kLanes * kPackedTile];
      T out_pack[kLanes * kPackedTile];
      if (F::kReadsDy && !dy_.direct()) at.dy = dy_.packed(run, tile, dy_pack);
      if (F::kReadsX && !x_.direct()) at.x = x_.packed(run, tile, x_pack);
      if (!out_.direct()) at.out = out_pack;
      for (std::int64_t left = run.count * tile.count; left > 0; left -= width) {
        elementwise_by<kStores, A>(
            std::min(left, width), at.out,
            [&](std::int64_t i, auto part) NORMGRAD_INLINE {
              return value_of<F, kSplit>(at.dy + i, at.x + i, map.at(i, part), part);
            },
            [&](std::int64_t i) NORMGRAD_INLINE {
              if (F::kReadsDy) cpu::prefetch(at.dy + i + dy_ahead);
              if (F::kReadsX) cpu::prefetch(at.x + i + x_ahead);
              if (kStores == Stores::kCached) cpu::prefetch_to_write(at.out + i + out_ahead);
            });
        at.dy += dy_stride;
        at.x += x_stride;
        at.out += out_stride;
      }
      if (!out_.direct()) out_.unpack(run, tile, out_pack);
    });
  }

  const ChannelSplit& split_;
  Data dy_, x_, out_;
  std::int64_t tile_;
};

NORMGRAD_TARGET_END
#endif
