// SyncBatchNorm's second half: dx from sums that were added up over all devices, here one.
#include <cmath>

#include "channel_formulas.h"
#include "workload.h"

namespace bench {
namespace {

class BatchNormElemtBackward : public Workload {
 public:
  BatchNormElemtBackward(const Channels& s, DataType t)
      : s_(s),
        count_(static_cast<double>(s.n * s.l)),
        dx_(s.array(t)),
        dy_(s.array(t)),
        x_(s.array(t)),
        w_(t, s.c),
        mean_(t, s.c),
        rstd_(t, s.c),
        sum_dy_(t, s.c),
        sum_dy_xmu_(t, s.c),
        counts_(DataType::kF32, 1) {
    dy_.fill(-1, 1.125);
    x_.fill(-1.75, 2.25);
    w_.fill(0.5, 1.5);
    mean_.fill(0.125, 0.375);
    rstd_.fill(0.75, 1.5);
    sum_dy_.fill(-0.1 * count_, 0.1 * count_);  // less than the largest f16
    sum_dy_xmu_.fill(-0.1 * count_, 0.1 * count_);
    counts_.fill(count_, count_);
    normgrad::Problem problem;
    problem.op = normgrad::Op::kBatchNormElemtBackward;
    problem[Arg::kDx] = s.tensor(t, "dx");
    problem[Arg::kDy] = s.tensor(t, "dy");
    problem[Arg::kX] = s.tensor(t, "x");
    problem[Arg::kW] = tensor(t, {s.c}, "w");
    problem[Arg::kMean] = tensor(t, {s.c}, "mean");
    problem[Arg::kRstd] = tensor(t, {s.c}, "rstd");
    problem[Arg::kSumDy] = tensor(t, {s.c}, "sum_dy");
    problem[Arg::kSumDyXmu] = tensor(t, {s.c}, "sum_dy_xmu");
    problem[Arg::kCounts] = tensor(DataType::kF32, {1}, "counts");
    must(make_plan(problem, &plan_));
    workspace_.resize(plan_.workspace_bytes());
    data_[Arg::kDx] = dx_.data();
    data_[Arg::kDy] = dy_.data();
    data_[Arg::kX] = x_.data();
    data_[Arg::kW] = w_.data();
    data_[Arg::kMean] = mean_.data();
    data_[Arg::kRstd] = rstd_.data();
    data_[Arg::kSumDy] = sum_dy_.data();
    data_[Arg::kSumDyXmu] = sum_dy_xmu_.data();
    data_[Arg::kCounts] = counts_.data();
  }

  void run() override { must(normgrad::run(plan_, data_, workspace_.data(), workspace_.size())); }

  void check() const override {
    std::vector<ChannelSums> channels;
    for (std::int64_t c = 0; c < s_.c; ++c) {
      const double db = sum_dy_[c], dw = sum_dy_xmu_[c] * rstd_[c];
      channels.push_back({mean_[c], rstd_[c], w_[c], db, std::abs(db), dw, std::abs(dw)});
    }
    check_dx(s_, dx_, dy_, x_, channels, 1 / count_);
  }

  Traffic traffic() const override {
    return {{dy_.bytes(), x_.bytes()},
            dx_.bytes(),
            {w_.bytes(), mean_.bytes(), rstd_.bytes(), sum_dy_.bytes(), sum_dy_xmu_.bytes(),
             counts_.bytes()},
            {}};
  }

 private:
  Channels s_;
  double count_;  // elements of a channel
  Array dx_, dy_, x_, w_, mean_, rstd_, sum_dy_, sum_dy_xmu_, counts_;
  normgrad::Plan plan_;
  normgrad::Addresses data_;
  std::vector<std::byte> workspace_;
};

}  // namespace

void add_batch_norm_elemt_backward(std::vector<Entry>& entries) {
  add_channel_entries(
      entries, "batch_norm_elementwise", all_channels(),
      [](const Channels& s, DataType t) { return std::make_unique<BatchNormElemtBackward>(s, t); });
}

}  // namespace bench
