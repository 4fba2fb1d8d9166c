#include "ops/channel_call.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "kernels/cache.h"
#include "runtime/failure.h"

namespace normgrad {
namespace {

using kernels::Form;
using kernels::kChain;

// Blocks of rows of pixels: how many elements each has at least and rows at most, and how many there are if that lets them.
constexpr std::int64_t kLeastBlockElements = 32768, kMostBlockRows = 32768, kBlocks = 64;

}  // namespace

PixelRows::PixelRows(const ChannelSplit& split) {
  const std::int64_t channels = split.channels, all = split.n * split.l;
  const std::int64_t whole_steps = 32 / std::gcd(channels, std::int64_t{32});
  if (channels <= 2048 / whole_steps && all >= 8 * whole_steps) {
    pixels = whole_steps;
    while (channels * pixels * 2 <= 512 && all >= 2 * pixels * 64) pixels *= 2;
  }
  columns = channels * pixels;
  pitch = kernels::padded(columns);
  rows = all / pixels;
  part_pixels = all % pixels;
  // A power of two: two or four threads have equal shares.
  const auto fit = static_cast<std::uint64_t>(rows * columns / kLeastBlockElements);
  const auto most =
      std::clamp(static_cast<std::int64_t>(std::bit_floor(fit)), std::int64_t{1}, kBlocks);
  block_rows = std::clamp(ceil_div(ceil_div(rows, most), kChain) * kChain, kChain, kMostBlockRows);
  blocks = std::max<std::int64_t>(1, ceil_div(rows, block_rows));
}

ChannelSpace::ChannelSpace(const ChannelSplit& split, bool computes_sums, void* at) : cut(at) {
  if (split.l == 0 || split.n == 0) return;
  maps = cut.take<kernels::RowMap>(split.channels);
  r = cut.take<double>(split.channels);
  sums = cut.take<ChannelSums>(split.channels);
  exact = cut.take<bool>(split.channels);
  if (!split.by_pixels) {
    columns = cut.take<float>(Checked(kernels::kChannelMapRows) * kernels::padded(split.channels));
    const Checked chunks = Checked(split.n_chunks) * split.l_chunks;
    if (computes_sums) partials = cut.take<double>(chunks * split.channels * 2);
    return;
  }
  const PixelRows rows(split);
  columns = cut.take<float>(Checked(kernels::kChannelMapRows) * rows.pitch);
  const std::int64_t slots = rows.blocks + (rows.part_pixels > 0 ? 1 : 0);
  if (computes_sums) partials = cut.take<double>(Checked(slots) * 2 * rows.pitch);
}

Status reserve_channel_space(PlanBody& plan, bool computes_sums) {
  const Checked bytes = ChannelSpace(plan.channel, computes_sums).cut.bytes();
  if (!bytes.ok()) {
    return fail(Status::kBadShape, "%lld channels are more than memory can hold the sums of",
                static_cast<long long>(plan.channel.channels));
  }
  plan.workspace_bytes = static_cast<std::size_t>(bytes.value());
  return Status::kOk;
}

ChannelCall::ChannelCall(const PlanBody& plan_body, const Work& work, void* const* data,
                         std::byte* workspace)
    : plan(plan_body),
      split(plan.channel),
      parameters(plan, data),
      space(split, work.computes_sums, workspace),
      dtype(plan.argument[work.x].tensor.dtype),
      size(size_of(dtype)),
      fast(kernels::kernels_for(dtype, plan.arithmetic)),
      exact(kernels::kernels_for(dtype, Arithmetic::kExact)),
      elements(split.l * split.n * split.channels),  // of nothing 0 at every step
      form(work.form),
      reads_g(form != Form::kX),
      wants_out(plan.argument[work.out].tensor.present()),
      wants_sums(work.wants_sums),
      unit(work.unit),
      in_place(data[work.out] == data[work.g] || data[work.out] == data[work.x]),
      out_with_sums(wants_out && wants_sums && form == Form::kG && !in_place),
      bytes_read((reads_g ? 2 : 1) * elements * size),
      streams(wants_out && !in_place && kernels::is_worth_streaming(bytes_read + elements * size)),
      is_far(kernels::is_far_away(bytes_read / 4)),
      g(split, work.g, data[work.g], size),
      x(split, work.x, data[work.x], size),
      out(split, work.out, data[work.out], size) {}

void ChannelCall::run() const {
  if (split.channels == 0) return;
  if (split.n == 0 || split.l == 0) return finish_empty();
  split.by_pixels ? run_pixels(*this) : run_planes(*this);
}

}  // namespace normgrad
