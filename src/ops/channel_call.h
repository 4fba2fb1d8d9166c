// One call of a channel norm: its tensors, workspace and kernels. The walks, which are the same for gradients and forward
// passes, ask it for what belongs to channels rather than to elements: maps and results.
#ifndef NORMGRAD_OPS_CHANNEL_CALL_H
#define NORMGRAD_OPS_CHANNEL_CALL_H

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "ops/channel_tensor.h"
#include "ops/parameters.h"
#include "ops/plan.h"
#include "ops/workspace.h"

namespace normgrad {

// Of gradients sum(dy) and sum(dy*(x - mean)); of forward passes the moments: sum(x) and sum((x - mean)^2).
struct ChannelSums {
  double first, second;
};

// By pixels: rows of as many pixels as fill whole steps, and how they are cut into blocks.
struct PixelRows {
  explicit PixelRows(const ChannelSplit& split);
  std::int64_t pixels = 1;  // that make one row
  std::int64_t columns, pitch, rows;
  std::int64_t part_pixels;  // of a last row that is not whole; 0: there is none
  std::int64_t block_rows, blocks;
};

struct ChannelSpace {
  ChannelSpace(const ChannelSplit& split, bool computes_sums, void* at = nullptr);
  Workspace cut;
  kernels::RowMap* maps = nullptr;  // all of these per channel
  double* r = nullptr;
  ChannelSums* sums = nullptr;
  bool* exact = nullptr;     // whether exact kernels write the output
  float* columns = nullptr;  // pixels: of ChannelMaps
  // Planes: [channel][chunk][2]; pixels: [block][2][column], and once more for part_pixels.
  double* partials = nullptr;
};
Status reserve_channel_space(PlanBody& plan, bool computes_sums);

class ChannelCall {
 public:
  // What a call does, by arguments. g: that of x if only x is read.
  struct Work {
    kernels::Form form;
    int g, x, out;
    bool computes_sums;  // if asked to
    bool wants_sums;
    std::int64_t unit = 1;  // channels whose maps need the sums of all of them
  };
  ChannelCall(const PlanBody& plan, const Work& work, void* const* data, std::byte* workspace);
  ChannelCall(const ChannelCall&) = delete;

  void run() const;

  // Before the sums of channels [begin, end): what they need. Where the output needs no sums, its maps, too.
  virtual void begin(std::int64_t begin, std::int64_t end) const = 0;
  // From sums that are computed: maps that need them; at the end the results, which may lie in place of parameters and of x.
  virtual void set_maps(std::int64_t begin, std::int64_t end) const = 0;
  virtual void store_results(std::int64_t begin, std::int64_t end) const = 0;
  // Whether f32 did not have the sums: exact kernels take them again.
  virtual bool sums_are_bad(std::int64_t channel) const = 0;
  // The results of no elements.
  virtual void finish_empty() const = 0;

  const PlanBody& plan;
  const ChannelSplit& split;
  const Parameters parameters;
  const ChannelSpace space;
  const DataType dtype;
  const std::int64_t size;  // of an element
  const kernels::Kernels &fast, &exact;
  const std::int64_t elements;
  const kernels::Form form;
  const bool reads_g;  // and not x alone
  const bool wants_out, wants_sums;
  const std::int64_t unit;  // [begin, end) below are whole ones
  const bool in_place;
  // The output needs no sums, and writing it leaves them what they need.
  const bool out_with_sums;
  const std::int64_t bytes_read;
  const bool streams;  // the output goes past the cache
  const bool
      is_far;  // the data are not near, and are fetched: the walks are ones that a processor foresees, so only beyond the cache
  const ChannelTensor g, x, out;

 protected:
  ~ChannelCall() = default;
};

// Channels whose parameters are brought together at once.
inline constexpr std::int64_t kChannelBatch = 64;
using ChannelBatch = double[kChannelBatch];
template <class Body>
void each_batch(std::int64_t begin, std::int64_t end, Body&& body) {
  for (; begin < end; begin += kChannelBatch) {
    body(begin, begin + kChannelBatch < end ? begin + kChannelBatch : end);
  }
}

// The two walks.
void run_planes(const ChannelCall& call);
void run_pixels(const ChannelCall& call);

}  // namespace normgrad

#endif
