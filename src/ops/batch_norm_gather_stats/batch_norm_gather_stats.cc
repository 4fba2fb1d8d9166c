// A few numbers per channel and device: plain f64 code, no vectors, no threads.
#include "normgrad/batch_norm_gather_stats.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/sizes.h"
#include "ops/channel_norm/parameters.h"
#include "ops/plan_checks.h"

namespace normgrad {
namespace {

constexpr char kName[] = "BatchNormGatherStats";
enum : int { kMeanAll, kRstdAll, kRunningMean, kRunningVar, kMean, kRstd, kCounts };

Status check_dtypes(const BatchNormGatherStats& p) {
  for (const Tensor* t : {&p.mean, &p.rstd, &p.counts, &p.mean_all, &p.rstd_all}) {
    NORMGRAD_TRY(check_present(*t));
  }
  for (const Tensor* t :
       {&p.mean, &p.rstd, &p.counts, &p.mean_all, &p.rstd_all, &p.running_mean, &p.running_var}) {
    NORMGRAD_TRY(check_number_dtype(*t));
  }
  return Status::kOk;
}

Status check_shapes(const BatchNormGatherStats& p) {
  if (p.mean.rank != 2) {
    return fail(Status::kBadShape, "%s has shape %s, but must have 2 dimensions: device, channel",
                p.mean.name, shape_of(p.mean).text);
  }
  NORMGRAD_TRY(check_same_shape(p.rstd, p.mean));
  NORMGRAD_TRY(check_vector(p.counts, p.mean.shape[0], "the number of devices"));
  for (const Tensor* t : {&p.mean_all, &p.rstd_all, &p.running_mean, &p.running_var}) {
    NORMGRAD_TRY(check_vector(*t, p.mean.shape[1], "the number of channels"));
  }
  return Status::kOk;
}

// 1/rstd^2 - eps without the cancellation: with eps far above the variance, 1/rstd^2 is almost eps.
double var_of(double rstd, double eps) {
  const double square = rstd * rstd;
  if (std::isinf(square)) return -eps;
  const double rest = std::fma(rstd, rstd, -square);  // 0 unless rstd is f64
  return (std::fma(-eps, square, 1.0) - eps * rest) / square;
}

class Gather {
 public:
  // The counts are copied to the workspace first: an output may lie in their place.
  Gather(const Plan& plan, void* const* data, std::byte* workspace)
      : plan_(plan), data_(data), parameters_(plan, data), counts_(workspace) {
    for (std::int64_t w = 0; w < devices(); ++w) {
      const double count = parameters_.load(kCounts, w, 0);
      std::memcpy(counts_ + w * 8, &count, 8);
      n_ += count;
    }
  }

  void run() const {
    for (std::int64_t c = 0; c < plan_.argument[kMean].tensor.shape[1]; ++c) gather(c);
  }

 private:
  std::int64_t devices() const { return plan_.argument[kMean].tensor.shape[0]; }
  double count(std::int64_t device) const {
    double value;
    std::memcpy(&value, counts_ + device * 8, 8);
    return value;
  }
  double at(int argument, std::int64_t device, std::int64_t channel) const {
    const Tensor& tensor = plan_.argument[argument].tensor;
    return kernels::load_element(data_[argument], tensor.dtype,
                             device * tensor.strides[0] + channel * tensor.strides[1]);
  }

  void gather(std::int64_t channel) const {
    if (devices() == 0) return store(channel, 0, std::numeric_limits<double>::quiet_NaN());
    double sum = 0;
    for (std::int64_t w = 0; w < devices(); ++w) sum += count(w) * at(kMean, w, channel);
    const double mean = sum / n_;
    // What rounding left of the mean: squared, it would count as variance where means are far from 0 and alike.
    double rest = 0;
    for (std::int64_t w = 0; w < devices(); ++w) rest += count(w) * (at(kMean, w, channel) - mean);
    rest = std::isfinite(rest / n_) ? rest / n_ : 0;
    double squares = 0;
    for (std::int64_t w = 0; w < devices(); ++w) {
      const double distance = (at(kMean, w, channel) - mean) - rest;
      squares += count(w) * (var_of(at(kRstd, w, channel), plan_.eps) + distance * distance);
    }
    store(channel, mean, rstd_of(squares / n_, plan_.eps));
    update(kRunningMean, channel, mean);
    update(kRunningVar, channel, squares / (n_ - 1));
  }
  void store(std::int64_t channel, double mean, double rstd) const {
    parameters_.store(kMeanAll, channel, mean);
    parameters_.store(kRstdAll, channel, rstd);
  }
  void update(int running, std::int64_t channel, double now) const {
    parameters_.store(running, channel,
                      updated(parameters_.load(running, channel, 0), plan_.momentum, now));
  }

  const Plan& plan_;
  void* const* data_;
  Parameters parameters_;
  std::byte* counts_;
  double n_ = 0;
};

}  // namespace

Status make_plan(const BatchNormGatherStats& p, Plan* plan) {
  Plan made;
  set_arguments(
      made,
      {&p.mean_all, &p.rstd_all, &p.running_mean, &p.running_var, &p.mean, &p.rstd, &p.counts}, 4);
  NORMGRAD_TRY(check_dtypes(p));
  NORMGRAD_TRY(check_shapes(p));
  NORMGRAD_TRY(check_sizes(made));
  NORMGRAD_TRY(check_outputs(made));
  const Checked bytes = Checked(p.counts.shape[0]) * 8;
  if (!bytes.ok()) {
    return fail(Status::kBadShape, "%s has shape %s, which is too many devices", p.counts.name,
                shape_of(p.counts).text);
  }
  made.workspace_bytes = static_cast<std::size_t>(bytes.value());
  made.eps = p.eps;
  made.momentum = p.momentum;
  made.op = kName;
  made.execute = [](const Plan& self, void* const* data, std::byte* workspace) {
    Gather(self, data, workspace).run();
  };
  *plan = made;
  return Status::kOk;
}

Status run(const Plan& plan, const BatchNormGatherStatsData& d, void* workspace,
           std::size_t workspace_bytes) {
  NORMGRAD_TRY(check_op(plan, kName));
  const void* const data[] = {d.mean_all, d.rstd_all, d.running_mean, d.running_var,
                              d.mean,     d.rstd,     d.counts};
  return run(plan, const_cast<void* const*>(data), workspace, workspace_bytes);
}

}  // namespace normgrad
