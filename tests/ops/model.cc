#include "ops/model.h"

namespace ops_test {

Outputs run_model(const Problem& problem, normgrad::Arithmetic arithmetic) {
  const bool wide = problem.data_format() == Format::kF32;
  switch (problem.op) {
    case Op::kLayerNorm:
    case Op::kRmsNorm:
      return row_norm_model(problem, arithmetic);
    case Op::kBatchNorm:
    case Op::kBatchNormSums:
    case Op::kElemtBackward:
      return batch_norm_model(problem, arithmetic);
    case Op::kForward:
      return wide ? forward_model<double>(problem) : forward_model<float>(problem);
    case Op::kLayerNormForward:
    case Op::kRmsNormForward:
      return row_forward_model(problem, arithmetic);
    case Op::kGatherStats:
      return gather_stats_model(problem);
  }
  return {};
}

}  // namespace ops_test
