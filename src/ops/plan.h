// What is behind a Plan: a checked problem as the loops want it.
#ifndef NORMGRAD_OPS_PLAN_H
#define NORMGRAD_OPS_PLAN_H

#include <cstddef>
#include <cstdint>
#include <memory>

#include "normgrad/plan.h"
#include "runtime/layout.h"

namespace normgrad {

struct Operator;

// Arguments are found by their name alone. A number stands for one where a table may have none, -1.
constexpr int index_of(Arg arg) { return static_cast<int>(arg); }

// Row norms: rows x columns. Leading dims, walked together, are collapsed to as few as possible, and so are those of a row.
struct RowSplit {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  int rank = 0;  // of the collapsed leading dims
  std::int64_t extents[kMaxRank] = {};
  std::int64_t strides[kArgs][kMaxRank] = {};  // only those that have rows
  std::int64_t block_rows = 0;                 // the column sums' blocks (docs/architecture.md)
  std::int64_t blocks = 0;
  // Whether rows go by way of tiles: of more than one type or tensor, or columns do not lie side by side.
  bool packed = false;
  int column_rank = 0;
  std::int64_t column_extents[kMaxRank] = {};
  std::int64_t column_strides[kArgs][kMaxRank] = {};
};

// Channel norms: n (dim 0) x channel x l (all other dims, collapsed to as few as possible).
struct ChannelSplit {
  std::int64_t n = 0;
  std::int64_t channels = 0;
  std::int64_t l = 0;
  int rank = 0;  // of the collapsed l dims
  std::int64_t extents[kMaxRank] = {};
  std::int64_t strides[kArgs][kMaxRank] = {};  // of the l dims; only for arguments with all dims
  std::int64_t n_strides[kArgs] = {};
  std::int64_t channel_strides[kArgs] = {};
  std::int64_t chunk_n = 0;  // a chunk of the reduction: chunk_n x chunk_l elements
  std::int64_t chunk_l = 0;
  std::int64_t n_chunks = 0;
  std::int64_t l_chunks = 0;
  bool by_pixels = false;  // x has its channels side by side
};

struct PlanBody {
  const Operator* op = nullptr;
  Argument argument[kArgs];
  std::size_t workspace_bytes = 0;
  RowSplit row;
  ChannelSplit channel;
  int channel_axis = 1;
  int row_axes = 1;
  std::int64_t groups = 1;
  double eps = 0;
  double momentum = 0;
  double alpha = 1;
  bool training = true;
  Arithmetic arithmetic = Arithmetic::kFast;
  std::shared_ptr<const PlanBody> parts[2];  // what an operator is made of, if it is made of others

  Argument& operator[](Arg arg) { return argument[index_of(arg)]; }
  const Argument& operator[](Arg arg) const { return argument[index_of(arg)]; }
  const Tensor& tensor(Arg arg) const { return argument[index_of(arg)].tensor; }
};

// Checks the problem (ops/check.cc), splits it, and measures its workspace.
Status make_body(const Problem& problem, PlanBody& body);
Status check_run(const PlanBody& body, void* const* data, void* workspace,
                 std::size_t workspace_bytes);

// Addresses as the loops want them. Only outputs are written.
inline void* const* data_of(const Addresses& addresses) {
  return const_cast<void* const*>(addresses.at);
}

}  // namespace normgrad

// Leaves the function with a status that is not kOk.
#define NORMGRAD_TRY(expression)                             \
  if (const ::normgrad::Status status_of_try = (expression); \
      status_of_try != ::normgrad::Status::kOk)              \
  return status_of_try

#endif
