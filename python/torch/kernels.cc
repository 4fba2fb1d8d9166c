#include "torch/kernels.h"

#include <nanobind/stl/string.h>

#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "normgrad/batch_norm.h"
#include "normgrad/batch_norm_backward.h"
#include "normgrad/batch_norm_elemt_backward.h"
#include "normgrad/batch_norm_gather_stats.h"
#include "normgrad/last_error.h"
#include "normgrad/layer_norm.h"
#include "normgrad/layer_norm_backward.h"
#include "normgrad/rms_norm.h"
#include "normgrad/rms_norm_backward.h"
#include "torch/tensors.h"

namespace normgrad::python {
namespace {

// Memory of a thread's own that it keeps while it is small: a fresh one would be mapped, and its pages zeroed, every time.
class Workspace {
 public:
  explicit Workspace(std::size_t bytes) {
    constexpr std::size_t kMostKept = std::size_t{4} << 20;
    thread_local std::unique_ptr<std::byte[]> kept;
    thread_local std::size_t kept_bytes = 0;
    if (bytes > kMostKept) {
      own_.reset(new std::byte[bytes]);
      data_ = own_.get();
      return;
    }
    if (bytes > kept_bytes) {
      kept.reset();
      kept_bytes = 0;
      kept.reset(new std::byte[bytes]);
      kept_bytes = bytes;
    }
    data_ = kept.get();
  }
  void* data() const { return data_; }

 private:
  std::unique_ptr<std::byte[]> own_;
  std::byte* data_ = nullptr;
};

void raise(Status status) {
  if (status != Status::kOk) throw std::runtime_error(normgradGetLastError());
}

template <class Problem, class Data>
void compute(const Problem& problem, const Data& data) {
  Plan plan;
  raise(make_plan(problem, &plan));
  const Workspace workspace(plan.workspace_bytes);
  raise(run(plan, data, workspace.data(), plan.workspace_bytes));
}

bool is_ours(Value tensor) {
  std::int32_t type = 0;
  const Shim& torch = shim();
  if (torch.get_dtype(reinterpret_cast<TensorHandle>(tensor), &type) != 0) return false;
  return type == torch.f32 || type == torch.bf16 || type == torch.f16;
}

// float64 and what else is not ours goes to the kernel that torch has itself (_stock.py).
bool left_to_torch(const char* op, Value* stack) {
  if (is_ours(stack[0])) return false;
  check(shim().call_dispatcher(op, "", stack, kInterface), op);
  return true;
}

// The row norms: big tensors as rows, all in one way.
struct Rows {
  int columns;  // dimensions that make up a row
  bool flat = true;

  explicit Rows(std::int64_t normalized) : columns(static_cast<int>(normalized)) {}

  // To be called for each big tensor before any is described.
  TorchTensor take(TorchTensor tensor) {
    if (columns > tensor.rank()) {
      throw std::runtime_error("normalized_shape has more dimensions than the input");
    }
    if (!has_rows(tensor, columns) || tensor.rank() - columns >= kMaxRank) {
      tensor = std::move(tensor).contiguous();
    }
    flat = flat && tensor.is_contiguous();
    return tensor;
  }
  Tensor described(const char* name, const TorchTensor& tensor) const {
    return described_as_rows(name, tensor, columns, flat);
  }
  // A statistic: the leading dims, then ones, as torch has them.
  TorchTensor statistic(const TorchTensor& x) const {
    std::int64_t sizes[64];
    for (int d = 0; d < x.rank(); ++d) sizes[d] = d < x.rank() - columns ? x.size(d) : 1;
    return new_tensor(DataType::kF64, sizes, x.rank());
  }
  Tensor described_statistic(const char* name, const TorchTensor& statistic,
                             const TorchTensor& x) const {
    Tensor out;
    const int leading = x.rank() - columns;
    out.dtype = statistic.dtype();
    out.name = name;
    out.rank = flat ? 1 : leading;
    if (flat) {
      out.shape[0] = statistic.elements();
      out.strides[0] = 1;
      return out;
    }
    for (int d = 0; d < leading; ++d) {
      out.shape[d] = statistic.size(d);
      out.strides[d] = statistic.stride(d);
    }
    return out;
  }
};

// The gradient of a parameter, of its shape and type.
TorchTensor gradient_of(const TorchTensor& parameter, bool wanted) {
  if (!wanted || !parameter.present()) return {};
  std::int64_t sizes[64];
  for (int d = 0; d < parameter.rank(); ++d) sizes[d] = parameter.size(d);
  return new_tensor(parameter.dtype(), sizes, parameter.rank());
}

void native_layer_norm(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock_native_layer_norm", stack)) return;
  Arguments in(stack);
  TorchTensor x = in.tensor();
  Rows rows(in.length_of_list());
  const TorchTensor w = in.optional_tensor().contiguous(), b = in.optional_tensor().contiguous();
  const double eps = in.number();
  x = rows.take(std::move(x));
  TorchTensor y = x.like(), mean = rows.statistic(x), rstd = rows.statistic(x);
  LayerNorm problem;
  problem.x = rows.described("input", x), problem.y = rows.described("output", y);
  problem.mean = rows.described_statistic("mean", mean, x);
  problem.rstd = rows.described_statistic("rstd", rstd, x);
  problem.w = described_as_vector("weight", w), problem.b = described_as_vector("bias", b);
  problem.eps = eps;
  compute(problem, LayerNormData{y.data(), mean.data(), rstd.data(), x.data(), w.data(), b.data()});
  stack[0] = y.release(), stack[1] = mean.release(), stack[2] = rstd.release();
}

void native_layer_norm_backward(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock_native_layer_norm_backward", stack)) return;
  Arguments in(stack);
  TorchTensor dy = in.tensor(), x = in.tensor();
  Rows rows(in.length_of_list());
  const TorchTensor mean = in.tensor().contiguous(), rstd = in.tensor().contiguous();
  const TorchTensor w = in.optional_tensor().contiguous(), b = in.optional_tensor();
  const Arguments::Flags wanted = in.flags();
  dy = rows.take(std::move(dy)), x = rows.take(std::move(x));
  TorchTensor dx = wanted.at[0] ? x.like() : TorchTensor();
  TorchTensor dw = gradient_of(w, wanted.at[1]), db = gradient_of(b, wanted.at[2]);
  LayerNormBackward problem;
  problem.dx = rows.described("grad_input", dx);
  problem.dw = described_as_vector("grad_weight", dw);
  problem.db = described_as_vector("grad_bias", db);
  problem.dy = rows.described("grad_output", dy), problem.x = rows.described("input", x);
  problem.mean = rows.described_statistic("mean", mean, x);
  problem.rstd = rows.described_statistic("rstd", rstd, x);
  problem.w = described_as_vector("weight", w);
  compute(problem, LayerNormBackwardData{dx.data(), dw.data(), db.data(), dy.data(), w.data(),
                                         nullptr, nullptr, x.data(), mean.data(), rstd.data()});
  stack[0] = dx.release(), stack[1] = dw.release(), stack[2] = db.release();
}

// torch's default of eps: the distance from 1 to the next number of the input's type, or of f32's for 16-bit inputs.
constexpr double kDefaultEps = std::numeric_limits<float>::epsilon();

void fused_rms_norm(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock__fused_rms_norm", stack)) return;
  Arguments in(stack);
  TorchTensor x = in.tensor();
  Rows rows(in.length_of_list());
  const TorchTensor w = in.optional_tensor().contiguous();
  const double eps = in.optional_number(kDefaultEps);
  x = rows.take(std::move(x));
  TorchTensor y = x.like(), rstd = rows.statistic(x);
  RmsNorm problem;
  problem.x = rows.described("input", x), problem.y = rows.described("output", y);
  problem.rstd = rows.described_statistic("rstd", rstd, x);
  problem.w = described_as_vector("weight", w);
  problem.eps = eps;
  compute(problem, RmsNormData{y.data(), rstd.data(), x.data(), w.data()});
  stack[0] = y.release(), stack[1] = rstd.release();
}

void fused_rms_norm_backward(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock__fused_rms_norm_backward", stack)) return;
  Arguments in(stack);
  TorchTensor dy = in.tensor(), x = in.tensor();
  Rows rows(in.length_of_list());
  const TorchTensor rstd = in.tensor().contiguous();
  const TorchTensor w = in.optional_tensor().contiguous();
  const Arguments::Flags wanted = in.flags();
  dy = rows.take(std::move(dy)), x = rows.take(std::move(x));
  TorchTensor dx = wanted.at[0] ? x.like() : TorchTensor(), dw = gradient_of(w, wanted.at[1]);
  RmsNormBackward problem;
  problem.dx = rows.described("grad_input", dx);
  problem.dw = described_as_vector("grad_weight", dw);
  problem.dy = rows.described("grad_output", dy), problem.x = rows.described("input", x);
  problem.rstd = rows.described_statistic("rstd", rstd, x);
  problem.w = described_as_vector("weight", w);
  compute(problem,
          RmsNormBackwardData{dx.data(), dw.data(), dy.data(), w.data(), x.data(), rstd.data()});
  stack[0] = dx.release(), stack[1] = dw.release();
}

// What statistics are handed out in. f64 keeps all there is; between processes, torch's own SyncBatchNorm mixes them with
// tensors of its own making, which are f32.
struct Parts {
  const TorchTensor &mean, &rstd, &counts;
  double eps;
};
void gather(const Parts& parts, const TorchTensor& mean_all, const TorchTensor& rstd_all,
            const TorchTensor& running_mean, const TorchTensor& running_var, double momentum) {
  BatchNormGatherStats problem;
  problem.mean_all = described("mean_all", mean_all);
  problem.rstd_all = described("invstd_all", rstd_all);
  problem.running_mean = described("running_mean", running_mean);
  problem.running_var = described("running_var", running_var);
  problem.mean = described("mean", parts.mean), problem.rstd = described("invstd", parts.rstd);
  problem.counts = described_as_vector("counts", parts.counts);
  problem.eps = parts.eps, problem.momentum = momentum;
  compute(problem, BatchNormGatherStatsData{mean_all.data(), rstd_all.data(), running_mean.data(),
                                            running_var.data(), parts.mean.data(),
                                            parts.rstd.data(), parts.counts.data()});
}

// aten's, which updates running statistics.
void gather_stats_with_counts(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock_batch_norm_gather_stats_with_counts", stack)) return;
  Arguments in(stack);
  const TorchTensor x = in.tensor(), mean = in.tensor(), rstd = in.tensor(),
                    running_mean = in.optional_tensor(), running_var = in.optional_tensor();
  const double momentum = in.number(), eps = in.number();
  const TorchTensor counts = in.tensor().contiguous();
  const std::int64_t channels = mean.rank() > 1 ? mean.size(1) : 0;
  TorchTensor mean_all = new_vector(DataType::kF32, channels),
              rstd_all = new_vector(DataType::kF32, channels);
  gather({mean, rstd, counts, eps}, mean_all, rstd_all, running_mean, running_var, momentum);
  stack[0] = mean_all.release(), stack[1] = rstd_all.release();
}

// Ours, which has no side effect: also the unbiased variance, a running one that takes all of the new and none of the old.
void gather_stats(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock_gather_stats", stack)) return;
  Arguments in(stack);
  const TorchTensor x = in.tensor(), mean = in.tensor(), rstd = in.tensor();
  const double eps = in.number();
  const TorchTensor counts = in.tensor().contiguous();
  const std::int64_t channels = mean.rank() > 1 ? mean.size(1) : 0;
  TorchTensor mean_all = new_vector(DataType::kF64, channels),
              rstd_all = new_vector(DataType::kF64, channels),
              var = new_vector(DataType::kF64, channels);
  var.zero();
  gather({mean, rstd, counts, eps}, mean_all, rstd_all, {}, var, 1.0);
  stack[0] = mean_all.release(), stack[1] = rstd_all.release(), stack[2] = var.release();
}

template <DataType kStatistics>
struct BatchNorms {
  static std::int64_t channels(const TorchTensor& x) { return x.rank() > 1 ? x.size(1) : 0; }
  static TorchTensor statistic(const TorchTensor& x) {
    return new_vector(kStatistics, channels(x));
  }

  static void stats(Value* stack, std::uint64_t, std::uint64_t) {
    if (left_to_torch("normgrad::stock_batch_norm_stats", stack)) return;
    Arguments in(stack);
    const TorchTensor x = in.tensor();
    const double eps = in.number();
    TorchTensor mean = statistic(x), rstd = statistic(x);
    BatchNorm problem;
    problem.x = described("input", x);
    problem.mean = described("mean", mean), problem.rstd = described("invstd", rstd);
    problem.eps = eps;
    BatchNormData data;
    data.x = x.data(), data.mean = mean.data(), data.rstd = rstd.data();
    compute(problem, data);
    stack[0] = mean.release(), stack[1] = rstd.release();
  }

  static void reduce(Value* stack, std::uint64_t, std::uint64_t) {
    if (left_to_torch("normgrad::stock_batch_norm_backward_reduce", stack)) return;
    Arguments in(stack);
    const TorchTensor dy = in.tensor(), x = in.tensor(), mean = in.tensor(), rstd = in.tensor(),
                      w = in.optional_tensor();
    const bool sums = in.flag(), dw_wanted = in.flag(), db_wanted = in.flag();
    TorchTensor sum_dy = sums ? statistic(x) : TorchTensor(),
                sum_dy_xmu = sums ? statistic(x) : TorchTensor();
    const DataType type = w.present() ? w.dtype() : kStatistics;
    TorchTensor dw = dw_wanted ? new_vector(type, channels(x)) : TorchTensor(),
                db = db_wanted ? new_vector(type, channels(x)) : TorchTensor();
    BatchNormBackward problem;
    problem.sum_dy = described("sum_dy", sum_dy);
    problem.sum_dy_xmu = described("sum_dy_xmu", sum_dy_xmu);
    problem.dw = described("grad_weight", dw), problem.db = described("grad_bias", db);
    problem.dy = described("grad_output", dy), problem.x = described("input", x);
    problem.mean = described("mean", mean), problem.rstd = described("invstd", rstd);
    BatchNormBackwardData data;
    data.sum_dy = sum_dy.data(), data.sum_dy_xmu = sum_dy_xmu.data();
    data.dw = dw.data(), data.db = db.data(), data.dy = dy.data(), data.x = x.data();
    data.mean = mean.data(), data.rstd = rstd.data();
    compute(problem, data);
    stack[0] = sum_dy.release(), stack[1] = sum_dy_xmu.release();
    stack[2] = dw.release(), stack[3] = db.release();
  }
};

void batch_norm_elemt(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock_batch_norm_elemt", stack)) return;
  Arguments in(stack);
  const TorchTensor x = in.tensor(), w = in.optional_tensor(), b = in.optional_tensor(),
                    mean = in.tensor(), rstd = in.tensor();
  TorchTensor y = x.like();
  BatchNorm problem;
  problem.y = described("output", y), problem.x = described("input", x);
  problem.w = described("weight", w), problem.b = described("bias", b);
  problem.mean = described("mean", mean), problem.rstd = described("invstd", rstd);
  problem.training = false;
  BatchNormData data;
  data.y = y.data(), data.x = x.data(), data.w = w.data(), data.b = b.data();
  data.mean = mean.data(), data.rstd = rstd.data();
  compute(problem, data);
  stack[0] = y.release();
}

void batch_norm_backward_elemt(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock_batch_norm_backward_elemt", stack)) return;
  Arguments in(stack);
  const TorchTensor dy = in.tensor(), x = in.tensor(), mean = in.tensor(), rstd = in.tensor(),
                    w = in.optional_tensor(), sum_dy = in.tensor(), sum_dy_xmu = in.tensor(),
                    counts = in.tensor();
  TorchTensor dx = x.like();
  BatchNormElemtBackward problem;
  problem.dx = described("grad_input", dx);
  problem.dy = described("grad_output", dy), problem.x = described("input", x);
  problem.w = described("weight", w);
  problem.mean = described("mean", mean), problem.rstd = described("invstd", rstd);
  problem.sum_dy = described("sum_dy", sum_dy);
  problem.sum_dy_xmu = described("sum_dy_xmu", sum_dy_xmu);
  problem.counts = described("count", counts);
  compute(problem,
          BatchNormElemtBackwardData{dx.data(), dy.data(), x.data(), w.data(), mean.data(),
                                     rstd.data(), sum_dy.data(), sum_dy_xmu.data(), counts.data()});
  stack[0] = dx.release();
}

TorchTensor normalized_with_running(const TorchTensor& x, const TorchTensor& w,
                                    const TorchTensor& b, const TorchTensor& mean,
                                    const TorchTensor& var, double eps) {
  TorchTensor y = x.like();
  BatchNorm problem;
  problem.y = described("output", y), problem.x = described("input", x);
  problem.w = described("weight", w), problem.b = described("bias", b);
  problem.mean = described("running_mean", mean), problem.var = described("running_var", var);
  problem.eps = eps, problem.training = false;
  BatchNormData data;
  data.y = y.data(), data.x = x.data(), data.w = w.data(), data.b = b.data();
  data.mean = mean.data(), data.var = var.data();
  compute(problem, data);
  return y;
}

struct Normalized {
  TorchTensor y, mean, rstd, var;
};
Normalized normalized_with_batch(const TorchTensor& x, const TorchTensor& w, const TorchTensor& b,
                                 const TorchTensor& running_mean, const TorchTensor& running_var,
                                 double momentum, double eps, bool var_wanted) {
  const std::int64_t channels = x.rank() > 1 ? x.size(1) : 0;
  Normalized out{
      x.like(), new_vector(DataType::kF64, channels), new_vector(DataType::kF64, channels), {}};
  if (var_wanted) out.var = new_vector(DataType::kF64, channels);
  BatchNorm problem;
  problem.y = described("output", out.y), problem.x = described("input", x);
  problem.w = described("weight", w), problem.b = described("bias", b);
  problem.mean = described("save_mean", out.mean),
  problem.rstd = described("save_invstd", out.rstd);
  problem.var = described("save_var", out.var);
  problem.running_mean = described("running_mean", running_mean);
  problem.running_var = described("running_var", running_var);
  problem.eps = eps, problem.momentum = momentum;
  compute(problem,
          BatchNormData{out.y.data(), out.mean.data(), out.rstd.data(), out.var.data(),
                        running_mean.data(), running_var.data(), x.data(), w.data(), b.data()});
  return out;
}

// aten's, which updates running statistics.
void native_batch_norm(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock_native_batch_norm", stack)) return;
  Arguments in(stack);
  const TorchTensor x = in.tensor(), w = in.optional_tensor(), b = in.optional_tensor(),
                    running_mean = in.optional_tensor(), running_var = in.optional_tensor();
  const bool training = in.flag();
  const double momentum = in.number(), eps = in.number();
  if (training) {
    Normalized out =
        normalized_with_batch(x, w, b, running_mean, running_var, momentum, eps, false);
    stack[0] = out.y.release(), stack[1] = out.mean.release(), stack[2] = out.rstd.release();
    return;
  }
  stack[0] = normalized_with_running(x, w, b, running_mean, running_var, eps).release();
  stack[1] = new_vector(DataType::kF64, 0).release();
  stack[2] = new_vector(DataType::kF64, 0).release();
}

// Ours, which have no side effects.
void batch_norm_training(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock_batch_norm_training", stack)) return;
  Arguments in(stack);
  const TorchTensor x = in.tensor(), w = in.optional_tensor(), b = in.optional_tensor();
  const double eps = in.number();
  Normalized out = normalized_with_batch(x, w, b, {}, {}, 0, eps, true);
  stack[0] = out.y.release(), stack[1] = out.mean.release();
  stack[2] = out.rstd.release(), stack[3] = out.var.release();
}
void batch_norm_inference(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock_batch_norm_inference", stack)) return;
  Arguments in(stack);
  const TorchTensor x = in.tensor(), w = in.optional_tensor(), b = in.optional_tensor(),
                    mean = in.optional_tensor(), var = in.optional_tensor();
  const double eps = in.number();
  stack[0] = normalized_with_running(x, w, b, mean, var, eps).release();
}

void native_batch_norm_backward(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock_native_batch_norm_backward", stack)) return;
  Arguments in(stack);
  const TorchTensor dy = in.tensor(), x = in.tensor(), w = in.optional_tensor(),
                    running_mean = in.optional_tensor(), running_var = in.optional_tensor(),
                    mean = in.optional_tensor(), rstd = in.optional_tensor();
  const bool training = in.flag();
  const double eps = in.number();
  const Arguments::Flags wanted = in.flags();
  const std::int64_t channels = x.rank() > 1 ? x.size(1) : 0;
  const DataType type = w.present() ? w.dtype() : x.dtype();
  TorchTensor dx = wanted.at[0] ? x.like() : TorchTensor(),
              dw = wanted.at[1] ? new_vector(type, channels) : TorchTensor(),
              db = wanted.at[2] ? new_vector(type, channels) : TorchTensor();
  BatchNormBackward problem;
  BatchNormBackwardData data;
  problem.dx = described("grad_input", dx);
  problem.dw = described("grad_weight", dw), problem.db = described("grad_bias", db);
  problem.dy = described("grad_output", dy), problem.x = described("input", x);
  problem.w = described("weight", w);
  problem.eps = eps, problem.training = training;
  data.dx = dx.data(), data.dw = dw.data(), data.db = db.data();
  data.dy = dy.data(), data.x = x.data(), data.w = w.data();
  if (training) {
    problem.mean = described("save_mean", mean), problem.rstd = described("save_invstd", rstd);
    data.mean = mean.data(), data.rstd = rstd.data();
  } else {
    problem.mean = described("running_mean", running_mean);
    problem.var = described("running_var", running_var);
    data.mean = running_mean.data(), data.var = running_var.data();
  }
  compute(problem, data);
  stack[0] = dx.release(), stack[1] = dw.release(), stack[2] = db.release();
}

struct Registration {
  const char* op;
  BoxedKernel kernel;
};

constexpr Registration kShared[] = {
    {"native_layer_norm", native_layer_norm},
    {"native_layer_norm_backward", native_layer_norm_backward},
    {"_fused_rms_norm", fused_rms_norm},
    {"_fused_rms_norm_backward", fused_rms_norm_backward},
    {"native_batch_norm_backward", native_batch_norm_backward},
    {"batch_norm_elemt", batch_norm_elemt},
    {"batch_norm_backward_elemt", batch_norm_backward_elemt},
};
constexpr Registration kOfAten[] = {
    {"native_batch_norm", native_batch_norm},
    {"batch_norm_stats", BatchNorms<DataType::kF32>::stats},
    {"batch_norm_gather_stats_with_counts", gather_stats_with_counts},
    {"batch_norm_backward_reduce", BatchNorms<DataType::kF32>::reduce},
};
constexpr Registration kOfNormgrad[] = {
    {"batch_norm_training", batch_norm_training},
    {"batch_norm_inference", batch_norm_inference},
    {"batch_norm_stats", BatchNorms<DataType::kF64>::stats},
    {"gather_stats", gather_stats},
    {"batch_norm_backward_reduce", BatchNorms<DataType::kF64>::reduce},
};

std::map<std::string, LibraryHandle>& libraries() {
  static auto* const instance = new std::map<std::string, LibraryHandle>;
  return *instance;
}

void take_kernels_out(const std::string& space) {
  const auto found = libraries().find(space);
  if (found == libraries().end()) return;
  const LibraryHandle library = found->second;
  libraries().erase(found);
  check(shim().delete_library_object(library), "take kernels out");
}

void put_kernels_in(const std::string& space) {
  if (libraries().count(space) != 0) return;
  LibraryHandle library = nullptr;
  check(shim().library_init_impl(space.c_str(), "CPU", "normgrad", 0, &library), "open a library");
  libraries()[space] = library;
  const auto put = [&](const auto& kernels) {
    for (const auto& [op, kernel] : kernels) {
      check(shim().library_impl(library, op, kernel, kInterface), op);
    }
  };
  put(kShared);
  space == "aten" ? put(kOfAten) : put(kOfNormgrad);
}

}  // namespace

void add_torch_functions(nanobind::module_& module) {
  module.def("put_kernels_in", &put_kernels_in);
  module.def("take_kernels_out", &take_kernels_out);
}

}  // namespace normgrad::python
