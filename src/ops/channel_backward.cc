#include "ops/channel_backward.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "runtime/layout.h"
#include "kernels/cache.h"
#include "kernels/parallel_for.h"
#include "kernels/element.h"
#include "kernels/pairwise.h"
#include "ops/channel_tensor.h"
#include "ops/folds.h"
#include "runtime/failure.h"
#include "ops/segment.h"
#include "ops/statistics.h"
#include "ops/workspace.h"

namespace normgrad {
namespace {

using kernels::Form;
using kernels::kChain;
using kernels::kColumnMapRows;
using kernels::Kernels;
using kernels::kTotals;
using kernels::RowMap;
using kernels::Rows;

// Channels whose short planes go together, and how many bytes of them before the next n: every jump costs.
constexpr std::int64_t kMostTogether = 32, kBytesTogether = 16384;
// With fewer channels, threads share the chunks of all.
constexpr std::int64_t kFewChannels = 32;
// Rows of pixels: of their sums' blocks at least and at most, and how many blocks there are if that lets them.
constexpr std::int64_t kLeastBlockRows = 32, kMostBlockRows = 32768, kBlocks = 64;
// Tiles: what a kernel cannot walk is packed, what goes past the cache is written there first.
constexpr std::int64_t kTileColumns = 512, kPackedColumns = 128;

struct Sums {
  double dy, dy_xmu;
};

// y = w*x_hat + b with x_hat = (x - mean)*r, all of a channel. As for LayerNorm, with w outside the sums: over the n
// elements that share mean and r
//   dx = w*r*(dy - mean(dy) - x_hat*mean(dy*x_hat))     training: mean and r depend on x
//   dx = w*r*dy                                         inference: they are constants
//   dw = r*sum(dy*(x - mean)), db = sum(dy)
double weight_gradient(const Sums& sums, double r) { return r * sums.dy_xmu; }
RowMap training_map(const Sums& sums, double mean, double r, double w, double n) {
  return {.mean = mean, .scale = w * r, .c1 = sums.dy / n, .c2 = r * weight_gradient(sums, r) / n};
}
RowMap inference_map(double r, double w) { return {.scale = w * r}; }

// ---- rows of pixels ----
struct PixelRows {
  explicit PixelRows(const ChannelSplit& split) {
    const std::int64_t channels = split.channels, all = split.n * split.l;
    const std::int64_t whole_steps = 32 / std::gcd(channels, std::int64_t{32});
    if (channels <= 2048 / whole_steps && all >= 8 * whole_steps) {
      pixels = whole_steps;
      while (channels * pixels * 2 <= 512 && all >= 2 * pixels * 64) pixels *= 2;
    }
    columns = channels * pixels;
    pitch = kernels::padded(columns);
    rows = all / pixels;
    part_columns = all % pixels * channels;
    const std::int64_t share = ceil_div(ceil_div(rows, kBlocks), kChain) * kChain;
    block_rows = std::clamp(share, kLeastBlockRows, kMostBlockRows);
    blocks = std::max<std::int64_t>(1, ceil_div(rows, block_rows));
  }
  std::int64_t pixels = 1;  // that make one row, so that few channels fill whole steps
  std::int64_t columns, pitch, rows;
  std::int64_t part_columns;  // of a last row that is not whole; 0: there is none
  std::int64_t block_rows, blocks;
};

// ---- the workspace ----
struct Space {
  Space(const PlanBody& plan, const ChannelRoles& roles, void* at = nullptr) : cut(at) {
    const ChannelSplit& split = plan.channel;
    if (split.l == 0 || split.n == 0) return;
    const bool computes_sums = roles.given_sum_dy == kNoArgument;
    maps = cut.take<RowMap>(split.channels);
    r = cut.take<double>(split.channels);
    sums = cut.take<Sums>(split.channels);
    exact = cut.take<bool>(split.channels);
    if (!split.by_pixels) {
      const Checked chunks = Checked(split.n_chunks) * split.l_chunks;
      if (computes_sums) partials = cut.take<double>(chunks * split.channels * 2);
      return;
    }
    const PixelRows rows(split);
    columns = cut.take<float>(Checked(kColumnMapRows) * rows.pitch);
    if (computes_sums) partials = cut.take<double>(Checked(rows.blocks) * 2 * rows.pitch);
  }
  Workspace cut;
  RowMap* maps = nullptr;
  double* r = nullptr;
  Sums* sums = nullptr;
  bool* exact = nullptr;
  float* columns = nullptr;
  double* partials = nullptr;  // planes: [channel][chunk][2]; pixels: [block][2][column]
};

// What both walks share: parameters, maps, results of channels.
class ChannelBackward {
 public:
  ChannelBackward(const PlanBody& plan, const ChannelRoles& roles, double count, void* const* data,
                  std::byte* workspace)
      : plan_(plan),
        roles_(roles),
        split_(plan.channel),
        data_(data),
        count_(count),
        space_(plan, roles, workspace),
        dtype_(plan.argument[roles.dy].tensor.dtype),
        size_(size_of(dtype_)),
        kernels_(kernels::kernels_for(dtype_, plan.arithmetic)),
        exact_(kernels::kernels_for(dtype_, Arithmetic::kExact)),
        elements_(split_.n * split_.channels * split_.l),
        in_place_(data[roles.dx] == data[roles.dy] || data[roles.dx] == data[roles.x]),
        streams_(has(roles.dx) && !in_place_ &&
                 3 * elements_ * size_ > kernels::last_level_cache_bytes()),
        dy_(split_, roles.dy, data[roles.dy], size_),
        x_(split_, roles.x, data[roles.x], size_),
        dx_(split_, roles.dx, data[roles.dx], size_) {}

  bool sums_wanted() const {
    if (roles_.given_sum_dy != kNoArgument) return false;
    bool wanted = plan_.training && has(roles_.dx);
    for (const int role : {roles_.dw, roles_.db, roles_.sum_dy, roles_.sum_dy_xmu}) {
      wanted |= has(role);
    }
    return wanted;
  }
  Form form() const { return plan_.training ? Form::kGX : Form::kG; }

  // Statistics of channels [begin, end), before their sums.
  void begin_maps(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t c = begin; c < end; ++c) {
      const bool of_var = has(roles_.var);
      space_.maps[c] = {.mean = number(roles_.mean, c, 0)};
      space_.r[c] =
          of_var ? rstd_of(number(roles_.var, c, 0), plan_.eps) : number(roles_.rstd, c, 1);
      space_.exact[c] = kernels_.exact;
    }
  }
  bool sums_are_bad(std::int64_t c) const {
    const Sums& sums = space_.sums[c];
    return !std::isfinite(sums.dy) || !std::isfinite(sums.dy_xmu) || !in_range(space_.r[c]);
  }
  // Maps of dx. Returns whether exact kernels must do one of them.
  bool finish_maps(std::int64_t begin, std::int64_t end) const {
    bool any = false;
    for (std::int64_t c = begin; c < end; ++c) {
      const double w = number(roles_.w, c, 1);
      if (roles_.given_sum_dy != kNoArgument) {
        space_.sums[c] = {number(roles_.given_sum_dy, c, 0), number(roles_.given_sum_dy_xmu, c, 0)};
      }
      space_.maps[c] =
          plan_.training ? training_map(space_.sums[c], space_.maps[c].mean, space_.r[c], w, count_)
                         : inference_map(space_.r[c], w);
      // In inference dx does not depend on the sums, and neither does who computes it.
      if (!plan_.training) space_.exact[c] = kernels_.exact;
      space_.exact[c] |= !in_range(space_.maps[c]) || !in_range(space_.r[c]);
      any |= space_.exact[c];
    }
    return any;
  }
  void store_sums(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t c = begin; c < end; ++c) {
      const Sums& sums = space_.sums[c];
      put(roles_.dw, c, weight_gradient(sums, space_.r[c]));
      put(roles_.db, c, sums.dy);
      put(roles_.sum_dy, c, sums.dy);
      put(roles_.sum_dy_xmu, c, sums.dy_xmu);
    }
  }
  void store_empty_sums() const {
    for (const int role : {roles_.dw, roles_.db, roles_.sum_dy, roles_.sum_dy_xmu}) {
      for (std::int64_t c = 0; c < split_.channels; ++c) put(role, c, 0);
    }
  }

  void run_planes() const;
  void run_pixels() const;

 protected:
  bool has(int role) const { return role != kNoArgument && plan_.argument[role].tensor.present(); }
  double number(int role, std::int64_t c, double absent) const {
    if (!has(role)) return absent;
    const Tensor& tensor = plan_.argument[role].tensor;
    return kernels::load_element(data_[role], tensor.dtype, c * tensor.strides[0]);
  }
  void put(int role, std::int64_t c, double value) const {
    if (!has(role)) return;
    const Tensor& tensor = plan_.argument[role].tensor;
    kernels::store_element(data_[role], tensor.dtype, c * tensor.strides[0], value);
  }

  // ---- planes ----
  // Calls body(rows, first channel) for `count` channels' elements [l, l + length) of one n: all at once, or packed,
  // channel by channel and piece by piece.
  template <class Body>
  void each_plane(std::int64_t n, std::int64_t c, std::int64_t count, std::int64_t l,
                  std::int64_t length, bool writes, Body&& body) const {
    const bool direct = dy_.has_planes() && x_.has_planes() && (!writes || dx_.has_planes());
    if (direct && !(writes && streams_)) {
      return body(Rows{dy_.at(n, c, l), x_.at(n, c, l), writes ? dx_.at(n, c, l) : nullptr,
                       dy_.channel_stride_bytes(), x_.channel_stride_bytes(),
                       dx_.channel_stride_bytes(), count, length},
                  c);
    }
    alignas(64) char tiles[3][kTileColumns * 4];
    for (std::int64_t i = c; i < c + count; ++i) {
      for (std::int64_t begin = l; begin < l + length; begin += kTileColumns) {
        const std::int64_t part = std::min(kTileColumns, l + length - begin);
        const auto source = [&](const ChannelTensor& tensor, char* tile) -> const void* {
          if (tensor.has_planes()) return tensor.at(n, i, begin);
          tensor.pack_plane(n, i, begin, part, tile);
          return tile;
        };
        Rows rows{source(dy_, tiles[0]), source(x_, tiles[1]), tiles[2], 0, 0, 0, 1, part};
        body(rows, i);
        if (!writes) continue;
        if (!dx_.has_planes()) {
          dx_.unpack_plane(n, i, begin, part, tiles[2]);
        } else {
          kernels::stream(tiles[2], dx_.at(n, i, begin), static_cast<std::size_t>(part * size_));
        }
      }
    }
  }
  std::int64_t chunks() const { return split_.n_chunks * split_.l_chunks; }
  // The sums of `count` channels over one chunk.
  void chunk_sums(const Kernels& k, std::int64_t chunk, std::int64_t c, std::int64_t count) const {
    double totals[kMostTogether][kTotals];
    std::fill_n(&totals[0][0], count * kTotals, 0.0);
    each_piece(split_, chunk, [&](std::int64_t n, std::int64_t l, std::int64_t length) {
      each_plane(n, c, count, l, length, false, [&](const Rows& rows, std::int64_t first) {
        k.row_sums(kernels::Terms::kG, rows, nullptr, space_.maps + first, totals[first - c]);
      });
    });
    for (std::int64_t i = 0; i < count; ++i) {
      double* to = space_.partials + ((c + i) * chunks() + chunk) * 2;
      to[0] = kernels::fold_totals(totals[i]);
      to[1] = kernels::fold_totals(totals[i] + 8);
    }
  }
  Sums folded_chunks(std::int64_t c) const {
    const double* parts = space_.partials + c * chunks() * 2;
    if (chunks() == 1) return {parts[0], parts[1]};
    kernels::Pairwise<2> sums;
    for (std::int64_t i = 0; i < chunks(); ++i) sums.add({parts[2 * i], parts[2 * i + 1]});
    const auto all = sums.finish();
    return {all[0], all[1]};
  }
  // Sums of channels whose chunks are there; those that f32 does not have, again.
  void finish_sums(std::int64_t c, std::int64_t count) const {
    for (std::int64_t i = c; i < c + count; ++i) {
      space_.sums[i] = folded_chunks(i);
      if (kernels_.exact || !sums_are_bad(i)) continue;
      for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) chunk_sums(exact_, chunk, i, 1);
      space_.sums[i] = folded_chunks(i);
      space_.exact[i] = true;
    }
  }
  void map_chunk(std::int64_t chunk, std::int64_t c, std::int64_t count) const {
    each_piece(split_, chunk, [&](std::int64_t n, std::int64_t l, std::int64_t length) {
      map_planes(n, c, count, l, length);
    });
  }
  void map_planes(std::int64_t n, std::int64_t c, std::int64_t count, std::int64_t l,
                  std::int64_t length) const {
    for (std::int64_t i = c; i < c + count;) {
      std::int64_t same = 1;
      while (i + same < c + count && space_.exact[i + same] == space_.exact[i]) ++same;
      const Kernels& k = space_.exact[i] ? exact_ : kernels_;
      each_plane(n, i, same, l, length, true, [&](const Rows& rows, std::int64_t first) {
        k.map_rows(form(), rows, nullptr, space_.maps + first);
      });
      i += same;
    }
  }
  void run_group(std::int64_t c, std::int64_t count) const;
  void run_few_channels() const;

  // ---- pixels ----
  // Calls body(rows, first column) for rows [row, row + count) of pixels, each `columns` long: all at once, or packed,
  // strip by strip. At most kChain rows if something is packed.
  template <class Body>
  void each_strip(const PixelRows& p, std::int64_t row, std::int64_t count, std::int64_t columns,
                  bool writes, Body&& body) const {
    const bool dense = p.pixels > 1;
    const auto start = [&](const ChannelTensor& tensor) {
      const std::int64_t pixel = row * p.pixels;
      return tensor.at(pixel / split_.l, 0, pixel % split_.l);
    };
    const auto stride = [&](const ChannelTensor& tensor) {
      return tensor.pixel_stride() * p.pixels * size_;
    };
    const bool direct =
        dy_.has_pixels(dense) && x_.has_pixels(dense) && (!writes || dx_.has_pixels(dense));
    if (direct && !(writes && streams_)) {
      return body(Rows{start(dy_), start(x_), writes ? start(dx_) : nullptr, stride(dy_),
                       stride(x_), stride(dx_), count, columns},
                  0);
    }
    alignas(64) char tiles[2][kChain * kPackedColumns * 4];
    const std::int64_t pitch = kPackedColumns * size_;
    for (std::int64_t begin = 0; begin < columns; begin += kPackedColumns) {
      const std::int64_t part = std::min(kPackedColumns, columns - begin);
      const auto tile_of = [&](char* data) {
        return ChannelTensor::Tile{data, pitch, row, count, p.pixels, begin, part};
      };
      Rows rows{nullptr, nullptr, tiles[0], pitch, pitch, pitch, count, part};
      const auto bring = [&](const ChannelTensor& tensor, char* tile, const void*& data,
                             std::int64_t& data_stride) {
        if (tensor.has_pixels(dense)) {
          data = start(tensor) + begin * size_;
          data_stride = stride(tensor);
        } else {
          tensor.pack_pixels(tile_of(tile));
          data = tile;
        }
      };
      bring(dy_, tiles[0], rows.g, rows.g_stride);
      bring(x_, tiles[1], rows.x, rows.x_stride);
      body(rows, begin);
      if (!writes) continue;
      if (!dx_.has_pixels(dense)) {
        dx_.unpack_pixels(tile_of(tiles[0]));
        continue;
      }
      for (std::int64_t r = 0; r < count; ++r) {
        kernels::stream(tiles[0] + r * pitch, start(dx_) + r * stride(dx_) + begin * size_,
                        static_cast<std::size_t>(part * size_));
      }
    }
  }
  void block_sums(const Kernels& k, const PixelRows& p, std::int64_t block,
                  const kernels::ColumnMaps& maps) const {
    double* sums = space_.partials + block * 2 * p.pitch;
    kernels_.clear(sums, 2 * p.pitch);
    const auto add = [&](std::int64_t row, std::int64_t count, std::int64_t columns) {
      each_strip(p, row, count, columns, false, [&](const Rows& rows, std::int64_t first) {
        kernels::ColumnMaps part = maps;
        part.first = first;
        k.column_sums(rows, part, sums + first, sums + p.pitch + first);
      });
    };
    const std::int64_t end = std::min(p.rows, (block + 1) * p.block_rows);
    for (std::int64_t row = block * p.block_rows; row < end; row += kChain) {
      add(row, std::min(kChain, end - row), p.columns);
    }
    if (block == p.blocks - 1 && p.part_columns > 0) add(p.rows, 1, p.part_columns);
  }
  void sum_pixels(const Kernels& k, const PixelRows& p) const {
    kernels::ColumnMaps maps{space_.maps, split_.channels, 0, p.pitch, space_.columns, false};
    k.prepare_columns(maps);
    kernels::parallel_for(p.blocks, elements_,
                      [&](std::int64_t block) { block_sums(k, p, block, maps); });
    constexpr std::int64_t kColumns = 2048;
    const std::int64_t numbers = 2 * p.pitch;
    kernels::parallel_for(ceil_div(numbers, kColumns), p.blocks * numbers, [&](std::int64_t part) {
      fold_rows(kernels_, space_.partials, p.blocks, numbers, part * kColumns,
                std::min(numbers, (part + 1) * kColumns));
    });
    for (std::int64_t c = 0; c < split_.channels; ++c) {
      const auto folded = [&](double* sums) {
        for (std::int64_t s = 1; s < p.pixels; s *= 2) {
          for (std::int64_t i = 0; i + s < p.pixels; i += 2 * s) {
            sums[lane(i * split_.channels + c)] += sums[lane((i + s) * split_.channels + c)];
          }
        }
        return sums[lane(c)];
      };
      space_.sums[c] = {folded(space_.partials), folded(space_.partials + p.pitch)};
    }
  }
  std::int64_t lane(std::int64_t column) const { return kernels::lane_of(dtype_, column); }
  void map_pixels(const Kernels& k, const PixelRows& p) const {
    kernels::ColumnMaps maps{space_.maps, split_.channels, 0, p.pitch, space_.columns, false};
    k.prepare_columns(maps);
    const auto map = [&](std::int64_t row, std::int64_t count, std::int64_t columns) {
      each_strip(p, row, count, columns, true, [&](const Rows& rows, std::int64_t first) {
        kernels::ColumnMaps part = maps;
        part.first = first;
        k.map_columns(form(), rows, part);
      });
    };
    kernels::parallel_for(p.blocks, elements_, [&](std::int64_t block) {
      const std::int64_t end = std::min(p.rows, (block + 1) * p.block_rows);
      for (std::int64_t row = block * p.block_rows; row < end; row += kChain) {
        map(row, std::min(kChain, end - row), p.columns);
      }
      if (block == p.blocks - 1 && p.part_columns > 0) map(p.rows, 1, p.part_columns);
      if (streams_) kernels::stream_fence();
    });
  }

  const PlanBody& plan_;
  const ChannelRoles& roles_;
  const ChannelSplit& split_;
  void* const* data_;
  const double count_;
  const Space space_;
  const DataType dtype_;
  const std::int64_t size_;  // of an element
  const Kernels &kernels_, &exact_;
  const std::int64_t elements_;
  const bool in_place_, streams_;
  const ChannelTensor dy_, x_, dx_;
};

// Sums, maps and dx of a few channels, which are still in the cache from one to the next.
void ChannelBackward::run_group(std::int64_t c, std::int64_t count) const {
  begin_maps(c, c + count);
  const bool sums = sums_wanted(), dx = has(roles_.dx);
  // In inference dx can be written while its chunk is near, unless sums may have to be taken again.
  const bool at_once = sums && dx && !plan_.training && !in_place_;
  if (at_once) {
    RowMap means[kMostTogether];
    std::copy_n(space_.maps + c, count, means);
    finish_maps(c, c + count);
    RowMap of_dx[kMostTogether];
    std::copy_n(space_.maps + c, count, of_dx);
    for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) {
      std::copy_n(means, count, space_.maps + c);
      chunk_sums(kernels_, chunk, c, count);
      std::copy_n(of_dx, count, space_.maps + c);
      map_chunk(chunk, c, count);
    }
    std::copy_n(means, count, space_.maps + c);
    finish_sums(c, count);
    store_sums(c, c + count);
    return;
  }
  if (sums) {
    for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) chunk_sums(kernels_, chunk, c, count);
    finish_sums(c, count);
  }
  if (dx) finish_maps(c, c + count);
  if (sums) store_sums(c, c + count);
  for (std::int64_t chunk = chunks() - 1; dx && chunk >= 0; --chunk) map_chunk(chunk, c, count);
}

// Threads share the chunks of all channels.
void ChannelBackward::run_few_channels() const {
  begin_maps(0, split_.channels);
  const std::int64_t tasks = chunks() * split_.channels;
  const bool sums = sums_wanted(), dx = has(roles_.dx);
  if (sums) {
    kernels::parallel_for(tasks, elements_, [&](std::int64_t task) {
      chunk_sums(kernels_, task / split_.channels, task % split_.channels, 1);
    });
    finish_sums(0, split_.channels);
  }
  if (dx) finish_maps(0, split_.channels);
  if (sums) store_sums(0, split_.channels);
  if (!dx) return;
  kernels::parallel_for(tasks, elements_, [&](std::int64_t task) {
    map_chunk(task / split_.channels, task % split_.channels, 1);
    if (streams_) kernels::stream_fence();
  });
}

void ChannelBackward::run_planes() const {
  if (split_.channels < kFewChannels && chunks() > 1) return run_few_channels();
  const std::int64_t plane_bytes = std::max<std::int64_t>(1, split_.l * size_);
  const std::int64_t together =
      std::clamp(kBytesTogether / plane_bytes, std::int64_t{1}, kMostTogether);
  kernels::parallel_for(ceil_div(split_.channels, together), elements_, [&](std::int64_t group) {
    const std::int64_t c = group * together;
    run_group(c, std::min(together, split_.channels - c));
    if (streams_) kernels::stream_fence();
  });
}

void ChannelBackward::run_pixels() const {
  const PixelRows rows(split_);
  begin_maps(0, split_.channels);
  const bool sums = sums_wanted(), dx = has(roles_.dx);
  bool exact = kernels_.exact;
  if (sums) {
    sum_pixels(kernels_, rows);
    bool bad = false;
    for (std::int64_t c = 0; c < split_.channels; ++c) bad |= sums_are_bad(c);
    if (bad && !kernels_.exact) {
      sum_pixels(exact_, rows);
      exact = plan_.training;
    }
  }
  if (dx) exact |= finish_maps(0, split_.channels);
  if (sums) store_sums(0, split_.channels);
  if (dx) map_pixels(exact ? exact_ : kernels_, rows);
}

}  // namespace

Status plan_channel_backward(PlanBody& plan, const ChannelRoles& roles) {
  ChannelSplit& split = plan.channel;
  if (split.n == 0 || split.l == 0) return Status::kOk;
  const std::int64_t channel_stride =
      split.channels > 1 ? std::abs(split.channel_strides[roles.x]) : 0;
  std::int64_t nearest = 0;  // of the l dims that move at all
  for (int d = 0; d < split.rank; ++d) {
    const std::int64_t stride = std::abs(split.strides[roles.x][d]);
    if (stride != 0 && (nearest == 0 || stride < nearest)) nearest = stride;
  }
  split.by_pixels = split.l == 1 || (split.channels > 1 && channel_stride != 0 && nearest != 0 &&
                                     channel_stride < nearest);
  const Checked bytes = Space(plan, roles).cut.bytes();
  if (!bytes.ok()) {
    return fail(Status::kBadShape, "%lld channels are more than memory can hold the sums of",
                static_cast<long long>(split.channels));
  }
  plan.workspace_bytes = static_cast<std::size_t>(bytes.value());
  return Status::kOk;
}

void run_channel_backward(const PlanBody& plan, const ChannelRoles& roles, double count,
                          void* const* data, std::byte* workspace) {
  const ChannelBackward backward(plan, roles, count, data, workspace);
  const ChannelSplit& split = plan.channel;
  if (split.channels == 0) return;
  if (split.n == 0 || split.l == 0) return backward.store_empty_sums();
  split.by_pixels ? backward.run_pixels() : backward.run_planes();
}

}  // namespace normgrad
