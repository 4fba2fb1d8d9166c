// The walk by pixels, for channels-last data and (N, C): a row is one pixel, all channels of it, or some pixels if channels
// are few.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernels/cache.h"
#include "kernels/parallel_for.h"
#include "ops/channel_call.h"
#include "ops/folds.h"

namespace normgrad {
namespace {

using kernels::ChannelMaps;
using kernels::kChain;
using kernels::Kernels;
using kernels::kStepColumns;
using kernels::Order;
using kernels::Rows;

// Of a tile: what a kernel cannot walk is packed, what goes past the cache is written there first.
constexpr std::int64_t kTileColumns = 128;
// Columns whose sums stay in the nearest cache from one group of rows to the next.
constexpr std::int64_t kNearColumns = 512;
// Columns whose blocks one task folds, and whose maps it makes. For each channel of these that is as much work as for so many
// elements.
constexpr std::int64_t kPartColumns = 256, kColumnWork = 64;

struct Columns {
  std::int64_t begin, end;
};

class PixelWalk {
 public:
  explicit PixelWalk(const ChannelCall& call)
      : call_(call), split_(call.split), p_(call.split), dense_(p_.pixels > 1) {}

  void run() const {
    ChannelMaps maps = prepared([&](Columns part) { call_.begin_maps(part.begin, part.end); });
    const bool both = call_.dx_with_sums && !any_exact();
    if (call_.wants_sums) {
      walk({call_.fast, true, both}, maps, Order::kForwards);
      maps = finished_sums();
      if (any_bad() && !call_.fast.exact) take_again(maps);
    }
    if (call_.wants_dx && !both) {
      // Backwards: what was summed last is still near. Channels lie side by side: one that must be exact takes all along.
      walk({any_exact() ? call_.exact : call_.fast, false, true}, maps, Order::kBackwards);
    } else if (call_.wants_sums) {
      call_.store_sums(0, split_.channels);
    }
  }

 private:
  // What is done with a block of rows.
  struct Work {
    const Kernels& k;
    bool sums, map;
  };

  bool any_exact() const {
    const bool* exact = call_.space.exact;
    return std::find(exact, exact + split_.channels, true) != exact + split_.channels;
  }
  // Whether f32 does not have the sums of a channel.
  bool any_bad() const {
    bool bad = false;
    for (std::int64_t c = 0; c < split_.channels; ++c) bad |= call_.sums_are_bad(c);
    return bad;
  }
  void take_again(ChannelMaps& maps) const {
    walk({call_.exact, true, false}, maps, Order::kForwards);
    maps = finished_sums();
    // In inference dx does not depend on the sums, and neither does who computes it.
    if (call_.form == kernels::Form::kGX) std::fill_n(call_.space.exact, split_.channels, true);
  }

  // Maps as the kernels read them, after body has set those of some channels.
  template <class Body>
  ChannelMaps prepared(Body&& body) const {
    const ChannelMaps maps{call_.space.maps, split_.channels, 0, p_.pitch, call_.space.columns};
    std::atomic<bool> have_rest = false;
    const auto prepare = [&](Columns columns) {
      ChannelMaps part = maps;
      call_.fast.prepare_columns(part, columns.begin, columns.end);
      if (part.have_rest) have_rest.store(true, std::memory_order_relaxed);
    };
    if (dense_) {
      body(Columns{0, split_.channels});
      prepare({0, p_.pitch});
    } else {
      const std::int64_t work = p_.columns * (p_.blocks + kColumnWork);
      kernels::parallel_for(ceil_div(p_.columns, kPartColumns), work, [&](std::int64_t i) {
        const std::int64_t begin = i * kPartColumns;
        const Columns part{begin, std::min(p_.columns, begin + kPartColumns)};
        body(part);
        prepare(part);
      });
    }
    ChannelMaps all = maps;
    all.have_rest = have_rest.load(std::memory_order_relaxed);
    return all;
  }
  // From the sums of blocks to those of channels, and to the maps that follow from them.
  ChannelMaps finished_sums() const {
    double *g = call_.space.partials, *gx = g + p_.pitch;
    return prepared([&](Columns part) {
      if (dense_) part = {0, p_.pitch};
      for (double* sums : {g, gx}) {
        fold_rows(call_.fast, sums, p_.blocks, 2 * p_.pitch, part.begin, kernels::padded(part.end));
        if (dense_) fold_pixels(sums);
      }
      finish_channels(dense_ ? Columns{0, split_.channels} : part);
    });
  }
  void finish_channels(Columns channels) const {
    const double *g = call_.space.partials, *gx = g + p_.pitch;
    for (std::int64_t c = channels.begin; c < channels.end; ++c) {
      const std::int64_t lane = dense_ ? c : kernels::lane_of(call_.dtype, c);
      call_.space.sums[c] = {g[lane], gx[lane]};
    }
    call_.finish_maps(channels.begin, channels.end);
  }
  // The columns of a channel into its first one, by stride doubling; in the order of columns.
  void fold_pixels(double* sums) const {
    for (std::int64_t c = 0; call_.dtype == DataType::kBF16 && c < p_.pitch; c += kStepColumns) {
      double step[kStepColumns];
      std::copy_n(sums + c, kStepColumns, step);
      for (int i = 0; i < kStepColumns; ++i) sums[c + i] = step[kernels::lane_of(call_.dtype, i)];
    }
    const std::int64_t channels = split_.channels;
    for (std::int64_t s = 1; s < p_.pixels; s *= 2) {
      for (std::int64_t i = 0; i + s < p_.pixels; i += 2 * s) {
        double* to = sums + i * channels;
        for (std::int64_t c = 0; c < channels; ++c) to[c] += to[s * channels + c];
      }
    }
  }

  // All rows. With the last sweep every block also stores the sums of some channels.
  void walk(const Work& work, const ChannelMaps& maps, Order order) const {
    kernels::parallel_for(
        p_.blocks, call_.elements,
        [&](std::int64_t block) {
          for (std::int64_t begin = 0; begin < p_.columns; begin += kNearColumns) {
            walk_block(block, {begin, std::min(p_.columns, begin + kNearColumns)}, work, maps);
          }
          if (!work.map) return;
          if (call_.streams) kernels::stream_fence();
          if (call_.wants_sums && !work.sums) {
            const std::int64_t channels = split_.channels;
            call_.store_sums(channels * block / p_.blocks, channels * (block + 1) / p_.blocks);
          }
        },
        order);
  }
  void walk_block(std::int64_t block, Columns columns, const Work& work,
                  const ChannelMaps& maps) const {
    double* sums = call_.space.partials + block * 2 * p_.pitch;
    for (double* row : {sums, sums + p_.pitch}) {
      if (!work.sums) break;
      call_.fast.clear(row + columns.begin, kernels::padded(columns.end) - columns.begin);
    }
    const auto group = [&](std::int64_t row, std::int64_t count, Columns part) {
      ChannelMaps here = maps;
      if (work.sums) {
        each_strip(row, count, part, false, call_.is_far,
                   [&](const Rows& rows, std::int64_t first) {
                     here.first = first;
                     work.k.column_sums(rows, here, sums + first, sums + p_.pitch + first);
                   });
      }
      if (work.map) {
        each_strip(row, count, part, true, call_.is_far && !work.sums,
                   [&](const Rows& rows, std::int64_t first) {
                     here.first = first;
                     work.k.map_columns(call_.form, rows, here);
                   });
      }
    };
    const std::int64_t end = std::min(p_.rows, (block + 1) * p_.block_rows);
    for (std::int64_t row = block * p_.block_rows; row < end; row += kChain) {
      group(row, std::min(kChain, end - row), columns);
    }
    const Columns part{columns.begin, std::min(columns.end, p_.part_columns)};
    if (block == p_.blocks - 1 && part.begin < part.end) group(p_.rows, 1, part);
  }

  // A row at a time: copies to several rows a power of two apart take far longer.
  template <class Body>
  void stream_rows(const Rows& all, std::int64_t first, Body&& body) const {
    alignas(64) char tile[kNearColumns * 4];
    char* to = static_cast<char*>(all.out);
    for (std::int64_t r = 0; r < all.rows; ++r, to += all.out_stride) {
      body(Rows{static_cast<const char*>(all.g) + r * all.g_stride,
                static_cast<const char*>(all.x) + r * all.x_stride, tile, 0, 0, 0, 1, all.columns},
           first);
      call_.fast.stream(tile, to, static_cast<std::size_t>(all.columns * call_.size));
    }
  }
  // Calls body(rows, first column) for rows [row, row + count) of some columns: all at once, or by way of tiles. At most
  // kChain rows.
  template <class Body>
  void each_strip(std::int64_t row, std::int64_t count, Columns columns, bool writes, bool fetches,
                  Body&& body) const {
    const auto start = [&](const ChannelTensor& tensor, std::int64_t column) {
      const std::int64_t pixel = row * p_.pixels;
      return tensor.at(pixel / split_.l, 0, pixel % split_.l) + column * call_.size;
    };
    const auto stride = [&](const ChannelTensor& tensor) {
      return tensor.pixel_stride() * p_.pixels * call_.size;
    };
    const ChannelTensor &dy = call_.dy, &x = call_.x, &dx = call_.dx;
    const bool has_dx = writes && dx.has_pixels(dense_);
    if (dy.has_pixels(dense_) && x.has_pixels(dense_) && writes == has_dx) {
      const std::int64_t begin = columns.begin;
      Rows rows{start(dy, begin),
                start(x, begin),
                writes ? start(dx, begin) : nullptr,
                stride(dy),
                stride(x),
                stride(dx),
                count,
                columns.end - begin};
      rows.past_cache =
          writes && call_.streams && call_.fast.fills_lines && kernels::begin_lines(rows);
      if (fetches) {  // the next 8 rows: what a processor sees of these are many short streams
        rows.g_ahead = kChain * rows.g_stride;
        rows.x_ahead = kChain * rows.x_stride;
      }
      return writes && call_.streams && !rows.past_cache ? stream_rows(rows, begin, body)
                                                         : body(rows, begin);
    }
    alignas(64) char tiles[2][kChain * kTileColumns * 4];
    const std::int64_t pitch = kTileColumns * call_.size;
    for (std::int64_t begin = columns.begin; begin < columns.end; begin += kTileColumns) {
      const std::int64_t part = std::min(kTileColumns, columns.end - begin);
      const auto tile_of = [&](char* data) {
        return ChannelTensor::Tile{data, pitch, row, count, p_.pixels, begin, part};
      };
      Rows rows{nullptr, nullptr, tiles[0], pitch, pitch, pitch, count, part};
      const auto bring = [&](const ChannelTensor& tensor, char* tile, const void*& data,
                             std::int64_t& data_stride) {
        if (tensor.has_pixels(dense_)) {
          data = start(tensor, begin);
          data_stride = stride(tensor);
        } else {
          tensor.pack_pixels(tile_of(tile));
          data = tile;
        }
      };
      bring(dy, tiles[0], rows.g, rows.g_stride);
      bring(x, tiles[1], rows.x, rows.x_stride);
      body(rows, begin);
      if (!writes) continue;
      if (!has_dx) {
        dx.unpack_pixels(tile_of(tiles[0]));
        continue;
      }
      for (std::int64_t r = 0; r < count; ++r) {
        char* to = start(dx, begin) + r * stride(dx);
        const auto bytes = static_cast<std::size_t>(part * call_.size);
        call_.streams ? call_.fast.stream(tiles[0] + r * pitch, to, bytes)
                      : static_cast<void>(std::memcpy(to, tiles[0] + r * pitch, bytes));
      }
    }
  }

  const ChannelCall& call_;
  const ChannelSplit& split_;
  const PixelRows p_;
  const bool dense_;
};

}  // namespace

void run_pixels(const ChannelCall& call) { PixelWalk(call).run(); }

}  // namespace normgrad
