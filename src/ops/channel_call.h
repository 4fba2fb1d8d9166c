// One call of a gradient of a channel norm: its tensors, workspace and kernels; and what belongs to channels rather than
// to elements, which is the same for both walks: parameters, maps, results.
#ifndef NORMGRAD_OPS_CHANNEL_CALL_H
#define NORMGRAD_OPS_CHANNEL_CALL_H

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "ops/channel_backward.h"
#include "ops/channel_tensor.h"
#include "ops/plan.h"
#include "ops/workspace.h"

namespace normgrad {

struct GradientSums {
  double dy, dy_xmu;
};

// By pixels: rows of as many pixels as fill whole steps, and how they are cut into blocks.
struct PixelRows {
  explicit PixelRows(const ChannelSplit& split);
  std::int64_t pixels = 1;  // that make one row
  std::int64_t columns, pitch, rows;
  std::int64_t part_columns;  // of a last row that is not whole; 0: there is none
  std::int64_t block_rows, blocks;
};

struct ChannelSpace {
  ChannelSpace(const PlanBody& plan, const ChannelRoles& roles, void* at = nullptr);
  Workspace cut;
  kernels::RowMap* maps = nullptr;  // all of these per channel
  double* r = nullptr;
  GradientSums* sums = nullptr;
  bool* exact = nullptr;       // whether exact kernels write dx
  float* columns = nullptr;    // pixels: of ChannelMaps
  double* partials = nullptr;  // planes: [channel][chunk][2]; pixels: [block][2][column]
};

class ChannelCall {
 public:
  ChannelCall(const PlanBody& plan, const ChannelRoles& roles, double count, void* const* data,
              std::byte* workspace);

  // Statistics of channels [begin, end), for their sums; where no sums are to come, or dx does not depend on them, the
  // maps of dx, too.
  void begin_maps(std::int64_t begin, std::int64_t end) const;
  // From sums that are computed: maps of dx in training, for which weights are read; then the results, which may lie in
  // place of the weights.
  void finish_maps(std::int64_t begin, std::int64_t end) const {
    if (wants_dx && plan_.training) set_maps(begin, end);
  }
  void store_sums(std::int64_t begin, std::int64_t end) const;
  // Whether f32 did not have the sums: exact kernels take them again.
  bool sums_are_bad(std::int64_t channel) const;
  void store_empty_sums() const;

  const ChannelSplit& split;
  const ChannelSpace space;
  const DataType dtype;
  const std::int64_t size;  // of an element
  const kernels::Kernels &fast, &exact;
  const std::int64_t elements;
  const bool wants_dx, wants_sums;
  // dx needs no sums, and writing it leaves them what they need.
  const bool dx_with_sums;
  const bool streams;  // dx goes past the cache
  const bool is_far;   // the data are not near, and are fetched
  const kernels::Form form;
  const ChannelTensor dy, x, dx;

 private:
  bool has(int role) const;
  bool computes_sums() const;
  void set_maps(std::int64_t begin, std::int64_t end) const;
  void numbers(int role, std::int64_t begin, std::int64_t end, double absent, double* to) const;
  void put(int role, std::int64_t begin, std::int64_t end, const double* from) const;

  const PlanBody& plan_;
  const ChannelRoles& roles_;
  void* const* data_;
  const double count_;
};

// The two walks.
void run_planes(const ChannelCall& call);
void run_pixels(const ChannelCall& call);

}  // namespace normgrad

#endif
