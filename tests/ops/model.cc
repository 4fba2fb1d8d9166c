#include "ops/model.h"

#include "ops/fused.h"

namespace ops_test {

Outputs run_model(const Problem& problem, normgrad::Arithmetic arithmetic) {
  if (is_packed(problem)) return fused_model(problem, arithmetic);
  switch (problem.op) {
    case Op::kLayerNorm:
    case Op::kRmsNorm:
      return row_norm_model(problem, arithmetic);
    case Op::kBatchNorm:
    case Op::kBatchNormSums:
    case Op::kElemtBackward:
      return batch_norm_model(problem, arithmetic);
    case Op::kForward:
      return forward_model(problem, arithmetic);
    case Op::kLayerNormForward:
    case Op::kRmsNormForward:
      return row_forward_model(problem, arithmetic);
    case Op::kGatherStats:
      return gather_stats_model(problem);
  }
  return {};
}

}  // namespace ops_test
