// BatchNorm backward, everything in one data type: in training with the variance as given
// (InfiniOp's BatchNormBackward), in inference with eps added to it, and the reduce half, which has
// sums but no dx (aclnnBatchNormReduceBackward).
#include <cmath>

#include "channel_formulas.h"
#include "workload.h"

namespace bench {
namespace {

enum class Half { kTraining, kInference, kReduce };

class BatchNormBackward : public Workload {
 public:
  BatchNormBackward(const Channels& s, DataType t, Half half)
      : s_(s),
        half_(half),
        eps_(half == Half::kInference ? 1e-5 : 0),
        dx_(half == Half::kReduce ? Array(t, 0) : s.array(t)),
        dw_(t, s.c),
        db_(t, s.c),
        sum_dy_(t, half == Half::kReduce ? s.c : 0),
        sum_dy_xmu_(t, half == Half::kReduce ? s.c : 0),
        dy_(s.array(t)),
        x_(s.array(t)),
        w_(t, half == Half::kReduce ? 0 : s.c),
        mean_(t, s.c),
        var_(t, s.c) {
    dy_.fill(-1, 1.125);
    x_.fill(-1.75, 2.25);
    w_.fill(0.5, 1.5);
    mean_.fill(0.125, 0.375);
    var_.fill(0.5, 2);
    must(make_plan(problem(t), &plan_));
    workspace_.resize(plan_.workspace_bytes());
    data_[Arg::kDx] = dx_.data();
    data_[Arg::kDw] = dw_.data();
    data_[Arg::kDb] = db_.data();
    data_[Arg::kSumDy] = sum_dy_.data();
    data_[Arg::kSumDyXmu] = sum_dy_xmu_.data();
    data_[Arg::kDy] = dy_.data();
    data_[Arg::kX] = x_.data();
    data_[Arg::kW] = w_.data();
    data_[Arg::kMean] = mean_.data();
    data_[Arg::kVar] = var_.data();
  }

  void run() override { must(normgrad::run(plan_, data_, workspace_.data(), workspace_.size())); }

  void check() const override {
    std::vector<ChannelSums> channels(static_cast<std::size_t>(s_.c));
    for (std::int64_t c = 0; c < s_.c; ++c) {
      ChannelSums& of = channels[static_cast<std::size_t>(c)];
      of.mean = mean_[c];
      of.r = 1 / std::sqrt(var_[c] + eps_);
      of.w = half_ == Half::kReduce ? 1 : w_[c];
    }
    add_sums(s_, dy_, x_, channels);
    for (std::int64_t c = 0; c < s_.c; ++c) check_sums(c, channels[static_cast<std::size_t>(c)]);
    if (half_ == Half::kReduce) return;
    const double scale = half_ == Half::kTraining ? 1 / static_cast<double>(s_.n * s_.l) : 0;
    check_dx(s_, dx_, dy_, x_, channels, scale);
  }

  Traffic traffic() const override {
    return {{dy_.bytes(), x_.bytes()},
            dx_.bytes(),
            {w_.bytes(), mean_.bytes(), var_.bytes()},
            {dw_.bytes(), db_.bytes(), sum_dy_.bytes(), sum_dy_xmu_.bytes()}};
  }

  // The channels of a row-major tensor fit into the cache one by one, those of this only together.
  bool takes_two_passes() const override {
    return half_ == Half::kTraining && s_.layout == Layout::kChannelsLast;
  }

 private:
  normgrad::Problem problem(DataType t) const {
    normgrad::Problem problem;
    problem.op = normgrad::Op::kBatchNormBackward;
    if (half_ == Half::kReduce) {
      problem[Arg::kSumDy] = tensor(t, {s_.c}, "sum_dy");
      problem[Arg::kSumDyXmu] = tensor(t, {s_.c}, "sum_dy_xmu");
    } else {
      problem[Arg::kDx] = s_.tensor(t, "dx");
      problem[Arg::kW] = tensor(t, {s_.c}, "w");
    }
    problem[Arg::kDw] = tensor(t, {s_.c}, "dw");
    problem[Arg::kDb] = tensor(t, {s_.c}, "db");
    problem[Arg::kDy] = s_.tensor(t, "dy");
    problem[Arg::kX] = s_.tensor(t, "x");
    problem[Arg::kMean] = tensor(t, {s_.c}, "mean");
    problem[Arg::kVar] = tensor(t, {s_.c}, "var");
    problem.eps = eps_;
    problem.training = half_ != Half::kInference;
    return problem;
  }

  void check_sums(std::int64_t c, const ChannelSums& of) const {
    expect(db_, c, of.db, of.db_t, "BatchNorm db");
    expect(dw_, c, of.dw, of.dw_t, "BatchNorm dw");
    if (half_ != Half::kReduce) return;
    expect(sum_dy_, c, of.db, of.db_t, "BatchNorm sum_dy");
    expect(sum_dy_xmu_, c, of.dw / of.r, of.dw_t / of.r, "BatchNorm sum_dy_xmu");
  }

  Channels s_;
  Half half_;
  double eps_;
  Array dx_, dw_, db_, sum_dy_, sum_dy_xmu_, dy_, x_, w_, mean_, var_;
  normgrad::Plan plan_;
  normgrad::Addresses data_;
  std::vector<std::byte> workspace_;
};

auto maker(Half half) {
  return [=](const Channels& s, DataType t) {
    return std::make_unique<BatchNormBackward>(s, t, half);
  };
}

}  // namespace

void add_batch_norm_backward(std::vector<Entry>& entries, Set set) {
  if (set == Set::kScaling) {
    std::vector<Channels> batches;
    for (const std::int64_t n : {1, 3, 8, 25, 80, 250, 800, 2500, 8000})
      batches.push_back({{n, 64, 14, 14}, Layout::kRowMajor});
    add_channel_entries(entries, "batch_norm_training", batches, maker(Half::kTraining));
    return;
  }
  if (set == Set::kCounted) {
    const Shape shape = {8, 64, 28, 28};
    add_channel_entries(entries, "batch_norm_training",
                        {{shape, Layout::kRowMajor}, {shape, Layout::kChannelsLast}},
                        maker(Half::kTraining));
    return;
  }
  const std::vector<Channels> all = all_channels();
  add_channel_entries(entries, "batch_norm_training", all, maker(Half::kTraining));
  add_channel_entries(entries, "batch_norm_training",
                      {{{32, 64, 56, 56}, Layout::kPadded}, {{32, 256, 14, 14}, Layout::kPadded}},
                      maker(Half::kTraining));
  add_channel_entries(entries, "batch_norm_inference", all, maker(Half::kInference));
  add_channel_entries(entries, "batch_norm_reduce", all, maker(Half::kReduce));
}

}  // namespace bench
