// The walk by planes, for row-major data: a row is (some of) a plane (n, channel).
#include <algorithm>

#include "kernels/cache.h"
#include "kernels/element.h"
#include "kernels/pairwise.h"
#include "kernels/parallel_for.h"
#include "ops/channel_call.h"
#include "ops/channel_split.h"
#include "ops/folds.h"

namespace normgrad {
namespace {

using kernels::ChannelMaps;
using kernels::Kernels;
using kernels::kTotals;
using kernels::Order;
using kernels::Rows;

// Channels whose short planes go together, and how many bytes of them before the next n: every jump costs.
constexpr std::int64_t kMostTogether = 32, kBytesTogether = 16384;
// With fewer channels, threads share the chunks of all.
constexpr std::int64_t kFewChannels = 32;
// A tile: what a kernel cannot walk is packed, what goes past the cache is written there first.
constexpr std::int64_t kTileBytes = 2048;
// Channels that one task prepares, and how many elements each is worth.
constexpr std::int64_t kPartChannels = 256, kBeginWork = 64;
// Elements that one task maps at least, and how many tasks there are if that lets them.
constexpr std::int64_t kTaskElements = 16384, kTasks = 64, kLineElements = 64;

// Channels [begin, end) that go together.
struct Group {
  std::int64_t begin, end;
};

class PlaneWalk {
 public:
  explicit PlaneWalk(const ChannelCall& call)
      : call_(call), split_(call.split), chunks_(split_.n_chunks * split_.l_chunks) {}

  void run() const {
    if (!call_.wants_sums) return run_map();
    const std::int64_t plane_bytes = std::max<std::int64_t>(1, split_.l * call_.size);
    const std::int64_t near =
        std::clamp(kBytesTogether / plane_bytes, std::int64_t{1}, kMostTogether);
    const std::int64_t together = ceil_div(near, call_.unit) * call_.unit;
    const bool few = split_.channels < kFewChannels && chunks_ > 1;
    if (few || together > kMostTogether) return run_in_turns(near);
    kernels::parallel_for(ceil_div(split_.channels, together), call_.elements, [&](std::int64_t i) {
      run_group({i * together, std::min(split_.channels, (i + 1) * together)});
      if (call_.streams) kernels::stream_fence();
    });
  }

 private:
  // Some elements of the planes of neighbouring channels: [l, l + length) of one n.
  struct Piece {
    std::int64_t n, channel, count, l, length;
  };

  // The maps of channels as kernels read them, from `channel` on; and makes them of what space.maps has now.
  ChannelMaps maps(std::int64_t channel) const {
    return {call_.space.maps, split_.channels, channel, kernels::padded(split_.channels),
            call_.space.columns};
  }
  void prepare(Group group) const {
    call_.fast.prepare_planes(call_.form, maps(group.begin), group.end - group.begin);
  }

  // Without sums, in the order of memory.
  void run_map() const {
    kernels::parallel_for(ceil_div(split_.channels, kPartChannels), split_.channels * kBeginWork,
                          [&](std::int64_t part) {
                            const Group group{
                                part * kPartChannels,
                                std::min(split_.channels, (part + 1) * kPartChannels)};
                            call_.begin(group.begin, group.end);
                            prepare(group);
                          });
    if (!call_.wants_out) return;
    const std::int64_t share = std::max(kTaskElements, ceil_div(call_.elements, kTasks));
    const std::int64_t per_task = ceil_div(share, kLineElements) * kLineElements;
    kernels::parallel_for(
        ceil_div(call_.elements, per_task), call_.elements, [&](std::int64_t task) {
          const std::int64_t end = std::min(call_.elements, (task + 1) * per_task);
          for (std::int64_t at = task * per_task; at < end;) {
            const std::int64_t plane = at / split_.l, l = at % split_.l;
            Piece piece{plane / split_.channels, plane % split_.channels, 1, l,
                        std::min(split_.l - l, end - at)};
            if (piece.length == split_.l) {
              piece.count = std::min((end - at) / split_.l, split_.channels - piece.channel);
            }
            map_piece(piece);
            at += piece.count * piece.length;
          }
          if (call_.streams) kernels::stream_fence();
        });
  }

  // Sums, maps and output of a few channels, which are still in the cache from one to the next.
  void run_group(Group group) const {
    call_.begin(group.begin, group.end);
    prepare(group);
    const bool both = writes_with_sums(group);
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
      chunk_sums(call_.fast, chunk, group, both);
    }
    finish_sums(group);
    call_.set_maps(group.begin, group.end);
    call_.store_results(group.begin, group.end);
    if (!call_.wants_out || both) return;
    prepare(group);
    for (std::int64_t chunk = chunks_ - 1; chunk >= 0; --chunk) {
      each_piece(split_, chunk, [&](std::int64_t n, std::int64_t l, std::int64_t length) {
        map_piece({n, group.begin, group.end - group.begin, l, length});
      });
    }
  }

  bool writes_with_sums(Group group) const {
    const bool *begin = call_.space.exact + group.begin, *end = call_.space.exact + group.end;
    return call_.out_with_sums && std::find(begin, end, true) == end;
  }

  // Threads share the chunks of all channels: first for the sums, then for the output. Of many channels some are one task.
  void run_in_turns(std::int64_t near) const {
    const std::int64_t channels = split_.channels, some = chunks_ > 1 ? 1 : near;
    const std::int64_t parts = ceil_div(channels, some), tasks = chunks_ * parts;
    const auto channels_of = [&](std::int64_t task) -> Group {
      const std::int64_t begin = task % parts * some;
      return {begin, std::min(channels, begin + some)};
    };
    const Group all{0, channels};
    call_.begin(0, channels);
    prepare(all);
    const bool both = writes_with_sums(all);
    kernels::parallel_for(tasks, call_.elements, [&](std::int64_t task) {
      chunk_sums(call_.fast, task / parts, channels_of(task), both);
      if (both && call_.streams) kernels::stream_fence();
    });
    finish_sums(all);
    call_.set_maps(0, channels);
    call_.store_results(0, channels);
    if (!call_.wants_out || both) return;
    prepare(all);
    // Backwards: what was summed last is still near.
    const auto map = [&](std::int64_t task) {
      const Group group = channels_of(task);
      each_piece(split_, task / parts, [&](std::int64_t n, std::int64_t l, std::int64_t length) {
        map_piece({n, group.begin, group.end - group.begin, l, length});
      });
      if (call_.streams) kernels::stream_fence();
    };
    kernels::parallel_for(tasks, call_.elements, map, Order::kBackwards);
  }

  // The sums over one chunk of a group; the output, too, if `both`.
  void chunk_sums(const Kernels& k, std::int64_t chunk, Group group, bool both) const {
    const std::int64_t channel = group.begin, count = group.end - group.begin;
    if (!call_.reads_g) return chunk_moments(k, chunk, channel, count);
    double totals[kMostTogether][kTotals];
    std::fill_n(&totals[0][0], count * kTotals, 0.0);
    each_piece(split_, chunk, [&](std::int64_t n, std::int64_t l, std::int64_t length) {
      const Piece piece{n, channel, count, l, length};
      each_row(piece, false, [&](const Rows& rows, std::int64_t c) {
        k.plane_sums(rows, maps(c), totals[c - channel]);
      });
      if (both) map_piece(piece);
    });
    for (std::int64_t i = 0; i < count; ++i) {
      double* to = call_.space.partials + ((channel + i) * chunks_ + chunk) * 2;
      to[0] = kernels::fold_totals(totals[i]);
      to[1] = kernels::fold_totals(totals[i] + 8);
    }
  }
  // The moments of one chunk, in two sweeps while it is near: around its first element, which gives something close to its
  // mean, then around that.
  void chunk_moments(const Kernels& k, std::int64_t chunk, std::int64_t channel,
                     std::int64_t count) const {
    double totals[kMostTogether][kTotals], centres[kMostTogether], sums[kMostTogether];
    const auto sweep = [&](bool squares) {
      std::fill_n(&totals[0][0], count * kTotals, 0.0);
      each_piece(split_, chunk, [&](std::int64_t n, std::int64_t l, std::int64_t length) {
        each_row({n, channel, count, l, length}, false, [&](const Rows& rows, std::int64_t c) {
          k.plane_moments(squares, rows, centres + (c - channel), totals[c - channel]);
        });
      });
    };
    const double n =
        static_cast<double>(elements_before(split_, chunk + 1) - elements_before(split_, chunk));
    // f64 has sums of ordinary data exactly, so exact kernels take them around 0.
    std::fill_n(centres, count, 0.0);
    if (!k.exact) first_elements(chunk, channel, count, centres);
    sweep(false);
    for (std::int64_t i = 0; i < count; ++i) {
      sums[i] = -kernels::fold_totals(totals[i]);
      const double mean = centres[i] + sums[i] / n;
      centres[i] = k.exact ? mean : static_cast<double>(static_cast<float>(mean));
    }
    sweep(true);
    for (std::int64_t i = 0; i < count; ++i) {
      const double rest = -kernels::fold_totals(totals[i]);
      double* to = call_.space.partials + ((channel + i) * chunks_ + chunk) * 2;
      to[0] = k.exact ? sums[i] : n * centres[i] + rest;
      to[1] = kernels::fold_totals(totals[i] + 8) - rest * rest / n;
    }
  }
  void first_elements(std::int64_t chunk, std::int64_t channel, std::int64_t count,
                      double* to) const {
    const std::int64_t n = chunk / split_.l_chunks * split_.chunk_n;
    const std::int64_t l = chunk % split_.l_chunks * split_.chunk_l;
    kernels::with_element_type(call_.dtype, [&](auto* type) {
      for (std::int64_t i = 0; i < count; ++i) {
        const void* at = call_.x.at(n, channel + i, l);
        to[i] =
            kernels::to_double(kernels::read(static_cast<decltype(type)>(const_cast<void*>(at))));
      }
    });
  }
  ChannelSums folded_chunks(std::int64_t c) const {
    double* parts = call_.space.partials + c * chunks_ * 2;
    if (!call_.reads_g) {
      fold_moments(
          chunks_, [&](std::int64_t i) { return elements_before(split_, i); },
          [&](std::int64_t to, std::int64_t from, const kernels::Merge& merge) {
            merge(parts[2 * from], parts[2 * from + 1], parts[2 * to], parts[2 * to + 1]);
          });
    }
    if (chunks_ == 1 || !call_.reads_g) return {parts[0], parts[1]};
    kernels::Pairwise<2> sums;
    for (std::int64_t i = 0; i < chunks_; ++i) sums.add({parts[2 * i], parts[2 * i + 1]});
    const auto all = sums.finish();
    return {all[0], all[1]};
  }
  // Sums of channels whose chunks are there; those that f32 does not have, again.
  void finish_sums(Group group) const {
    for (std::int64_t c = group.begin; c < group.end; ++c) {
      call_.space.sums[c] = folded_chunks(c);
      if (call_.fast.exact || !call_.sums_are_bad(c)) continue;
      for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
        chunk_sums(call_.exact, chunk, {c, c + 1}, false);
      }
      call_.space.sums[c] = folded_chunks(c);
      // In inference dx does not depend on the sums, and neither does who computes it.
      if (call_.form != kernels::Form::kG) call_.space.exact[c] = true;
    }
  }

  // Neighbours of one arithmetic together.
  void map_piece(const Piece& all) const {
    const bool* exact = call_.space.exact;
    const std::int64_t end = all.channel + all.count;
    for (std::int64_t c = all.channel; c < end;) {
      Piece piece = all;
      piece.channel = c;
      piece.count = std::find(exact + c, exact + end, !exact[c]) - (exact + c);
      const Kernels& k = exact[c] ? call_.exact : call_.fast;
      each_row(piece, true, [&](const Rows& rows, std::int64_t first) {
        k.map_planes(call_.form, rows, maps(first));
      });
      c += piece.count;
    }
  }

  // Calls body(rows, first channel) for the rows of a piece: all at once, or by way of tiles.
  template <class Body>
  void each_row(const Piece& p, bool writes, Body&& body) const {
    const ChannelTensor &g = call_.g, &x = call_.x, &out = call_.out;
    if (!g.has_planes() || !x.has_planes() || (writes && !out.has_planes())) {
      return each_packed(p, writes, body);
    }
    // The same channels of the next n. Maps find them near, or walk as the processor foresees.
    const bool fetches = call_.is_far && p.n + 1 < split_.n && !writes;
    const auto rows_at = [&](std::int64_t c, std::int64_t l) {
      Rows rows{
          g.at(p.n, c, l),          x.at(p.n, c, l),          writes ? out.at(p.n, c, l) : nullptr,
          g.channel_stride_bytes(), x.channel_stride_bytes(), out.channel_stride_bytes(),
          p.channel + p.count - c,  p.l + p.length - l};
      if (fetches) {
        rows.g_ahead = call_.reads_g ? g.n_stride_bytes() : 0;
        rows.x_ahead = x.n_stride_bytes();
      }
      return rows;
    };
    Rows all = rows_at(p.channel, p.l);
    all.past_cache = writes && call_.streams && call_.fast.fills_lines && kernels::begin_lines(all);
    if (!writes || !call_.streams || all.past_cache) return body(all, p.channel);
    alignas(64) char tile[kTileBytes];
    const std::int64_t size = call_.size, row_bytes = p.length * size;
    // Planes that lie side by side go past the cache together.
    const bool side_by_side = out.channel_stride_bytes() == row_bytes;
    const std::int64_t together =
        side_by_side ? std::max(kTileBytes / row_bytes, std::int64_t{1}) : 1;
    for (std::int64_t c = p.channel; c < p.channel + p.count; c += together) {
      for (std::int64_t l = p.l; l < p.l + p.length; l += kTileBytes / size) {
        Rows rows = rows_at(c, l);
        char* to = static_cast<char*>(rows.out);
        rows.out = tile;
        rows.out_stride = row_bytes;
        rows.rows = std::min(rows.rows, together);
        rows.columns = std::min(rows.columns, kTileBytes / size);
        body(rows, c);
        call_.fast.stream(tile, to, static_cast<std::size_t>(rows.rows * rows.columns * size));
      }
    }
  }
  // Plane by plane and tile by tile.
  template <class Body>
  void each_packed(const Piece& p, bool writes, Body&& body) const {
    alignas(64) char tiles[3][kTileBytes];
    const std::int64_t most = kTileBytes / call_.size;
    for (std::int64_t c = p.channel; c < p.channel + p.count; ++c) {
      for (std::int64_t l = p.l; l < p.l + p.length; l += most) {
        const std::int64_t count = std::min(most, p.l + p.length - l);
        const auto source = [&](const ChannelTensor& tensor, char* tile) -> const void* {
          if (tensor.has_planes()) return tensor.at(p.n, c, l);
          tensor.pack_plane(p.n, c, l, count, tile);
          return tile;
        };
        const bool direct = writes && call_.out.has_planes();
        const void* x = source(call_.x, tiles[1]);
        body(Rows{call_.reads_g ? source(call_.g, tiles[0]) : x, x,
                  direct ? call_.out.at(p.n, c, l) : tiles[2], 0, 0, 0, 1, count},
             c);
        if (writes && !direct) call_.out.unpack_plane(p.n, c, l, count, tiles[2]);
      }
    }
  }

  const ChannelCall& call_;
  const ChannelSplit& split_;
  const std::int64_t chunks_;
};

}  // namespace

void run_planes(const ChannelCall& call) { PlaneWalk(call).run(); }

}  // namespace normgrad
