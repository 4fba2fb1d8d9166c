// Where the elements of a tensor with channels lie: n x channel x l, and how to bring pieces of it together that a kernel
// cannot walk.
#ifndef NORMGRAD_OPS_CHANNEL_TENSOR_H
#define NORMGRAD_OPS_CHANNEL_TENSOR_H

#include <cstdint>
#include <cstring>

#include "ops/plan.h"

namespace normgrad {

class ChannelTensor {
 public:
  ChannelTensor(const ChannelSplit& split, int argument, void* data, std::int64_t size)
      : split_(split),
        n_stride_(split.n == 1 ? 0 : split.n_strides[argument]),  // of an extent of 1: any number
        channel_stride_(split.channels == 1 ? 0 : split.channel_strides[argument]),
        l_strides_(split.strides[argument]),
        data_(static_cast<char*>(data)),
        size_(size) {}

  // All l of a plane lie side by side.
  bool has_planes() const { return split_.l == 1 || (split_.rank == 1 && l_strides_[0] == 1); }
  // All channels of a pixel lie side by side, and all pixels at one distance; that of the channels if `dense`.
  bool has_pixels(bool dense) const {
    if (split_.channels > 1 && channel_stride_ != 1) return false;
    if (split_.l > 1 && split_.rank != 1) return false;
    if (split_.l > 1 && split_.n > 1 && n_stride_ != split_.l * l_strides_[0]) return false;
    return !dense || pixel_stride() == split_.channels;
  }
  std::int64_t pixel_stride() const { return split_.l > 1 ? l_strides_[0] : n_stride_; }
  std::int64_t channel_stride_bytes() const { return channel_stride_ * size_; }
  std::int64_t n_stride_bytes() const { return n_stride_ * size_; }

  char* at(std::int64_t n, std::int64_t channel, std::int64_t l) const {
    return data_ + (pixel_offset(n, l) + channel * channel_stride_) * size_;
  }

  // Between a tile of rows, `pitch` bytes apart, and the tensor. A row is `pixels` pixels, the first row's from `pixel` on;
  // column j of a row is pixel j/channels, channel j mod channels. Columns [begin, begin + columns).
  struct Tile {
    char* data;
    std::int64_t pitch, pixel, rows, pixels, begin, columns;
  };
  void pack_pixels(const Tile& tile) const {
    each_element(tile,
                 [&](char* mine, const char* in_tile) { copy(mine, const_cast<char*>(in_tile)); });
  }
  void unpack_pixels(const Tile& tile) const {
    each_element(tile, [&](char* mine, const char* in_tile) { copy(in_tile, mine); });
  }
  // `count` elements of a plane, from l on.
  void pack_plane(std::int64_t n, std::int64_t channel, std::int64_t l, std::int64_t count,
                  char* to) const {
    for (std::int64_t i = 0; i < count; ++i) copy(at(n, channel, l + i), to + i * size_);
  }
  void unpack_plane(std::int64_t n, std::int64_t channel, std::int64_t l, std::int64_t count,
                    const char* from) const {
    for (std::int64_t i = 0; i < count; ++i) copy(from + i * size_, at(n, channel, l + i));
  }

 private:
  std::int64_t pixel_offset(std::int64_t n, std::int64_t l) const {
    std::int64_t offset = n * n_stride_;
    if (split_.rank == 1) return offset + l * l_strides_[0];
    for (int d = split_.rank - 1; d >= 0; l /= split_.extents[d--]) {
      offset += l % split_.extents[d] * l_strides_[d];
    }
    return offset;
  }
  void copy(const char* from, char* to) const {
    if (size_ == 2) {
      std::memcpy(to, from, 2);
    } else {
      std::memcpy(to, from, 4);
    }
  }
  template <class Body>
  void each_element(const Tile& tile, Body&& body) const {
    for (std::int64_t r = 0; r < tile.rows; ++r) {
      std::int64_t pixel = tile.pixel + r * tile.pixels + tile.begin / split_.channels;
      std::int64_t channel = tile.begin % split_.channels;
      for (std::int64_t c = 0; c < tile.columns; ++pixel, channel = 0) {
        char* mine = at(pixel / split_.l, 0, pixel % split_.l);
        for (; channel < split_.channels && c < tile.columns; ++channel, ++c) {
          body(mine + channel * channel_stride_ * size_, tile.data + r * tile.pitch + c * size_);
        }
      }
    }
  }

  const ChannelSplit& split_;
  std::int64_t n_stride_, channel_stride_;
  const std::int64_t* l_strides_;
  char* data_;
  std::int64_t size_;  // of an element, in bytes
};

}  // namespace normgrad

#endif
