// BatchNorm and SyncBatchNorm for torch.
#include <algorithm>
#include <iterator>

#include "torch/kernel.h"

namespace normgrad::python {
namespace {

// aten's, which updates running statistics.
void gather_stats_with_counts(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock_batch_norm_gather_stats_with_counts", stack)) return;
  Arguments in(stack);
  const TorchTensor x = in.tensor(), mean = in.tensor(), rstd = in.tensor(),
                    running_mean = in.optional_tensor(), running_var = in.optional_tensor();
  const double momentum = in.number(), eps = in.number();
  const TorchTensor counts = in.tensor().contiguous();
  const std::int64_t channels = mean.channels();
  TorchTensor mean_all = new_vector(DataType::kF32, channels),
              rstd_all = new_vector(DataType::kF32, channels);
  Call call(Op::kBatchNormGatherStats);
  call.set(Arg::kMeanAll, "mean_all", mean_all), call.set(Arg::kRstdAll, "invstd_all", rstd_all);
  call.set(Arg::kRunningMean, "running_mean", running_mean);
  call.set(Arg::kRunningVar, "running_var", running_var);
  call.set(Arg::kMean, "mean", mean), call.set(Arg::kRstd, "invstd", rstd);
  call.set(Arg::kCounts, described_as_vector("counts", counts), counts);
  call.problem.eps = eps, call.problem.momentum = momentum;
  call.run();
  stack[0] = mean_all.release(), stack[1] = rstd_all.release();
}

// What statistics are handed out in. f64 keeps all there is; between processes, torch's own SyncBatchNorm mixes them with
// tensors of its own making, which are f32.
template <DataType kStatistics>
struct BatchNorms {
  static TorchTensor statistic(const TorchTensor& x) {
    return new_vector(kStatistics, x.channels());
  }

  // Ours also hands out the biased variance: far below eps, rstd has no digit of it.
  static constexpr bool kWithVar = kStatistics == DataType::kF64;

  static void stats(Value* stack, std::uint64_t, std::uint64_t) {
    if (left_to_torch(kWithVar ? "normgrad::stock_batch_norm_stats_and_var"
                               : "normgrad::stock_batch_norm_stats",
                      stack)) {
      return;
    }
    Arguments in(stack);
    const TorchTensor x = in.tensor().of_few_dims();
    const double eps = in.number();
    TorchTensor mean = statistic(x), rstd = statistic(x),
                var = kWithVar ? statistic(x) : TorchTensor();
    Call call(Op::kBatchNorm);
    call.set(Arg::kX, "input", x), call.set(Arg::kMean, "mean", mean);
    call.set(Arg::kRstd, "invstd", rstd), call.set(Arg::kVar, "var", var);
    call.problem.eps = eps;
    call.run();
    stack[0] = mean.release(), stack[1] = rstd.release();
    if (kWithVar) stack[2] = var.release();
  }

  static void reduce(Value* stack, std::uint64_t, std::uint64_t) {
    if (left_to_torch("normgrad::stock_batch_norm_backward_reduce", stack)) return;
    Arguments in(stack);
    TorchTensor dy = in.tensor(), x = in.tensor();
    const TorchTensor mean = in.tensor(), rstd = in.tensor(), w = in.optional_tensor();
    const bool sums = in.flag(), dw_wanted = in.flag(), db_wanted = in.flag();
    dy = std::move(dy).of_few_dims(), x = std::move(x).of_few_dims();
    TorchTensor sum_dy = sums ? statistic(x) : TorchTensor(),
                sum_dy_xmu = sums ? statistic(x) : TorchTensor();
    const DataType type = w.present() ? w.dtype() : kStatistics;
    TorchTensor dw = dw_wanted ? new_vector(type, x.channels()) : TorchTensor(),
                db = db_wanted ? new_vector(type, x.channels()) : TorchTensor();
    Call call(Op::kBatchNormBackward);
    call.set(Arg::kSumDy, "sum_dy", sum_dy), call.set(Arg::kSumDyXmu, "sum_dy_xmu", sum_dy_xmu);
    call.set(Arg::kDw, "grad_weight", dw), call.set(Arg::kDb, "grad_bias", db);
    call.set(Arg::kDy, "grad_output", dy), call.set(Arg::kX, "input", x);
    call.set(Arg::kMean, "mean", mean), call.set(Arg::kRstd, "invstd", rstd);
    call.run();
    stack[0] = sum_dy.release(), stack[1] = sum_dy_xmu.release();
    stack[2] = dw.release(), stack[3] = db.release();
  }
};

// aten's with one count for all parts.
void gather_stats_of_equal_parts(Value* stack, std::uint64_t arguments, std::uint64_t results) {
  try {
    std::int64_t rank = 0, *sizes = nullptr;
    const auto mean = reinterpret_cast<TensorHandle>(stack[1]);
    check(shim().get_dim(mean, &rank) | shim().get_sizes(mean, &sizes), "describe a tensor");
    TorchTensor counts = new_vector(DataType::kF64, rank > 0 ? sizes[0] : 0);
    std::fill_n(static_cast<double*>(counts.data()), counts.elements(),
                static_cast<double>(static_cast<std::int64_t>(stack[7])));
    stack[7] = counts.release();
  } catch (...) {
    Arguments in(stack);
    for (int i = 0; i < 3; ++i) in.tensor();
    for (int i = 0; i < 2; ++i) in.optional_tensor();
    throw;
  }
  gather_stats_with_counts(stack, arguments, results);
}

void batch_norm_elemt(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock_batch_norm_elemt", stack)) return;
  Arguments in(stack);
  TorchTensor x = in.tensor();
  const TorchTensor w = in.optional_tensor(), b = in.optional_tensor(), mean = in.tensor(),
                    rstd = in.tensor();
  x = std::move(x).in_order();
  TorchTensor y = x.like();
  Call call(Op::kBatchNorm);
  call.set(Arg::kY, "output", y), call.set(Arg::kX, "input", x);
  call.set(Arg::kW, "weight", w), call.set(Arg::kB, "bias", b);
  call.set(Arg::kMean, "mean", mean), call.set(Arg::kRstd, "invstd", rstd);
  call.problem.training = false;
  call.run();
  stack[0] = y.release();
}

void batch_norm_backward_elemt(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock_batch_norm_backward_elemt", stack)) return;
  Arguments in(stack);
  TorchTensor dy = in.tensor(), x = in.tensor();
  const TorchTensor mean = in.tensor(), rstd = in.tensor(), w = in.optional_tensor(),
                    sum_dy = in.tensor(), sum_dy_xmu = in.tensor(), counts = in.tensor();
  dy = std::move(dy).in_order(), x = std::move(x).in_order();
  TorchTensor dx = x.like();
  Call call(Op::kBatchNormElemtBackward);
  call.set(Arg::kDx, "grad_input", dx);
  call.set(Arg::kDy, "grad_output", dy), call.set(Arg::kX, "input", x);
  call.set(Arg::kW, "weight", w);
  call.set(Arg::kMean, "mean", mean), call.set(Arg::kRstd, "invstd", rstd);
  call.set(Arg::kSumDy, "sum_dy", sum_dy), call.set(Arg::kSumDyXmu, "sum_dy_xmu", sum_dy_xmu);
  call.set(Arg::kCounts, "count", counts);
  call.run();
  stack[0] = dx.release();
}

TorchTensor normalized_with_running(const TorchTensor& x, const TorchTensor& w,
                                    const TorchTensor& b, const TorchTensor& mean,
                                    const TorchTensor& var, double eps) {
  TorchTensor y = x.like();
  Call call(Op::kBatchNorm);
  call.set(Arg::kY, "output", y), call.set(Arg::kX, "input", x);
  call.set(Arg::kW, "weight", w), call.set(Arg::kB, "bias", b);
  call.set(Arg::kMean, "running_mean", mean), call.set(Arg::kVar, "running_var", var);
  call.problem.eps = eps, call.problem.training = false;
  call.run();
  return y;
}

struct Normalized {
  TorchTensor y, mean, rstd, var;
};
Normalized normalized_with_batch(const TorchTensor& x, const TorchTensor& w, const TorchTensor& b,
                                 const TorchTensor& running_mean, const TorchTensor& running_var,
                                 double momentum, double eps, bool var_wanted) {
  const auto statistic = [&] { return new_vector(DataType::kF64, x.channels()); };
  Normalized out{x.like(), statistic(), statistic(), var_wanted ? statistic() : TorchTensor()};
  Call call(Op::kBatchNorm);
  call.set(Arg::kY, "output", out.y), call.set(Arg::kX, "input", x);
  call.set(Arg::kW, "weight", w), call.set(Arg::kB, "bias", b);
  call.set(Arg::kMean, "save_mean", out.mean), call.set(Arg::kRstd, "save_invstd", out.rstd);
  call.set(Arg::kVar, "save_var", out.var);
  call.set(Arg::kRunningMean, "running_mean", running_mean);
  call.set(Arg::kRunningVar, "running_var", running_var);
  call.problem.eps = eps, call.problem.momentum = momentum;
  call.run();
  return out;
}

// aten's, which updates running statistics.
void native_batch_norm(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock_native_batch_norm", stack, in_forward_mode())) return;
  Arguments in(stack);
  TorchTensor x = in.tensor();
  const TorchTensor w = in.optional_tensor(), b = in.optional_tensor(),
                    running_mean = in.optional_tensor(), running_var = in.optional_tensor();
  const bool training = in.flag();
  const double momentum = in.number(), eps = in.number();
  x = std::move(x).in_order();
  if (training) {
    Normalized out =
        normalized_with_batch(x, w, b, running_mean, running_var, momentum, eps, false);
    stack[0] = out.y.release(), stack[1] = out.mean.release(), stack[2] = out.rstd.release();
    return;
  }
  TorchTensor y = normalized_with_running(x, w, b, running_mean, running_var, eps),
              mean = new_vector(DataType::kF64, 0), rstd = new_vector(DataType::kF64, 0);
  stack[0] = y.release(), stack[1] = mean.release(), stack[2] = rstd.release();
}

// Ours, which have no side effects.
void batch_norm_training(Value* stack, std::uint64_t, std::uint64_t) {
  const bool refused = in_forward_mode();
  if (!refused && left_to_torch("normgrad::stock_batch_norm_training", stack)) return;
  Arguments in(stack);
  TorchTensor x = in.tensor();
  const TorchTensor w = in.optional_tensor(), b = in.optional_tensor();
  const double eps = in.number();
  if (refused) refuse_forward_mode();
  x = std::move(x).in_order();
  Normalized out = normalized_with_batch(x, w, b, {}, {}, 0, eps, true);
  stack[0] = out.y.release(), stack[1] = out.mean.release();
  stack[2] = out.rstd.release(), stack[3] = out.var.release();
}
void batch_norm_inference(Value* stack, std::uint64_t, std::uint64_t) {
  const bool refused = in_forward_mode();
  if (!refused && left_to_torch("normgrad::stock_batch_norm_inference", stack)) return;
  Arguments in(stack);
  TorchTensor x = in.tensor();
  const TorchTensor w = in.optional_tensor(), b = in.optional_tensor(), mean = in.optional_tensor(),
                    var = in.optional_tensor();
  const double eps = in.number();
  if (refused) refuse_forward_mode();
  x = std::move(x).in_order();
  stack[0] = normalized_with_running(x, w, b, mean, var, eps).release();
}

void native_batch_norm_backward(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock_native_batch_norm_backward", stack)) return;
  Arguments in(stack);
  TorchTensor dy = in.tensor(), x = in.tensor();
  const TorchTensor w = in.optional_tensor(), running_mean = in.optional_tensor(),
                    running_var = in.optional_tensor(), mean = in.optional_tensor(),
                    rstd = in.optional_tensor();
  const bool training = in.flag();
  const double eps = in.number();
  const Arguments::Flags wanted = in.flags();
  dy = std::move(dy).in_order(), x = std::move(x).in_order();
  const DataType type = w.present() ? w.dtype() : x.dtype();
  TorchTensor dx = wanted.at[0] ? x.like() : TorchTensor(),
              dw = wanted.at[1] ? new_vector(type, x.channels()) : TorchTensor(),
              db = wanted.at[2] ? new_vector(type, x.channels()) : TorchTensor();
  Call call(Op::kBatchNormBackward);
  call.set(Arg::kDx, "grad_input", dx);
  call.set(Arg::kDw, "grad_weight", dw), call.set(Arg::kDb, "grad_bias", db);
  call.set(Arg::kDy, "grad_output", dy), call.set(Arg::kX, "input", x);
  call.set(Arg::kW, "weight", w);
  call.problem.eps = eps, call.problem.training = training;
  if (training) {
    call.set(Arg::kMean, "save_mean", mean), call.set(Arg::kRstd, "save_invstd", rstd);
  } else {
    call.set(Arg::kMean, "running_mean", running_mean);
    call.set(Arg::kVar, "running_var", running_var);
  }
  call.run();
  stack[0] = dx.release(), stack[1] = dw.release(), stack[2] = db.release();
}

constexpr Registration kBoth[] = {
    {"native_batch_norm_backward", native_batch_norm_backward},
    {"batch_norm_elemt", batch_norm_elemt},
    {"batch_norm_backward_elemt", batch_norm_backward_elemt},
};
constexpr Registration kOfAten[] = {
    {"native_batch_norm", native_batch_norm},
    {"batch_norm_stats", BatchNorms<DataType::kF32>::stats},
    {"batch_norm_gather_stats", gather_stats_of_equal_parts},
    {"batch_norm_gather_stats_with_counts", gather_stats_with_counts},
    {"batch_norm_backward_reduce", BatchNorms<DataType::kF32>::reduce},
};
constexpr Registration kOfNormgrad[] = {
    {"batch_norm_training", batch_norm_training},
    {"batch_norm_inference", batch_norm_inference},
    {"batch_norm_stats", BatchNorms<DataType::kF64>::stats},
    {"batch_norm_backward_reduce", BatchNorms<DataType::kF64>::reduce},
};

}  // namespace

Kernels batch_norms() { return {kBoth, std::size(kBoth)}; }
Kernels batch_norms_of_aten() { return {kOfAten, std::size(kOfAten)}; }
Kernels batch_norms_of_normgrad() { return {kOfNormgrad, std::size(kOfNormgrad)}; }

}  // namespace normgrad::python
