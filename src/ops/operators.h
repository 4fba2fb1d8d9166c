// The table of operators: what each takes and gives, and who computes it. A row stands in its family's file.
#ifndef NORMGRAD_OPS_OPERATORS_H
#define NORMGRAD_OPS_OPERATORS_H

#include <span>

#include "ops/plan.h"

namespace normgrad {

enum class Direction : std::uint8_t { kIn, kOut, kOutInTraining };

enum class Shape : std::uint8_t {
  kWhole,    // that of the operator's data
  kColumns,  // that of a row, of row norms
  kRows,     // one number per row: the leading dims, or those and ones
  kSpread,  // that of a row, of all rows, or of the rows that have all leading dims but the last: (..., 1, row), (..., row)
  kSegments,   // these rows alone
  kChannels,   // (C)
  kGroups,     // (N, groups)
  kDevices,    // (W, C)
  kPerDevice,  // (W)
  kAny,
};

enum class Types : std::uint8_t {
  kElements,   // f16, bf16 or f32, all of one type
  kParameter,  // f16, bf16 or f32
  kNumber,     // or f64
  kCount,      // or i32
};

enum class Presence : std::uint8_t { kOptional, kRequired };

struct Rule {
  Arg arg;
  Direction direction;
  Shape shape;
  Types types;
  Presence presence = Presence::kOptional;
};

// What a problem is split into.
enum class Walk : std::uint8_t { kRows, kChannels, kDevices };

struct Operator {
  const char* name;
  Walk walk;
  Arg data;  // whose shape and type the others are held to
  std::span<const Rule> rules;
  // Which arguments go together, beyond presence; null: all do.
  Status (*check)(const Problem& problem) = nullptr;
  // The split and the workspace, when all checks have passed.
  Status (*prepare)(PlanBody& body) = nullptr;
  // Null: not run without an exchange.
  void (*execute)(const PlanBody& body, void* const* data, std::byte* workspace) = nullptr;
};

extern const Operator kLayerNorm, kLayerNormBackward;                           // layer_norm.cc
extern const Operator kGroupNorm, kGroupNormBackward;                           // group_norm.cc
extern const Operator kAdaLayerNormBackward;                                    // ada_layer_norm.cc
extern const Operator kRmsNorm, kRmsNormBackward;                               // rms_norm.cc
extern const Operator kBatchNorm, kBatchNormBackward, kBatchNormElemtBackward;  // batch_norm.cc
extern const Operator kBatchNormGatherStats, kBatchNormGatherSums;              // gather_stats.cc
extern const Operator kSyncBatchNorm, kSyncBatchNormBackward;  // sync_batch_norm.cc

const Operator& operator_of(Op op);
const char* name_of(Arg arg);

}  // namespace normgrad

#endif
