// The walk by pixels, for channels-last data and (N, C): a row is one pixel, all channels of it, or some pixels if channels
// are few.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

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

// A tile: what a kernel cannot walk is packed, what goes past the cache is written there first. Its columns: of a chain of
// rows, of a chunk of moments.
constexpr std::int64_t kTileBytes = 8192, kTileColumns = 128, kMomentTileColumns = 32;
// Columns whose sums stay in the nearest cache from one group of rows to the next.
constexpr std::int64_t kNearColumns = kernels::kChunkColumns;
// Channels that one task prepares, or folds the sums of, and how many elements each is worth.
constexpr std::int64_t kPartChannels = 256, kBeginWork = 64, kFoldWork = 128;

struct Columns {
  std::int64_t begin, end;
};
// Rows of `pixels` pixels each, the first one's from `pixel` on.
struct Lines {
  std::int64_t pixel, pixels, rows;
};

class PixelWalk {
 public:
  explicit PixelWalk(const ChannelCall& call)
      : call_(call), split_(call.split), p_(call.split), dense_(p_.pixels > 1) {}

  void run() {
    each_part(kBeginWork, [&](Columns part) {
      call_.begin(part.begin, part.end);
      if (call_.reads_g || !call_.wants_sums) prepare(part);
    });
    const bool both = call_.out_with_sums && !any_exact(), maps = call_.wants_out && !both;
    if (call_.wants_sums) {
      sum({call_.fast, true, both, false}, maps);
      if (!call_.fast.exact && bad_sums_) take_again(maps);
    }
    if (!maps) {
      if (call_.wants_sums) {
        each_part(kFoldWork, [&](Columns part) { call_.store_results(part.begin, part.end); });
      }
      return;
    }
    // Backwards: what was summed last is still near. Channels lie side by side: one that must be exact takes all along.
    walk({any_exact() ? call_.exact : call_.fast, false, true, call_.wants_sums},
         Order::kBackwards);
  }

 private:
  // What is done with a block of rows.
  struct Work {
    const Kernels& k;
    bool sums, map;
    bool results;  // each block stores those of some channels
  };

  bool any_exact() const {
    const bool* exact = call_.space.exact;
    return std::find(exact, exact + split_.channels, true) != exact + split_.channels;
  }
  // Calls body(channels) for parts of the channels, whose columns are whole steps; where some pixels make one row, for all.
  template <class Body>
  void each_part(std::int64_t work, Body&& body) const {
    const std::int64_t size = dense_ || call_.unit > 1 ? split_.channels : kPartChannels;
    kernels::parallel_for(
        ceil_div(split_.channels, size), split_.channels * work, [&](std::int64_t part) {
          body(Columns{part * size, std::min(split_.channels, (part + 1) * size)});
        });
  }
  ChannelMaps maps() const {
    return {call_.space.maps, split_.channels, 0, p_.pitch, call_.space.columns, have_rest_};
  }
  // Maps as they are now, for the fast kernels.
  void prepare(Columns channels) {
    ChannelMaps part = maps();
    call_.fast.prepare_columns(call_.form, part, channels.begin, dense_ ? p_.pitch : channels.end);
    if (part.have_rest) have_rest_ = true;
  }

  // Sums that f32 does not have.
  void take_again(bool maps) {
    sum({call_.exact, true, false, false}, maps);
    // In inference dx does not depend on the sums, and neither does who computes it.
    if (call_.form != kernels::Form::kG) std::fill_n(call_.space.exact, split_.channels, true);
  }
  double* block_sums(std::int64_t block) const {
    return call_.space.partials + block * 2 * p_.pitch;
  }
  // The sums of blocks, of channels, and the maps that need them.
  void sum(const Work& work, bool maps) {
    walk(work, Order::kForwards);
    each_part(kFoldWork, [&](Columns part) {
      fold_blocks(part);
      call_.set_maps(part.begin, part.end);
      if (maps) prepare(part);
    });
  }
  void fold_blocks(Columns part) {
    double *sums = block_sums(0), *seconds = sums + p_.pitch;
    const std::int64_t end = dense_ ? p_.pitch : kernels::padded(part.end);
    if (call_.reads_g) {
      for (double* of : {sums, seconds}) {
        fold_rows(call_.fast, of, p_.blocks, 2 * p_.pitch, part.begin, end);
      }
    } else {
      fold_block_moments(part.begin, end);
    }
    if (dense_) fold_pixels(sums, seconds);
    bool bad = false;
    for (std::int64_t c = part.begin; c < part.end; ++c) {
      const std::int64_t lane = dense_ ? c : kernels::lane_of(call_.dtype, c);
      call_.space.sums[c] = {sums[lane], seconds[lane]};
      bad |= call_.sums_are_bad(c);
    }
    if (bad) bad_sums_ = true;
  }
  void fold_block_moments(std::int64_t first, std::int64_t last) const {
    fold_moments(
        p_.blocks, [&](std::int64_t block) { return std::min(p_.rows, block * p_.block_rows); },
        [&](std::int64_t to, std::int64_t from, const kernels::Merge& merge) {
          call_.fast.merge_moments(merge, block_sums(from) + first, block_sums(to) + first,
                                   p_.pitch, last - first);
        });
  }
  // The columns of a channel into its first one, by stride doubling; in the order of columns.
  void fold_pixels(double* sums, double* seconds) const {
    const std::int64_t channels = split_.channels;
    for (double* numbers : {sums, seconds}) to_order_of_columns(numbers);
    for (std::int64_t s = 1; s < p_.pixels; s *= 2) {
      const auto n = static_cast<double>(s * p_.rows);
      const kernels::Merge merge(n, n);
      for (std::int64_t i = 0; i + s < p_.pixels; i += 2 * s) {
        for (std::int64_t to = i * channels; to < (i + 1) * channels; ++to) {
          const std::int64_t from = to + s * channels;
          if (call_.reads_g) {
            sums[to] += sums[from];
            seconds[to] += seconds[from];
          } else {
            merge(sums[from], seconds[from], sums[to], seconds[to]);
          }
        }
      }
    }
    if (call_.reads_g || p_.part_pixels == 0) return;
    double *part_sums = block_sums(p_.blocks), *part_squares = part_sums + p_.pitch;
    for (double* numbers : {part_sums, part_squares}) to_order_of_columns(numbers);
    const kernels::Merge merge(static_cast<double>(p_.pixels * p_.rows),
                               static_cast<double>(p_.part_pixels));
    for (std::int64_t c = 0; c < channels; ++c) {
      merge(part_sums[c], part_squares[c], sums[c], seconds[c]);
    }
  }
  void to_order_of_columns(double* lanes) const {
    if (call_.dtype != DataType::kBF16) return;
    for (double* at = lanes; at < lanes + p_.pitch; at += kStepColumns) {
      double step[kStepColumns];
      std::copy_n(at, kStepColumns, step);
      for (int i = 0; i < kStepColumns; ++i) at[i] = step[kernels::lane_of(call_.dtype, i)];
    }
  }

  // All rows, with maps as they were prepared.
  void walk(const Work& work, Order order) const {
    const auto walk_one = [&](std::int64_t block) {
      if (work.sums) call_.fast.clear(block_sums(block), 2 * p_.pitch);
      for (std::int64_t begin = 0; begin < p_.columns; begin += kNearColumns) {
        const Columns near{begin, std::min(p_.columns, begin + kNearColumns)};
        walk_block(block, near, work);
      }
      if (work.map && call_.streams) kernels::stream_fence();
      if (work.results) {
        const std::int64_t units = split_.channels / call_.unit;
        call_.store_results(units * block / p_.blocks * call_.unit,
                            units * (block + 1) / p_.blocks * call_.unit);
      }
    };
    kernels::parallel_for(p_.blocks, call_.elements, walk_one, order);
  }
  void walk_block(std::int64_t block, Columns columns, const Work& work) const {
    const std::int64_t first = block * p_.block_rows;
    const std::int64_t end = std::min(p_.rows, first + p_.block_rows);
    const Columns part{columns.begin, std::min(columns.end, p_.part_pixels * split_.channels)};
    const bool has_part = block == p_.blocks - 1 && part.begin < part.end;
    if (work.sums && !call_.reads_g) {
      add_moments(work.k, {first * p_.pixels, p_.pixels, end - first}, columns, block_sums(block));
      // Pixel by pixel, for columns that are channels.
      const Columns channels{columns.begin, std::min(columns.end, split_.channels)};
      if (has_part && channels.begin < channels.end) {
        double* sums = block_sums(p_.blocks);
        if (channels.begin == 0) call_.fast.clear(sums, 2 * p_.pitch);
        add_moments(work.k, {p_.rows * p_.pixels, 1, p_.part_pixels}, channels, sums);
      }
      return;
    }
    for (std::int64_t row = first; row < end; row += kChain) {
      walk_group(work, row, std::min(kChain, end - row), columns, block_sums(block));
    }
    if (has_part) walk_group(work, p_.rows, 1, part, block_sums(block));
  }
  void walk_group(const Work& work, std::int64_t row, std::int64_t count, Columns columns,
                  double* sums) const {
    ChannelMaps here = maps();
    const Lines lines{row * p_.pixels, p_.pixels, count};
    if (work.sums) {
      each_strip(lines, columns, false, call_.is_far, [&](const Rows& rows, std::int64_t first) {
        here.first = first;
        work.k.column_sums(rows, here, sums + first, sums + p_.pitch + first);
      });
    }
    if (!work.map) return;
    each_strip(lines, columns, true, call_.is_far && !work.sums,
               [&](const Rows& rows, std::int64_t first) {
                 here.first = first;
                 work.k.map_columns(call_.form, rows, here);
               });
  }
  // Chunk by chunk, to the moments of the rows before.
  void add_moments(const Kernels& k, const Lines& all, Columns columns, double* sums) const {
    for (std::int64_t row = 0; row < all.rows; row += kernels::kChunkRows) {
      const Lines chunk{all.pixel + row * all.pixels, all.pixels,
                        std::min(kernels::kChunkRows, all.rows - row)};
      each_strip(chunk, columns, false, call_.is_far, [&](const Rows& rows, std::int64_t first) {
        k.column_moments(rows, static_cast<double>(row), sums + first, sums + p_.pitch + first);
      });
    }
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
  // Calls body(rows, first column) for some columns of rows: all at once, or by way of tiles. At most kChain rows, or
  // kChunkRows if nothing is written and g not read.
  template <class Body>
  void each_strip(const Lines& lines, Columns columns, bool writes, bool fetches,
                  Body&& body) const {
    const auto start = [&](const ChannelTensor& tensor, std::int64_t column) {
      return tensor.at(lines.pixel / split_.l, 0, lines.pixel % split_.l) + column * call_.size;
    };
    const auto stride = [&](const ChannelTensor& tensor) {
      return tensor.pixel_stride() * lines.pixels * call_.size;
    };
    const ChannelTensor &g = call_.g, &x = call_.x, &out = call_.out;
    const bool has_out = writes && out.has_pixels(dense_);
    if (g.has_pixels(dense_) && x.has_pixels(dense_) && writes == has_out) {
      const std::int64_t begin = columns.begin;
      Rows rows{start(g, begin), start(x, begin),    writes ? start(out, begin) : nullptr,
                stride(g),       stride(x),          stride(out),
                lines.rows,      columns.end - begin};
      rows.past_cache =
          writes && call_.streams && call_.fast.fills_lines && kernels::begin_lines(rows);
      if (fetches) {  // the next rows: what a processor sees of these are many short streams
        rows.g_ahead = call_.reads_g ? kChain * rows.g_stride : 0;
        rows.x_ahead = kChain * rows.x_stride;
      }
      if (writes && call_.streams && !rows.past_cache) return stream_rows(rows, begin, body);
      // Rows that are as short as their channels repeat themselves: of these, the kernels of 16-bit types map several at once.
      const std::int64_t period = std::lcm(split_.channels, kStepColumns);
      if (writes && dense_ && call_.form == kernels::Form::kX && call_.size == 2 &&
          period <= kernels::kShortColumns && rows.columns == p_.columns) {
        const std::int64_t times = rows.columns / period;
        rows.rows *= times, rows.columns = period;
        rows.g_stride /= times, rows.x_stride /= times, rows.out_stride /= times;
      }
      return body(rows, begin);
    }
    alignas(64) char tiles[kTileBytes];
    // g's, and the output's in its place, then x's; moments need all for x's.
    char* const x_tile = writes || call_.reads_g ? tiles + kTileBytes / 2 : tiles;
    const std::int64_t most = lines.rows > kChain ? kMomentTileColumns : kTileColumns;
    const std::int64_t pitch = most * call_.size;
    for (std::int64_t begin = columns.begin; begin < columns.end; begin += most) {
      const std::int64_t part = std::min(most, columns.end - begin);
      const auto tile_of = [&](char* data) {
        return ChannelTensor::Tile{data, pitch, lines.pixel, lines.rows, lines.pixels, begin, part};
      };
      Rows rows{nullptr, nullptr, tiles, 0, 0, pitch, lines.rows, part};
      const auto bring = [&](const ChannelTensor& tensor, char* tile, const void*& data,
                             std::int64_t& data_stride) {
        if (tensor.has_pixels(dense_)) {
          data = start(tensor, begin);
          data_stride = stride(tensor);
        } else {
          tensor.pack_pixels(tile_of(tile));
          data = tile;
          data_stride = pitch;
        }
      };
      bring(x, x_tile, rows.x, rows.x_stride);
      rows.g = rows.x, rows.g_stride = rows.x_stride;
      if (call_.reads_g) bring(g, tiles, rows.g, rows.g_stride);
      body(rows, begin);
      if (!writes) continue;
      if (!has_out) {
        out.unpack_pixels(tile_of(tiles));
        continue;
      }
      for (std::int64_t r = 0; r < lines.rows; ++r) {
        char* to = start(out, begin) + r * stride(out);
        const auto bytes = static_cast<std::size_t>(part * call_.size);
        call_.streams ? call_.fast.stream(tiles + r * pitch, to, bytes)
                      : static_cast<void>(std::memcpy(to, tiles + r * pitch, bytes));
      }
    }
  }

  const ChannelCall& call_;
  const ChannelSplit& split_;
  const PixelRows p_;
  const bool dense_;
  // Set by any task.
  std::atomic<bool> have_rest_ = false, bad_sums_ = false;
};

}  // namespace

void run_pixels(const ChannelCall& call) { PixelWalk(call).run(); }

}  // namespace normgrad
