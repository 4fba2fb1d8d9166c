#include "ops/operators.h"

#include <algorithm>

#include "normgrad/batch_norm.h"
#include "normgrad/batch_norm_backward.h"
#include "normgrad/batch_norm_elemt_backward.h"
#include "normgrad/batch_norm_gather_stats.h"
#include "normgrad/layer_norm.h"
#include "normgrad/layer_norm_backward.h"
#include "normgrad/rms_norm.h"
#include "normgrad/rms_norm_backward.h"

namespace ops_test {
namespace {

using normgrad::Status;

normgrad::Tensor tensor(const Problem& problem, Slot slot) {
  using normgrad::DataType;
  constexpr DataType kTypes[] = {DataType::kNone, DataType::kF16, DataType::kBF16,
                                 DataType::kF32,  DataType::kF64, DataType::kI32};
  const TensorSpec& spec = problem.tensor[slot];
  normgrad::Tensor out;
  out.dtype = kTypes[static_cast<int>(spec.format)];
  out.rank = static_cast<int>(spec.shape.size());
  std::copy(spec.shape.begin(), spec.shape.end(), out.shape);
  std::copy(spec.strides.begin(), spec.strides.end(), out.strides);
  out.name = name(slot);
  return out;
}

// Of BatchNorm's forward: training puts the statistics out, else they are given.
Slot mean_of(const Problem& p) { return p.training ? kMeanOut : kMean; }
Slot rstd_of(const Problem& p) { return p.training ? kRstdOut : kRstd; }
Slot var_of(const Problem& p) { return p.training ? kVarOut : kVar; }

}  // namespace

Status make_plan(const Problem& p, normgrad::Plan* plan) {
  const auto t = [&](Slot slot) { return tensor(p, slot); };
  switch (p.op) {
    case Op::kLayerNorm:
      return normgrad::make_plan(
          normgrad::LayerNormBackward{t(kDx), t(kDw), t(kDb), t(kDy), t(kW), t(kXHat), t(kSigma),
                                      t(kX), t(kMean), t(kRstd)},
          plan);
    case Op::kRmsNorm:
      return normgrad::make_plan(
          normgrad::RmsNormBackward{t(kDx), t(kDw), t(kDy), t(kW), t(kX), t(kRstd)}, plan);
    case Op::kBatchNorm:
    case Op::kBatchNormSums:
      return normgrad::make_plan(
          normgrad::BatchNormBackward{t(kDx), t(kDw), t(kDb), t(kSumDy), t(kSumDyXmu), t(kDy),
                                      t(kX), t(kW), t(kMean), t(kRstd), t(kVar), p.eps, p.training,
                                      p.channel_axis},
          plan);
    case Op::kElemtBackward:
      return normgrad::make_plan(
          normgrad::BatchNormElemtBackward{t(kDx), t(kDy), t(kX), t(kW), t(kMean), t(kRstd),
                                           t(kSumDyGiven), t(kSumDyXmuGiven), t(kCounts),
                                           p.channel_axis},
          plan);
    case Op::kForward:
      return normgrad::make_plan(
          normgrad::BatchNorm{t(kY), t(mean_of(p)), t(rstd_of(p)), t(var_of(p)), t(kRunningMean),
                              t(kRunningVar), t(kX), t(kW), t(kB), p.eps, p.momentum, p.training,
                              p.channel_axis},
          plan);
    case Op::kLayerNormForward:
      return normgrad::make_plan(
          normgrad::LayerNorm{t(kY), t(kMeanOut), t(kRstdOut), t(kX), t(kW), t(kB), p.eps}, plan);
    case Op::kRmsNormForward:
      return normgrad::make_plan(normgrad::RmsNorm{t(kY), t(kRstdOut), t(kX), t(kW), p.eps}, plan);
    case Op::kGatherStats:
      break;
  }
  return normgrad::make_plan(
      normgrad::BatchNormGatherStats{t(kMeanOut), t(kRstdOut), t(kRunningMean), t(kRunningVar),
                                     t(kMean), t(kRstd), t(kCounts), p.eps, p.momentum},
      plan);
}

Status run(const Problem& problem, const normgrad::Plan& plan, const Pointers& p, void* workspace) {
  const auto go = [&](const auto& data) {
    return normgrad::run(plan, data, workspace, plan.workspace_bytes);
  };
  switch (problem.op) {
    case Op::kLayerNorm:
      return go(normgrad::LayerNormBackwardData{p[kDx], p[kDw], p[kDb], p[kDy], p[kW], p[kXHat],
                                                p[kSigma], p[kX], p[kMean], p[kRstd]});
    case Op::kRmsNorm:
      return go(normgrad::RmsNormBackwardData{p[kDx], p[kDw], p[kDy], p[kW], p[kX], p[kRstd]});
    case Op::kBatchNorm:
    case Op::kBatchNormSums:
      return go(normgrad::BatchNormBackwardData{p[kDx], p[kDw], p[kDb], p[kSumDy], p[kSumDyXmu],
                                                p[kDy], p[kX], p[kW], p[kMean], p[kRstd], p[kVar]});
    case Op::kElemtBackward:
      return go(normgrad::BatchNormElemtBackwardData{p[kDx], p[kDy], p[kX], p[kW], p[kMean],
                                                     p[kRstd], p[kSumDyGiven], p[kSumDyXmuGiven],
                                                     p[kCounts]});
    case Op::kForward:
      return go(normgrad::BatchNormData{p[kY], p[mean_of(problem)], p[rstd_of(problem)],
                                        p[var_of(problem)], p[kRunningMean], p[kRunningVar], p[kX],
                                        p[kW], p[kB]});
    case Op::kLayerNormForward:
      return go(
          normgrad::LayerNormData{p[kY], p[kMeanOut], p[kRstdOut], p[kX], p[kW], p[kB]});
    case Op::kRmsNormForward:
      return go(normgrad::RmsNormData{p[kY], p[kRstdOut], p[kX], p[kW]});
    case Op::kGatherStats:
      break;
  }
  return go(normgrad::BatchNormGatherStatsData{p[kMeanOut], p[kRstdOut], p[kRunningMean],
                                               p[kRunningVar], p[kMean], p[kRstd], p[kCounts]});
}

}  // namespace ops_test
