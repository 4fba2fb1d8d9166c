// The walk along a channel: where neighbouring elements belong to one channel (row-major). A chunk is
// walked in segments: consecutive l of one n. A segment that does not lie together in memory is packed
// first. Short segments of neighbouring channels, which lie side by side, are walked one after the other, so that memory
// is read in long runs.
#if defined(NORMGRAD_OPS_CHANNEL_NORM_PLANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_CHANNEL_NORM_PLANES_INL_H
#undef NORMGRAD_OPS_CHANNEL_NORM_PLANES_INL_H
#else
#define NORMGRAD_OPS_CHANNEL_NORM_PLANES_INL_H
#endif

#include <algorithm>
#include <new>

#include "runtime/sizes.h"
#include "ops/channel_norm/element-inl.h"

NORMGRAD_TARGET_BEGIN

template <typename T>
class PlaneLoops {
 public:
  PlaneLoops(const ChannelSplit& split, const ChannelArguments& arguments, void* const* data)
      : split_(split),
        dy_(split, arguments.dy, data),
        x_(split, arguments.x, data),
        out_(split, arguments.out, data) {
    constexpr std::int64_t kRun = 16384;       // bytes that are worth a jump
    constexpr std::int64_t kNear = 512 << 10;  // bytes that stay in a thread's own cache
    const auto size = static_cast<std::int64_t>(sizeof(T));
    const std::int64_t segment = std::max(std::int64_t{1}, split.chunk_l * size);
    const std::int64_t together = std::clamp(kRun / segment, std::int64_t{1}, kMostChannels);
    // Both inputs of a channel are read twice: by one thread, if its share of the cache holds them in between. Short
    // segments far apart do not come back at full speed from there.
    const std::int64_t channel = std::max(std::int64_t{1}, split.n * split.l * size);
    const std::int64_t share = kernels::last_level_cache_bytes() / (2 * threads());
    whole_tiles_ = split.channels >= kFewChannels && channel <= share / (together > 1 ? 8 : 2);
    tile_ = whole_tiles_ ? std::clamp(kNear / 2 / channel, std::int64_t{1}, together) : together;
    while (tile_ > 1 && tiles() < 4 * threads()) tile_ /= 2;
  }

  std::int64_t tiles() const { return ceil_div(split_.channels, tile_); }
  ChannelTile tile(std::int64_t index) const {
    const std::int64_t first = index * tile_;
    return {first, std::min(tile_, split_.channels - first)};
  }
  // A thread takes all chunks of some channels: what it has summed it still has in its cache.
  bool takes_whole_tiles() const { return whole_tiles_ || chunks() == 1; }

  // Adds up one chunk of each of the tile's channels.
  template <class F>
  void sums(ChannelTile tile, std::int64_t chunk, const ChannelMaps& maps, ChannelSums to) const {
    using A = TermArithmetic<F, T>;
    using OfChannel = Sums<A, F::kSums, kAlternates<T, A>>;
    alignas(OfChannel) std::byte room[kMostChannels * sizeof(OfChannel)];
    auto* const sums = reinterpret_cast<OfChannel*>(room);
    for (std::int64_t c = 0; c < tile.count; ++c) new (sums + c) OfChannel;
    const Constants<A> constants(maps, tile.count);
    with_split<F, A>(constants.is_split, [&](auto split) NORMGRAD_ATTR {
      each_segment_of<F>(tile, span_of(split_, chunk),
                         [&](std::int64_t c, const Segment& segment, Pointers at) NORMGRAD_INLINE {
                           const ChannelMap<Vec<A>> map = constants.in_all_lanes(c);
                           sums[c].walk(segment.count,
                                        [&](std::int64_t i, auto step) NORMGRAD_INLINE {
                                          return value_of<F, split>(at.dy + i, at.x + i, map, step);
                                        });
                         });
    });
    for (std::int64_t c = 0; c < tile.count; ++c) {
      const std::array<double, F::kSums> total = sums[c].finish();
      std::copy_n(total.data(), F::kSums, to.at + c * to.stride);
    }
  }

  bool output_goes_with_sums(bool) const { return true; }
  std::int64_t output_parts() const { return tiles() * chunks(); }
  OutputPart output_part(std::int64_t index) const {
    return {tile(index % tiles()), span_of(split_, index / tiles())};
  }

  // Writes one chunk of the output.
  template <class F>
  void write(const OutputPart& part, const ChannelMaps& maps, Stores stores) const {
    using A = Arithmetic<T>;
    const ChannelTile tile = part.tile;
    const Span span = part.span;
    const bool direct = out_.together();
    const Constants<A> constants(maps, tile.count);
    with_split<F, A>(constants.is_split, [&](auto split) NORMGRAD_ATTR {
      each_segment_of<F>(
          tile, span, [&](std::int64_t c, const Segment& segment, Pointers at) NORMGRAD_INLINE {
            const ChannelMap<Vec<A>> map = constants.in_all_lanes(c);
            T out_pack[kChannelChunk];
            T* const out = direct ? at.out : out_pack;
            elementwise<A>(segment.count, out, direct ? stores : Stores::kCached,
                           [&](std::int64_t i, auto step) NORMGRAD_INLINE {
                             return value_of<F, split>(at.dy + i, at.x + i, map, step);
                           });
            if (!direct) out_.unpack(segment, out_pack);
          });
    });
  }

 private:
  static constexpr std::int64_t kMostChannels = 32;  // of a tile

  std::int64_t chunks() const { return split_.n_chunks * split_.l_chunks; }

  // Where an argument's segments lie.
  class Data {
   public:
    Data(const ChannelSplit& split, int argument, void* const* data)
        : split_(split), argument_(argument), data_(static_cast<T*>(data[argument])) {}

    // Its segments are read or written in place; false where there is nothing.
    bool together() const { return data_ != nullptr && lies_together(split_, argument_); }
    std::int64_t n_stride() const { return split_.n_strides[argument_]; }
    std::int64_t channel_stride() const { return split_.channel_strides[argument_]; }
    T* first(const Segment& segment) const {
      return together() ? data_ + offset_of(split_, argument_, segment) : nullptr;
    }
    const T* packed(const Segment& segment, T* pack) const {
      pack_segment(split_, argument_, segment, data_, pack);
      return pack;
    }
    void unpack(const Segment& segment, const T* pack) const {
      unpack_segment(split_, argument_, segment, pack, data_);
    }

   private:
    const ChannelSplit& split_;
    int argument_;
    T* data_;
  };

  // A segment's elements, as far as F reads them.
  struct Pointers {
    const T* dy;
    const T* x;
    T* out;  // if it lies together
  };
  // body(channel of the tile, segment, pointers) for all segments of a chunk: all channels of an n before the next.
  template <class F, class Body>
  NORMGRAD_ALWAYS void each_segment_of(ChannelTile tile, Span span, Body&& body) const {
    const bool dy_together = dy_.together(), x_together = x_.together();
    const bool out_together = out_.together();
    const std::int64_t dy_step = dy_together ? dy_.channel_stride() : 0;
    const std::int64_t x_step = x_together ? x_.channel_stride() : 0;
    const std::int64_t out_step = out_together ? out_.channel_stride() : 0;
    Pointers at{nullptr, nullptr, nullptr};
    bool is_first = true;
    each_segment(split_, tile.first, span, [&](Segment segment) NORMGRAD_INLINE {
      T dy_pack[kChannelChunk];
      T x_pack[kChannelChunk];
      if (is_first) {
        at = {dy_.first(segment), x_.first(segment), out_.first(segment)};
        is_first = false;
      } else {
        at.dy += dy_together ? dy_.n_stride() : 0;
        at.x += x_together ? x_.n_stride() : 0;
        at.out += out_together ? out_.n_stride() : 0;
      }
      for (std::int64_t c = 0; c < tile.count; ++c, ++segment.channel) {
        Pointers given{at.dy + c * dy_step, at.x + c * x_step, at.out + c * out_step};
        if (F::kReadsDy && !dy_together) given.dy = dy_.packed(segment, dy_pack);
        if (F::kReadsX && !x_together) given.x = x_.packed(segment, x_pack);
        body(c, segment, given);
      }
    });
  }

  // The constants of a tile's channels as arithmetic type A has them, made once for all of its segments.
  template <typename A>
  class Constants {
   public:
    Constants(const ChannelMaps& maps, std::int64_t count) {
      for (std::int64_t c = 0; c < count; ++c) {
        const ChannelMap<double> map = maps[c];
        const double low = low_of_mean<A>(map);
        is_split |= low != 0;
        of_[c] = {constant<A>(map.mean), constant<A>(low), constant<A>(map.scale),
                  constant<A>(map.c1), constant<A>(map.c2)};
      }
    }
    NORMGRAD_ALWAYS ChannelMap<Vec<A>> in_all_lanes(std::int64_t c) const {
      const ChannelMap<A>& map = of_[c];
      return {all(map.mean), all(map.mean_low), all(map.scale), all(map.c1), all(map.c2)};
    }

    bool is_split = false;  // some mean has a low part

   private:
    ChannelMap<A> of_[kMostChannels];
  };

  const ChannelSplit& split_;
  Data dy_, x_, out_;
  std::int64_t tile_;
  bool whole_tiles_;
};

NORMGRAD_TARGET_END
#endif
