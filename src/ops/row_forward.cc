#include "ops/row_forward.h"

#include <cmath>
#include <limits>

#include "kernels/cache.h"
#include "kernels/pairwise.h"
#include "kernels/parallel_for.h"
#include "ops/workspace.h"
#include "runtime/failure.h"

namespace normgrad {
namespace {

using kernels::GroupMoments;
using kernels::GroupScales;
using kernels::Kernels;
using kernels::kGroup;
using kernels::kMomentColumns;
using kernels::Moments;
using kernels::Rows;

// Blocks of rows for threads.
constexpr std::int64_t kBlocks = 64;

// How many rows a block has, and how many blocks there are.
std::int64_t block_rows(const RowSplit& split) {
  return ceil_div(ceil_div(split.rows, kBlocks), kGroup) * kGroup;
}
std::int64_t row_blocks(const RowSplit& split) { return ceil_div(split.rows, block_rows(split)); }
std::int64_t column_blocks(const RowSplit& split) {
  return ceil_div(split.columns, kMomentColumns);
}

struct Space {
  Space(const PlanBody& plan, const RowForwardRoles& roles, void* at = nullptr) : cut(at) {
    const RowSplit& split = plan.row;
    const std::int64_t pitch = kernels::padded(split.columns);
    w = cut.take<float>(pitch);
    if (roles.b != kAbsent) b = cut.take<float>(pitch);
    if (split.columns > kMomentColumns) blocks = cut.take<Moments>(column_blocks(split));
    if (!split.packed) return;
    const std::int64_t most = std::max(kMomentColumns / pitch, std::int64_t{1});
    tile_rows = std::min({most, kernels::kGroup + std::int64_t{0}, split.rows});
    tile_numbers = std::min(tile_rows * pitch, kMomentColumns);
    tiles =
        cut.take<double>(Checked(std::max(row_blocks(split), column_blocks(split))) * tile_numbers);
    ones = cut.take<float>(std::min(pitch, kMomentColumns));
    zeros = cut.take<float>(std::min(pitch, kMomentColumns));
  }
  Workspace cut;
  float *w, *b = nullptr;
  Moments* blocks = nullptr;  // of a row that threads share
  // Of packed rows: a tile for each block of rows, or of the columns of a row that threads share; its rows and numbers; and
  // parameters that change nothing.
  double* tiles = nullptr;
  std::int64_t tile_rows = 0, tile_numbers = 0;
  float *ones = nullptr, *zeros = nullptr;
};

// The moments of a row's blocks become those of the row, around the pivot of the first: with e = the block's pivot - that
// one, x is x - pivot + e away from it.
class RowMoments {
 public:
  void add(const Moments& block, double n) {
    if (!begun_) pivot_ = std::isfinite(block.pivot) ? block.pivot : 0;
    begun_ = true;
    const double e = block.pivot - pivot_;
    sums_.add({block.sum + n * e, block.squares + e * (2 * block.sum + n * e)});
  }
  Moments finish() const {
    const auto [sum, squares] = sums_.finish();
    return {pivot_, sum, squares};
  }

 private:
  bool begun_ = false;
  double pivot_ = 0;
  kernels::Pairwise<2> sums_;
};

// x_n is x.
const GroupScales kNoScales = [] {
  GroupScales scales{};
  for (std::int64_t r = 0; r < kGroup; ++r) scales.set(r, {0, 0, 1});
  return scales;
}();

class RowForward {
 public:
  RowForward(const PlanBody& plan, const RowForwardRoles& roles, const RowForwardRecipe& recipe,
             void* const* data, std::byte* workspace)
      : plan_(plan),
        roles_(roles),
        recipe_(recipe),
        split_(plan.row),
        arguments_(plan, data),
        space_(plan, roles, workspace),
        kernels_(kernels::kernels_for(arguments_.dtype(), plan.arithmetic)),
        exact_(kernels::kernels_for(arguments_.dtype(), Arithmetic::kExact)),
        writes_(writes_any()),
        share_(1 / static_cast<double>(split_.columns)),
        bytes_((writes_ ? 2 : 1) * split_.rows * arguments_.row_bytes()),
        streams_(writes_ && !arguments_.packed() && kernels::is_worth_streaming(bytes_) &&
                 !arguments_.is_in_place(roles.y, roles.x)) {}

  void run() const {
    if (writes_) {
      arguments_.load_parameter(kernels_, roles_.w, 1, space_.w);
      if (roles_.b != kAbsent) arguments_.load_parameter(kernels_, roles_.b, 0, space_.b);
    }
    // Fewer rows than would give each thread its share are shared, if they are long.
    if (space_.ones != nullptr) {
      const std::int64_t count = std::min(kernels::padded(split_.columns), kMomentColumns);
      std::fill_n(space_.ones, count, 1.0f), std::fill_n(space_.zeros, count, 0.0f);
    }
    if (split_.columns > 4 * kMomentColumns && split_.rows < 2 * threads()) return run_shared();
    const std::int64_t rows = block_rows(split_);
    kernels::parallel_for(
        row_blocks(split_), split_.rows * split_.columns, [&](std::int64_t block) {
          run_rows(block * rows, std::min(split_.rows, (block + 1) * rows), tile_of(block));
        });
  }

 private:
  Rows rows_at(std::int64_t row, std::int64_t count) const {
    return arguments_.rows(kAbsent, roles_.x, roles_.y, row, count);
  }
  bool wants(Arg arg) const { return arguments_.wanted(index_of(arg)); }
  bool writes_any() const {
    return arguments_.wanted(roles_.y) || wants(Arg::kY2) || wants(Arg::kXSum) || wants(Arg::kXHat);
  }
  RowTile tile_of(std::int64_t block) const {
    return {nullptr, space_.tiles + block * space_.tile_numbers, space_.tile_numbers};
  }

  // ---- statistics ----
  Columns block_of(std::int64_t block) const {
    return {block * kMomentColumns, std::min(split_.columns, (block + 1) * kMomentColumns)};
  }
  // Of rows that one tile has room for.
  void near_moments(const Kernels& k, const Rows& rows, const RowTile& tile,
                    GroupMoments& to) const {
    arguments_.each_tile(rows, tile, [&](const Rows& some, std::int64_t, std::int64_t) {
      k.moments(recipe_.about, some, to);
    });
  }
  Moments block_moments(const Kernels& k, const Rows& row, std::int64_t block,
                        const RowTile& tile) const {
    GroupMoments one;
    near_moments(k, arguments_.part_of(row, 0, 1, block_of(block)), tile, one);
    return one.of(0);
  }
  // block(b): the moments of a block.
  template <class Block>
  Moments fold(Block&& block) const {
    RowMoments row;
    for (std::int64_t b = 0; b * kMomentColumns < split_.columns; ++b) {
      row.add(block(b), static_cast<double>(block_of(b).count()));
    }
    return row.finish();
  }
  void moments(const Kernels& k, const Rows& rows, const RowTile& tile, GroupMoments& to) const {
    if (split_.columns <= kMomentColumns) return near_moments(k, rows, tile, to);
    for (std::int64_t r = 0; r < rows.rows; ++r) {
      const Rows row = arguments_.one_of(rows, r);
      to.set(r, fold([&](std::int64_t block) { return block_moments(k, row, block, tile); }));
    }
  }
  void finish(const GroupMoments& moments, std::int64_t rows, GroupScales& scales) const {
    recipe_.finish(moments, rows, share_, plan_.eps, scales);
  }
  // If var + eps is not within 2^-100 and 2^120, f32 may have lost squares, or, if it is not finite, sums.
  static bool f32_has(double r) { return (r >= 0x1p-60) & (r <= 0x1p50); }
  // Whether exact kernels must do a row. In fast arithmetic its moments are taken again.
  bool is_exact(std::int64_t row, GroupScales& scales, std::int64_t r, const RowTile& tile) const {
    if (kernels_.exact) return true;
    if (f32_has(scales.r[r])) return false;
    GroupMoments moments_of_one;
    GroupScales scale_of_one;
    moments(exact_, rows_at(row, 1), tile, moments_of_one);
    finish(moments_of_one, 1, scale_of_one);
    scales.set(r, scale_of_one.of(0));
    return true;
  }
  void store_statistics(std::int64_t row, std::int64_t count, const GroupScales& scales) const {
    arguments_.write_numbers(roles_.mean, row, count, scales.mean);
    arguments_.write_numbers(roles_.rstd, row, count, scales.r);
    if (!wants(Arg::kSigma)) return;
    double sigmas[kGroup];
    for (std::int64_t r = 0; r < count; ++r) sigmas[r] = 1 / scales.r[r];
    arguments_.write_numbers(index_of(Arg::kSigma), row, count, sigmas);
  }

  // ---- y ----
  // Of columns from `column` on; scales: from `first` on.
  void normalize(const Kernels& k, const Rows& rows, const GroupScales& scales, std::int64_t first,
                 std::int64_t column) const {
    k.normalize(rows, space_.w + column, space_.b == nullptr ? nullptr : space_.b + column, scales,
                first);
  }
  void emit(const Kernels& k, Rows& rows, const GroupScales& scales, std::int64_t first,
            std::int64_t column, const RowTile& tile, bool in_tile = false) const {
    if (!writes_) return;
    if (arguments_.packed()) return emit_packed(k, rows, scales, first, tile, in_tile);
    rows.past_cache = streams_ && k.fills_lines && kernels::begin_lines(rows);
    if (!streams_ || rows.past_cache) return normalize(k, rows, scales, first, column);
    for (std::int64_t begin = 0; begin < rows.columns; begin += kRange) {
      const Columns part{begin, std::min(rows.columns, begin + kRange)};
      arguments_.emit_by_tile(k, arguments_.part_of(rows, 0, rows.rows, part),
                              [&](const Rows& some, std::int64_t first_of_tile) {
                                normalize(k, some, scales, first + first_of_tile, column + begin);
                              });
    }
  }

  // All outputs of the size of x, one after the other from the numbers of a tile.
  void emit_packed(const Kernels& k, const Rows& rows, const GroupScales& scales,
                   std::int64_t first, const RowTile& tile, bool in_tile) const {
    using Onto = RowArguments::Onto;
    arguments_.each_tile(
        rows, tile,
        [&](const Rows& some, std::int64_t, std::int64_t) {
          const Columns columns = arguments_.columns_of(some);
          const auto write = [&](Arg arg) {
            if (!wants(arg)) return;
            arguments_.each_out(some, [&](std::int64_t row, void* numbers) {
              arguments_.scatter(arg, row, columns, 1, numbers);
            });
          };
          const auto modulate = [&](Arg arg, Onto onto) {
            if (!wants(arg)) return;
            arguments_.each_out(some, [&](std::int64_t row, void* numbers) {
              arguments_.gather(arg, row, columns, onto, 1, numbers);
            });
          };
          write(Arg::kXSum);
          if (!wants(Arg::kXHat)) {
            normalize(k, some, scales, first, some.column);
          } else {
            k.normalize(some, space_.ones, space_.zeros, scales, first);
            write(Arg::kXHat);
            normalize(k, some, kNoScales, 0, some.column);
          }
          modulate(Arg::kScale, Onto::kScale);
          modulate(Arg::kShift, Onto::kAdd);
          write(Arg::kY);
          write(Arg::kY2);
        },
        in_tile);
  }

  // Each by the kernels that it asks for.
  [[gnu::noinline]] void emit_each(std::int64_t row, const Rows& rows, GroupScales& scales,
                                   const RowTile& tile) const {
    for (std::int64_t r = 0; r < rows.rows; ++r) {
      Rows one = arguments_.one_of(rows, r);
      emit(is_exact(row + r, scales, r, tile) ? exact_ : kernels_, one, scales, r, 0, tile);
    }
  }

  void run_rows(std::int64_t begin, std::int64_t end, const RowTile& tile) const {
    const std::int64_t fit = std::max<std::int64_t>(kNearBytes / 2 / arguments_.row_bytes(), 1);
    const std::int64_t together = arguments_.packed() ? space_.tile_rows
                                  : fit >= kGroup     ? kGroup
                                  : fit >= 8          ? 8
                                  : fit >= 4          ? 4
                                                      : fit;
    const bool fetches = !arguments_.packed() && arguments_.row_bytes() >= kFarRowBytes &&
                         kernels::is_far_away(bytes_) &&
                         4 * arguments_.row_bytes() <= kernels::second_level_cache_bytes();
    for (std::int64_t row = begin, count; row < end; row += count) {
      count = arguments_.even_rows(row, std::min(together, end - row));
      Rows rows = rows_at(row, count);
      GroupMoments of;
      GroupScales scales;
      moments(kernels_, rows, tile, of);
      finish(of, count, scales);
      // While these are mapped: the next moments then find them near.
      if (fetches && row + 2 * count <= end && arguments_.even_rows(row, 2 * count) == 2 * count) {
        rows.x_ahead = count * rows.x_stride;
      }
      bool fast = !kernels_.exact;
      for (std::int64_t r = 0; r < count; ++r) fast &= f32_has(scales.r[r]);
      if (fast) {
        emit(kernels_, rows, scales, 0, 0, tile, split_.columns <= kMomentColumns);
      } else {
        emit_each(row, rows, scales, tile);
      }
      store_statistics(row, count, scales);
    }
    if (streams_) kernels::stream_fence();
  }

  // Threads share each row: its blocks of columns.
  void run_shared() const {
    const std::int64_t blocks = ceil_div(split_.columns, kMomentColumns);
    for (std::int64_t row = 0; row < split_.rows; ++row) {
      const Rows rows = rows_at(row, 1);
      kernels::parallel_for(blocks, split_.columns, [&](std::int64_t block) {
        space_.blocks[block] = block_moments(kernels_, rows, block, tile_of(block));
      });
      GroupMoments of;
      of.set(0, fold([&](std::int64_t block) { return space_.blocks[block]; }));
      GroupScales scale;
      finish(of, 1, scale);
      const Kernels& k = is_exact(row, scale, 0, tile_of(0)) ? exact_ : kernels_;
      kernels::parallel_for(writes_ ? blocks : 0, split_.columns, [&](std::int64_t block) {
        const Columns columns = block_of(block);
        Rows some = arguments_.part_of(rows, 0, 1, columns);
        emit(k, some, scale, 0, columns.begin, tile_of(block));
        if (streams_) kernels::stream_fence();
      });
      store_statistics(row, 1, scale);
    }
  }

  const PlanBody& plan_;
  const RowForwardRoles& roles_;
  const RowForwardRecipe& recipe_;
  const RowSplit& split_;
  const RowArguments arguments_;
  const Space space_;
  const Kernels &kernels_, &exact_;
  const bool writes_;
  const double share_;  // of a row that an element is
  const std::int64_t bytes_;
  const bool streams_;
};

// Rows whose statistics are wanted though they have no elements.
std::int64_t rows_of_nothing(const PlanBody& plan, const RowForwardRoles& roles) {
  for (const int role : {roles.mean, roles.rstd, index_of(Arg::kSigma)}) {
    if (role == kAbsent || !plan.argument[role].tensor.present()) continue;
    const Tensor& tensor = plan.argument[role].tensor;  // that fits into memory
    std::int64_t rows = 1;
    for (int d = 0; d < tensor.rank; ++d) rows *= tensor.shape[d];
    return rows;
  }
  return 0;
}

void store_statistics_of_nothing(const PlanBody& plan, const RowForwardRoles& roles,
                                 void* const* data) {
  const RowArguments arguments(plan, data);
  constexpr double kMean = 0, kRstd = std::numeric_limits<double>::quiet_NaN();
  for (std::int64_t row = 0; row < plan.row.rows; ++row) {
    arguments.write_numbers(roles.mean, row, 1, &kMean);
    arguments.write_numbers(roles.rstd, row, 1, &kRstd);
    arguments.write_numbers(index_of(Arg::kSigma), row, 1, &kRstd);
  }
}

}  // namespace

Status plan_row_forward(PlanBody& plan, const RowForwardRoles& roles) {
  split_rows(plan);
  RowSplit& split = plan.row;
  if (split.columns == 0) {
    split.rows = rows_of_nothing(plan, roles);
    if (split.rows == 0) return Status::kOk;
    split.rank = collapse(plan.tensor(plan.op->data).rank - plan.row_axes, split.extents,
                          split.strides, kArgs);
    return Status::kOk;
  }
  if (split.rows == 0) return Status::kOk;
  const Checked bytes = Space(plan, roles).cut.bytes();
  if (!bytes.ok()) {
    return fail(Status::kBadShape, "%lld columns are more than memory can hold the parameters of",
                static_cast<long long>(split.columns));
  }
  plan.workspace_bytes = static_cast<std::size_t>(bytes.value());
  return Status::kOk;
}

void run_row_forward(const PlanBody& plan, const RowForwardRoles& roles,
                     const RowForwardRecipe& recipe, void* const* data, std::byte* workspace) {
  if (plan.row.columns == 0) return store_statistics_of_nothing(plan, roles, data);
  if (plan.row.rows == 0) return;
  RowForward(plan, roles, recipe, data, workspace).run();
}

}  // namespace normgrad
