// What is to be computed: an operator, its tensors by name, a few numbers. One vocabulary for all operators.
#ifndef NORMGRAD_PROBLEM_H
#define NORMGRAD_PROBLEM_H

#include <cstdint>

#include "normgrad/tensor.h"

namespace normgrad {

// What each takes and gives. (C): one number per channel; [a]: a may be absent, an output that is not wanted, or what the
// brackets say. Formulas and derivations: docs/.
//
//   kLayerNorm              y, mean, rstd, sigma = 1/rstd, x_hat from x [w: 1] [b: 0], eps; each output optional
//                           x_hat = (x - mean)*rstd, y = x_hat*w + b, rstd = 1/sqrt(var + eps), var the biased variance. Rows
//                           without elements have mean 0, rstd and sigma NaN.
//                           [x2, x_bias: 0]: of x + alpha*x2 + x_bias, in f32 (exact: f64), which x_sum gets rounded, y not.
//                           [scale, shift: 0]: y*(1 + scale) + shift. [y2]: y again, of another type.
//   kLayerNormBackward      dx, dw, db from dy [w: 1] and either x_hat and sigma, the normalized input and sqrt(var + eps), or
//                           x [x2: 0, as above], mean and rstd; each output optional
//                           [scale: 0]: of dy*(1 + scale). [dsum: 0]: is added to dx. [dx2]: alpha*dx.
//   kAdaLayerNormBackward   dx, dw, db, dscale, dshift from dy, x, mean, rstd, scale [w: 1] [b: 0]; each output optional
//                           of z*(1 + scale) + shift with z = x_hat*w + b: dx, dw, db as above of dy*(1 + scale), and over the rows
//                           that share a scale (one index of the last leading dim each) dscale = sum(dy*z), dshift = sum(dy)
//   kRmsNorm                y, rstd from x [w: 1], eps; each output optional
//                           y = x*rstd*w, rstd = 1/sqrt(mean(x^2) + eps). [x2] [x_sum] [y2] [scale]: as for LayerNorm
//   kRmsNormBackward        dx, dw from dy, x [w: 1] [rstd: 1/sqrt(mean(x^2)), no eps]; each output optional
//                           [x2] [dsum]: as for LayerNorm
//   kBatchNorm              y from x [w: 1] [b: 0].
//                           training: mean, rstd = 1/sqrt(var + eps), var, the biased variance, are outputs where present; the
//                           running ones, where present, are updated in place:
//                             running := (1 - momentum)*running + momentum*new, with the unbiased variance (NaN for 1 element).
//                           sum, squares, sum_of_squares, where present: sum(x), sum((x - mean)^2), sum(x^2). An x without
//                           elements has sums and mean 0, rstd and var NaN, and updates nothing.
//                           Otherwise statistics are given: [mean: 0], and rstd, or var, to which eps is added, or neither:
//                           rstd is 1. mean_rest: what rounding left of the mean [0]. running_mean, running_var must be absent.
//   kBatchNormBackward      dx, dw, db and sum_dy = sum(dy), sum_dy_xmu = sum(dy*(x - mean)), what several devices add up before
//                           kBatchNormElemtBackward, from dy, x [w: 1] [mean: 0] and rstd, or var, to which eps is added, or
//                           neither: rstd is 1. Each output optional. training: the statistics are those of x, and the gradient
//                           goes through them; else they are constants. They are never recomputed from x.
//   kBatchNormElemtBackward dx from dy, x, sum_dy, sum_dy_xmu [w: 1] [mean: 0] [rstd: 1] and counts of any shape: the elements
//                           per channel of each device
//   kGroupNorm              y, mean, rstd, var from x [w: 1] [b: 0], eps, groups; each output optional
//                           as kLayerNorm for the elements of each sample and group of channels, w and b per channel. InstanceNorm:
//                           as many groups as channels. Without elements mean is 0, rstd and var NaN.
//   kGroupNormBackward      dx, dw, db from dy, x, mean, rstd [w: 1]; each output optional
//   kBatchNormGatherStats   W devices: mean_all, rstd_all (C) from mean, rstd (W, C), counts (W), eps:
//                             N = sum(counts); mean_all = sum(counts*mean)/N
//                             S = sum(counts*(1/rstd^2 - eps + (mean - mean_all)^2)); rstd_all = 1/sqrt(S/N + eps)
//                           [running_mean, running_var] are updated as above with mean_all, S/(N - 1) and momentum.
//                           W = 0: mean_all is 0, rstd_all NaN, and nothing is updated.
//   kBatchNormGatherSums    likewise from sum, sum_of_squares (W, C), W > 0, and counts, also i32:
//                             mean_all = sum(sum)/N, S/N = sum(sum_of_squares)/N - mean_all^2, which loses digits far from 0
//   kSyncBatchNorm, kSyncBatchNormBackward: normgrad/sync_batch_norm.h
//
// Row norms: a row is the last row_axes axes. Big tensors (y y2 dx dx2 dy dsum x x2 x_sum x_hat) of any rank from 1 to 8, one
// shape, any strides, each of f16, bf16, f32. w b dw db: the shape of a row, any strides, each of these types. mean rstd sigma:
// the leading dims (or these and ones), any strides, also f64. x_bias scale shift: the shape of a row, or of all rows, or of all
// but with the last leading dim 1 or missing. Fastest are rows whose elements lie side by side, of one type, and nothing fused.
// GroupNorm: samples are axis 0, channels axis 1; mean rstd var: (N, groups), any strides, also f64.
// Channel norms: big tensors of rank 2 to 8, any strides, else likewise; channels are axis channel_axis. All others: (C), any
// stride, f16, bf16, f32 or f64 each; counts also i32.
// An output may be exactly the same view as an input; otherwise none may overlap another argument, or itself.
enum class Op : std::uint8_t {
  kLayerNorm,
  kLayerNormBackward,
  kRmsNorm,
  kRmsNormBackward,
  kBatchNorm,
  kBatchNormBackward,
  kBatchNormElemtBackward,
  kBatchNormGatherStats,
  kSyncBatchNorm,
  kSyncBatchNormBackward,
  kBatchNormGatherSums,
  kAdaLayerNormBackward,
  kGroupNorm,
  kGroupNormBackward,
};
inline constexpr int kOps = 14;

enum class Arg : std::int8_t {
  kNone = -1,
  kY,
  kDx,
  kDw,
  kDb,
  kSumDy,
  kSumDyXmu,
  kDy,
  kX,
  kXHat,
  kW,
  kB,
  kMean,
  kSigma,
  kRstd,
  kVar,
  kRunningMean,
  kRunningVar,
  kSum,
  kSquares,
  kMeanRest,
  kMeanAll,
  kRstdAll,
  kCounts,
  kX2,
  kXBias,
  kXSum,
  kY2,
  kScale,
  kShift,
  kDsum,
  kDx2,
  kSumOfSquares,
  kDscale,
  kDshift,
};
inline constexpr int kArgs = 34;

struct Problem {
  Op op = Op::kLayerNorm;
  bool training = true;
  int channel_axis = 1;
  int row_axes = 1;         // how many of the last axes make a row
  std::int64_t groups = 1;  // that the channels are divided into
  double eps = 0;
  double momentum = 0;
  double alpha = 1;
  Tensor tensor[kArgs] = {};

  constexpr Tensor& operator[](Arg arg) { return tensor[static_cast<int>(arg)]; }
  constexpr const Tensor& operator[](Arg arg) const { return tensor[static_cast<int>(arg)]; }

  NORMGRAD_COMPARABLE(Problem)
};

// Where element (0, ..., 0) of each argument lies; outputs are written. Ignored where the tensor is absent, may be null where
// it is empty.
struct Addresses {
  const void* at[kArgs] = {};

  constexpr const void*& operator[](Arg arg) { return at[static_cast<int>(arg)]; }
};

}  // namespace normgrad

#endif
