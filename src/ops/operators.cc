#include "ops/operators.h"

#include <iterator>

namespace normgrad {

const Operator& operator_of(Op op) {
  switch (op) {
    case Op::kLayerNorm:
      return kLayerNorm;
    case Op::kLayerNormBackward:
      return kLayerNormBackward;
    case Op::kRmsNorm:
      return kRmsNorm;
    case Op::kRmsNormBackward:
      return kRmsNormBackward;
    case Op::kBatchNorm:
      return kBatchNorm;
    case Op::kBatchNormBackward:
      return kBatchNormBackward;
    case Op::kBatchNormElemtBackward:
      return kBatchNormElemtBackward;
    case Op::kBatchNormGatherStats:
      return kBatchNormGatherStats;
    case Op::kSyncBatchNorm:
      return kSyncBatchNorm;
    case Op::kSyncBatchNormBackward:
      return kSyncBatchNormBackward;
    case Op::kBatchNormGatherSums:
      return kBatchNormGatherSums;
    case Op::kAdaLayerNormBackward:
      return kAdaLayerNormBackward;
    case Op::kGroupNorm:
      return kGroupNorm;
    case Op::kGroupNormBackward:
      break;
  }
  return kGroupNormBackward;
}

const char* name_of(Arg arg) {
  constexpr const char* kNames[] = {"y",           "dx",         "dw",      "db",
                                    "sum_dy",      "sum_dy_xmu", "dy",      "x",
                                    "x_hat",       "w",          "b",       "mean",
                                    "sigma",       "rstd",       "var",     "running_mean",
                                    "running_var", "sum",        "squares", "mean_rest",
                                    "mean_all",    "rstd_all",   "counts",  "x2",
                                    "x_bias",      "x_sum",      "y2",      "scale",
                                    "shift",       "dsum",       "dx2",     "sum_of_squares",
                                    "dscale",      "dshift"};
  static_assert(std::size(kNames) == kArgs);
  return arg == Arg::kNone ? "nothing" : kNames[index_of(arg)];
}

}  // namespace normgrad
