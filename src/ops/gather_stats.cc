// The statistics of a batch that is spread over several devices, from those of its parts: a few numbers per channel and
// device, plain f64 code, no vectors, no threads.
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/operators.h"
#include "ops/parameters.h"
#include "ops/statistics.h"
#include "runtime/failure.h"
#include "runtime/sizes.h"

namespace normgrad {
namespace {

using enum Arg;
using enum Direction;
using enum Shape;
using enum Types;
using enum Presence;

// clang-format off
constexpr Rule kRules[] = {
    {kMeanAll, kOut, kChannels, kNumber, kRequired},
    {kRstdAll, kOut, kChannels, kNumber, kRequired},
    {kRunningMean, kOut, kChannels, kNumber},
    {kRunningVar, kOut, kChannels, kNumber},
    {kMean, kIn, kDevices, kNumber, kRequired},
    {kRstd, kIn, kDevices, kNumber, kRequired},
    {kCounts, kIn, kPerDevice, kNumber, kRequired},
};
constexpr Rule kSumRules[] = {
    {kMeanAll, kOut, kChannels, kNumber, kRequired},
    {kRstdAll, kOut, kChannels, kNumber, kRequired},
    {kRunningMean, kOut, kChannels, kNumber},
    {kRunningVar, kOut, kChannels, kNumber},
    {kSum, kIn, kDevices, kNumber, kRequired},
    {kSumOfSquares, kIn, kDevices, kNumber, kRequired},
    {kCounts, kIn, kPerDevice, kCount, kRequired},
};
// clang-format on
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
  Gather(const PlanBody& plan, void* const* data, std::byte* workspace)
      : plan_(plan), data_(data), parameters_(plan, data), counts_(workspace) {
    for (std::int64_t w = 0; w < devices(); ++w) {
      const Tensor& counts = plan.tensor(kCounts);
      const double count =
          kernels::load_element(data[index_of(kCounts)], counts.dtype, w * counts.strides[0]);
      std::memcpy(counts_ + w * 8, &count, 8);
      n_ += count;
    }
  }

  void run() const {
    const bool of_sums = plan_.tensor(kSum).present();
    for (std::int64_t c = 0; c < parts().shape[1]; ++c) of_sums ? gather_sums(c) : gather(c);
  }

 private:
  const Tensor& parts() const { return plan_.tensor(plan_.op->data); }
  std::int64_t devices() const { return parts().shape[0]; }
  double count(std::int64_t device) const {
    double value;
    std::memcpy(&value, counts_ + device * 8, 8);
    return value;
  }
  double at(Arg arg, std::int64_t device, std::int64_t channel) const {
    const Tensor& tensor = plan_.tensor(arg);
    return kernels::load_element(data_[index_of(arg)], tensor.dtype,
                                 device * tensor.strides[0] + channel * tensor.strides[1]);
  }

  void gather(std::int64_t channel) const {
    if (devices() == 0) return store_both(channel, 0, std::numeric_limits<double>::quiet_NaN());
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
    store(channel, mean, squares);
  }
  // The variance is a difference, and below 0 by rounding alone; a NaN stays.
  void gather_sums(std::int64_t channel) const {
    if (devices() == 0) return store_both(channel, 0, std::numeric_limits<double>::quiet_NaN());
    double sum = 0, all_squares = 0;
    for (std::int64_t w = 0; w < devices(); ++w) {
      sum += at(kSum, w, channel);
      all_squares += at(kSumOfSquares, w, channel);
    }
    const double mean = sum / n_, squares = all_squares - sum * mean;
    store(channel, mean, squares < 0 ? 0 : squares);
  }
  // squares: sum((x - mean)^2) over all devices.
  void store(std::int64_t channel, double mean, double squares) const {
    store_both(channel, mean, rstd_of(squares / n_, plan_.eps));
    update(kRunningMean, channel, mean);
    update(kRunningVar, channel, squares / (n_ - 1));
  }
  void store_both(std::int64_t channel, double mean, double rstd) const {
    parameters_.store(kMeanAll, channel, mean);
    parameters_.store(kRstdAll, channel, rstd);
  }
  void update(Arg running, std::int64_t channel, double now) const {
    parameters_.store(running, channel,
                      updated(parameters_.load(running, channel), plan_.momentum, now));
  }

  const PlanBody& plan_;
  void* const* data_;
  Parameters parameters_;
  std::byte* counts_;
  double n_ = 0;
};

Status prepare(PlanBody& plan) {
  const Tensor& counts = plan.tensor(Arg::kCounts);
  const Checked bytes = Checked(counts.shape[0]) * 8;
  if (!bytes.ok()) {
    return fail(Status::kBadShape, "%s has shape %s, which is too many devices", counts.name,
                shape_of(counts).text);
  }
  plan.workspace_bytes = static_cast<std::size_t>(bytes.value());
  return Status::kOk;
}

void execute(const PlanBody& plan, void* const* data, std::byte* workspace) {
  Gather(plan, data, workspace).run();
}

}  // namespace

constinit const Operator kBatchNormGatherStats{.name = "BatchNormGatherStats",
                                               .walk = Walk::kDevices,
                                               .data = Arg::kMean,
                                               .rules = kRules,
                                               .prepare = prepare,
                                               .execute = execute};
constinit const Operator kBatchNormGatherSums{.name = "BatchNormGatherSums",
                                              .walk = Walk::kDevices,
                                              .data = Arg::kSum,
                                              .rules = kSumRules,
                                              .prepare = prepare,
                                              .execute = execute};

}  // namespace normgrad
