// BatchNorm forward in training: its own statistics, and y.
#include <cmath>

#include "channels.h"
#include "workload.h"

namespace bench {
namespace {

constexpr double kEps = 1e-5;

class BatchNorm : public Workload {
 public:
  BatchNorm(const Channels& s, DataType t)
      : s_(s),
        y_(s.array(t)),
        mean_(t, s.c),
        rstd_(t, s.c),
        x_(s.array(t)),
        w_(t, s.c),
        b_(t, s.c) {
    x_.fill(-1.75, 2.25);
    w_.fill(0.5, 1.5);
    b_.fill(-1, 1);
    normgrad::Problem problem;
    problem.op = normgrad::Op::kBatchNorm;
    problem[Arg::kY] = s.tensor(t, "y");
    problem[Arg::kMean] = tensor(t, {s.c}, "mean");
    problem[Arg::kRstd] = tensor(t, {s.c}, "rstd");
    problem[Arg::kX] = s.tensor(t, "x");
    problem[Arg::kW] = tensor(t, {s.c}, "w");
    problem[Arg::kB] = tensor(t, {s.c}, "b");
    problem.eps = kEps;
    must(make_plan(problem, &plan_));
    workspace_.resize(plan_.workspace_bytes());
    data_[Arg::kY] = y_.data();
    data_[Arg::kMean] = mean_.data();
    data_[Arg::kRstd] = rstd_.data();
    data_[Arg::kX] = x_.data();
    data_[Arg::kW] = w_.data();
    data_[Arg::kB] = b_.data();
  }

  void run() override { must(normgrad::run(plan_, data_, workspace_.data(), workspace_.size())); }

  // mean = sum(x)/n, r = 1/sqrt(sum((x - mean)^2)/n + eps), y = (x - mean)*r*w + b
  void check() const override {
    const std::vector<double> mean = means([](std::size_t, double x) { return x; });
    const std::vector<double> mean_t = means([](std::size_t, double x) { return std::abs(x); });
    std::vector<double> r =
        means([&](std::size_t c, double x) { return (x - mean[c]) * (x - mean[c]); });
    for (double& of : r) of = 1 / std::sqrt(of + kEps);
    for (std::int64_t channel = 0; channel < s_.c; ++channel) {
      const auto c = static_cast<std::size_t>(channel);
      expect(mean_, channel, mean[c], mean_t[c], "BatchNorm mean");
      expect(rstd_, channel, r[c], r[c], "BatchNorm rstd");
    }
    for (std::int64_t n = 0; n < s_.n; ++n) {
      s_.for_image(n, [&](std::int64_t channel, std::int64_t i) {
        const auto c = static_cast<std::size_t>(channel);
        const double wr = w_[channel] * r[c];
        expect(y_, i, (x_[i] - mean[c]) * wr + b_[channel],
               std::abs((x_[i] - mean[c]) * wr) + std::abs(b_[channel]), "BatchNorm y");
      });
    }
  }

  Traffic traffic() const override {
    return {{x_.bytes(), {}}, y_.bytes(), {w_.bytes(), b_.bytes()}, {mean_.bytes(), rstd_.bytes()}};
  }

  // As in its backward pass.
  bool takes_two_passes() const override { return s_.layout == Layout::kChannelsLast; }

 private:
  // Of term(c, x) in every channel.
  template <class Term>
  std::vector<double> means(const Term& term) const {
    std::vector<double> sums(static_cast<std::size_t>(s_.c));
    for (std::int64_t n = 0; n < s_.n; ++n) {
      // By itself, so that no sum has more than 10^5 terms in sequence.
      std::vector<double> image(sums.size());
      s_.for_image(n, [&](std::int64_t channel, std::int64_t i) {
        const auto c = static_cast<std::size_t>(channel);
        image[c] += term(c, x_[i]);
      });
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += image[c];
    }
    for (double& sum : sums) sum /= static_cast<double>(s_.n * s_.l);
    return sums;
  }

  Channels s_;
  Array y_, mean_, rstd_, x_, w_, b_;
  normgrad::Plan plan_;
  normgrad::Addresses data_;
  std::vector<std::byte> workspace_;
};

}  // namespace

void add_batch_norm(std::vector<Entry>& entries) {
  add_channel_entries(
      entries, "batch_norm_training_forward", all_channels(),
      [](const Channels& s, DataType t) { return std::make_unique<BatchNorm>(s, t); });
}

}  // namespace bench
