// Where pixels lie. A pixel is what one (n, l) has of a tile of channels.
#if defined(NORMGRAD_OPS_CHANNEL_NORM_PIXEL_DATA_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_CHANNEL_NORM_PIXEL_DATA_INL_H
#undef NORMGRAD_OPS_CHANNEL_NORM_PIXEL_DATA_INL_H
#else
#define NORMGRAD_OPS_CHANNEL_NORM_PIXEL_DATA_INL_H
#endif

#include <algorithm>
#include <iterator>

#include "ops/channel_norm/element-inl.h"

NORMGRAD_TARGET_BEGIN

// Channels that are packed at once, where some argument must be.
inline constexpr std::int64_t kPackedTile = 64;

// Where an argument's pixels lie. The split has rank 1 at least: see as_one_plane().
template <typename T>
class PixelData {
 public:
  PixelData(const ChannelSplit& split, int argument, void* const* data)
      : split_(split), argument_(argument), data_(static_cast<T*>(data[argument])) {}

  // Read or written in place; false where there is nothing.
  bool direct() const {
    return data_ != nullptr && split_.channel_strides[argument_] == 1 && split_.rank == 1;
  }
  bool is_absent() const { return data_ == nullptr; }
  bool has_gaps() const { return !direct() || split_.strides[argument_][0] != split_.channels; }
  // From pixel to pixel of a step, in memory or packed.
  std::int64_t pixel_stride(ChannelTile tile) const {
    return direct() ? split_.strides[argument_][0] : tile.count;
  }
  // How far on the pixel lies that comes so many pixels later; 0 if that is not worth a thought.
  std::int64_t ahead(std::int64_t pixels) const {
    constexpr std::int64_t kFar = std::int64_t{1} << 32;
    if (!direct()) return 0;
    const std::int64_t stride = split_.strides[argument_][0];
    return stride < -kFar || stride > kFar ? 0 : pixels * stride;
  }
  // A pixel's address and the way to the next, if direct().
  T* first(const Segment& step) const {
    return direct() ? data_ + offset_of(split_, argument_, step) : nullptr;
  }
  std::int64_t to_next() const { return direct() ? split_.strides[argument_][0] : 0; }
  // Every pixel of the tile begins at a multiple of 32 bytes.
  bool is_aligned(ChannelTile tile) const {
    constexpr std::int64_t kElements = 32 / sizeof(T);
    return direct() && reinterpret_cast<std::uintptr_t>(data_) % 32 == 0 &&
           tile.first % kElements == 0 && pixel_stride(tile) % kElements == 0 &&
           split_.n_strides[argument_] % kElements == 0;
  }
  const T* packed(const Segment& step, ChannelTile tile, T* pack) const {
    each_element(step, tile, [&](std::int64_t at, std::int64_t offset) {
      pack[at] = kernels::read(data_ + offset);
    });
    return pack;
  }
  void unpack(const Segment& step, ChannelTile tile, const T* pack) const {
    each_element(step, tile, [&](std::int64_t at, std::int64_t offset) {
      kernels::write(data_ + offset, pack[at]);
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

// The same pixels with fewer ends: all n after each other in one plane, if they are evenly strided.
inline ChannelSplit as_one_plane(const ChannelSplit& split, const ChannelArguments& arguments) {
  ChannelSplit plane = split;
  const int all[] = {arguments.dy, arguments.x, arguments.out};
  const auto is_even = [&](int a) {
    return split.rank == 0 || split.n == 1 || split.n_strides[a] == split.l * split.strides[a][0];
  };
  if (split.rank > 1 || !std::all_of(std::begin(all), std::end(all), is_even)) return plane;
  for (const int a : all) {
    // With one n its stride means nothing, and may be any number.
    if (split.rank == 0) plane.strides[a][0] = split.n > 1 ? split.n_strides[a] : split.channels;
    plane.n_strides[a] = 0;
  }
  plane.rank = 1;
  plane.n = 1;
  plane.l = plane.extents[0] = split.n * split.l;
  return plane;
}

// The pixels of all arguments.
template <typename T>
struct Pixels {
  Pixels(const ChannelSplit& of, const ChannelArguments& arguments, void* const* data)
      : split(of),
        dy(of, arguments.dy, data),
        x(of, arguments.x, data),
        out(of, arguments.out, data) {}

  // Channels of a tile, if nothing asks for fewer.
  std::int64_t widest_tile() const {
    const bool direct = dy.direct() && x.direct() && (out.is_absent() || out.direct());
    return std::min(split.channels, direct ? kChannelTile : kPackedTile);
  }

  // Where the pixels of a run begin, in arguments that are read or written in place.
  struct Pointers {
    const T* dy;
    const T* x;
    T* out;
  };
  // body(run, pointers) for every run of up to `longest` pixels of a span.
  template <class Body>
  NORMGRAD_ALWAYS void each_run_of(std::int64_t longest, ChannelTile tile, Span span,
                                   Body&& body) const {
    const std::int64_t dy_step = longest * dy.to_next(), x_step = longest * x.to_next();
    const std::int64_t out_step = longest * out.to_next();
    each_segment(split, tile.first, span, [&](const Segment& segment) NORMGRAD_INLINE {
      Pointers at{dy.first(segment), x.first(segment), out.first(segment)};
      for (std::int64_t l = 0; l < segment.count; l += longest) {
        const std::int64_t pixels = std::min(longest, segment.count - l);
        body(Segment{segment.n, segment.channel, segment.l + l, pixels}, at);
        if (l + longest >= segment.count) break;  // what is beyond may be no address
        at.dy += dy_step;
        at.x += x_step;
        at.out += out_step;
      }
    });
  }

  const ChannelSplit& split;
  PixelData<T> dy, x, out;
};

NORMGRAD_TARGET_END
#endif
