// problem -> plan -> run. A plan is a checked problem with its split into blocks and its workspace
// size; it holds no address and is only read by run(), so any number of threads may run one plan at
// once.
#ifndef NORMGRAD_PLAN_H
#define NORMGRAD_PLAN_H

#include <cstddef>
#include <cstdint>

#include "normgrad/export.h"
#include "normgrad/settings.h"
#include "normgrad/status.h"
#include "normgrad/tensor.h"

namespace normgrad {

// Bytes from the address of element (0, ..., 0) that a tensor touches: [begin, end).
struct ByteRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct Argument {
  Tensor tensor;
  ByteRange range;
  bool is_output = false;
};

inline constexpr int kMaxArguments = 12;

// Row norms: rows x columns. Leading dims, walked together, are collapsed to as few as possible.
struct RowSplit {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  int rank = 0;  // of the collapsed leading dims
  std::int64_t extents[kMaxRank] = {};
  std::int64_t strides[kMaxArguments][kMaxRank] = {};  // per argument; only those that have rows
  std::int64_t block_rows = 0;  // the column sums' blocks (docs/architecture.md)
  std::int64_t blocks = 0;
};

// Channel norms: n (dim 0) x channel x l (all other dims, collapsed to as few as possible).
struct ChannelSplit {
  std::int64_t n = 0;
  std::int64_t channels = 0;
  std::int64_t l = 0;
  int rank = 0;  // of the collapsed l dims
  std::int64_t extents[kMaxRank] = {};
  std::int64_t strides[kMaxArguments][kMaxRank] =
      {};  // of the l dims; only for arguments with all dims
  std::int64_t n_strides[kMaxArguments] = {};
  std::int64_t channel_strides[kMaxArguments] = {};
  std::int64_t chunk_n = 0;  // a chunk of the reduction: chunk_n x chunk_l elements
  std::int64_t chunk_l = 0;
  std::int64_t n_chunks = 0;
  std::int64_t l_chunks = 0;
  bool across_channels = false;  // walked from channel to channel, not from l to l
  bool by_pixels = false;        // backward: x has its channels side by side
};

struct Plan {
  const char* op = nullptr;  // null: not a plan
  int arguments = 0;
  Argument argument[kMaxArguments];
  std::size_t workspace_bytes = 0;  // no alignment is asked of the workspace
  RowSplit row;
  ChannelSplit channel;
  double eps = 0;
  double momentum = 0;
  bool training = true;
  Arithmetic arithmetic = Arithmetic::kFast;  // of the backward operators
  void (*execute)(const Plan&, void* const* data, std::byte* workspace) = nullptr;
};

// Checks the pointers (null, overlapping, outside the device memory they point into), then
// computes. On failure nothing has been written. data[i] belongs to argument i of the operator's
// header; it is ignored where the tensor is absent and may be null where it is empty. No
// allocation; no lock unless data lies in device memory.
NORMGRAD_API Status run(const Plan& plan, void* const* data, void* workspace,
                        std::size_t workspace_bytes);

// The checks of run() alone, for callers that run later.
NORMGRAD_API Status check_run(const Plan& plan, void* const* data, void* workspace,
                              std::size_t workspace_bytes);

}  // namespace normgrad

#endif
