// The statistics of a batch that is spread over several devices, from those of its parts
// (docs/sync_batch_norm.md).
#ifndef NORMGRAD_BATCH_NORM_GATHER_STATS_H
#define NORMGRAD_BATCH_NORM_GATHER_STATS_H

#include "normgrad/plan.h"

namespace normgrad {

// W devices, C channels; every tensor f16, bf16, f32 or f64, any strides.
//   N = sum(counts); mean_all = sum(counts*mean)/N
//   S = sum(counts*(1/rstd^2 - eps + (mean - mean_all)^2)); rstd_all = 1/sqrt(S/N + eps)
// running_mean and running_var, where present, are updated in place:
//   running := (1 - momentum)*running + momentum*(mean_all, S/(N - 1)).
// W = 0: mean_all is 0, rstd_all NaN, and nothing is updated.
struct BatchNormGatherStats {
  Tensor mean_all, rstd_all;         // out, (C)
  Tensor running_mean, running_var;  // in and out, (C); absent: not wanted
  Tensor mean, rstd;                 // (W, C)
  Tensor counts;                     // (W): the elements per channel of each device
  double eps = 0;
  double momentum = 0;

  NORMGRAD_COMPARABLE(BatchNormGatherStats)
};

struct BatchNormGatherStatsData {
  void *mean_all = nullptr, *rstd_all = nullptr, *running_mean = nullptr, *running_var = nullptr;
  const void *mean = nullptr, *rstd = nullptr, *counts = nullptr;
};

NORMGRAD_API Status make_plan(const BatchNormGatherStats& problem, Plan* plan);
NORMGRAD_API Status run(const Plan& plan, const BatchNormGatherStatsData& data, void* workspace,
                        std::size_t workspace_bytes);

}  // namespace normgrad

#endif
