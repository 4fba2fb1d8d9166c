// BatchNorm backward, row-major, everything in one data type: in training with the variance as
// given (InfiniOp's BatchNormBackward), and in inference with eps added to it.
#include "normgrad/batch_norm_backward.h"

#include <cmath>

#include "workload.h"

namespace bench {
namespace {

using Shape = std::vector<std::int64_t>;  // batch, channels, the rest

std::int64_t product(const Shape& shape, std::size_t first) {
  std::int64_t result = 1;
  for (std::size_t d = first; d < shape.size(); ++d) result *= shape[d];
  return result;
}

class BatchNorm : public Workload {
 public:
  BatchNorm(const Shape& s, DataType t, bool training)
      : batch_(s[0]),
        channels_(s[1]),
        length_(product(s, 2)),
        eps_(training ? 0 : 1e-5),
        training_(training),
        dx_(t, product(s, 0)),
        dw_(t, channels_),
        db_(t, channels_),
        dy_(t, product(s, 0)),
        x_(t, product(s, 0)),
        w_(t, channels_),
        mean_(t, channels_),
        var_(t, channels_) {
    dy_.fill(-1, 1.125);
    x_.fill(-1.75, 2.25);
    w_.fill(0.5, 1.5);
    mean_.fill(0.125, 0.375);
    var_.fill(0.5, 2);
    normgrad::BatchNormBackward problem;
    problem.dx = tensor(t, s, "dx");
    problem.dy = tensor(t, s, "dy");
    problem.x = tensor(t, s, "x");
    problem.dw = tensor(t, {channels_}, "dw");
    problem.db = tensor(t, {channels_}, "db");
    problem.w = tensor(t, {channels_}, "w");
    problem.mean = tensor(t, {channels_}, "mean");
    problem.var = tensor(t, {channels_}, "var");
    problem.eps = eps_;
    problem.training = training_;
    must(make_plan(problem, &plan_));
    workspace_.resize(plan_.workspace_bytes);
    data_ = {.dx = dx_.data(),
             .dw = dw_.data(),
             .db = db_.data(),
             .dy = dy_.data(),
             .x = x_.data(),
             .w = w_.data(),
             .mean = mean_.data(),
             .var = var_.data()};
  }

  void run() override { must(normgrad::run(plan_, data_, workspace_.data(), workspace_.size())); }

  void check() const override {
    for (std::int64_t c = 0; c < channels_; ++c) check_channel(c);
  }

  Traffic traffic() const override {
    return {{dy_.bytes(), x_.bytes()},
            dx_.bytes(),
            {w_.bytes(), mean_.bytes(), var_.bytes()},
            {dw_.bytes(), db_.bytes()}};
  }

 private:
  struct Sums {
    double db = 0, db_t = 0, dw = 0, dw_t = 0;
  };

  // db = sum(dy), dw = sum(dy*x_hat) with x_hat = (x - mean)*r, r = 1/sqrt(var + eps)
  // dx = w*r*(dy - db/n - x_hat*dw/n) in training, w*r*dy in inference
  void check_channel(std::int64_t c) const {
    const double r = 1 / std::sqrt(var_[c] + eps_);
    Sums sums;
    for (std::int64_t n = 0; n < batch_; ++n) {
      const Sums image =
          image_sums(n, c, r);  // so that no sum has more than 2^16 terms in sequence
      sums.db += image.db;
      sums.db_t += image.db_t;
      sums.dw += image.dw;
      sums.dw_t += image.dw_t;
    }
    expect(db_, c, sums.db, sums.db_t, "BatchNorm db");
    expect(dw_, c, sums.dw, sums.dw_t, "BatchNorm dw");
    const double scale = training_ ? 1 / static_cast<double>(batch_ * length_) : 0;
    for (std::int64_t n = 0; n < batch_; ++n) {
      for (std::int64_t i = index(n, c); i < index(n, c) + length_; ++i) {
        const double dy = dy_[i], x_hat = (x_[i] - mean_[c]) * r, wr = w_[c] * r;
        expect(dx_, i, wr * (dy - sums.db * scale - x_hat * (sums.dw * scale)),
               wr * (std::abs(dy) + sums.db_t * scale + std::abs(x_hat) * (sums.dw_t * scale)),
               "BatchNorm dx");
      }
    }
  }

  Sums image_sums(std::int64_t n, std::int64_t c, double r) const {
    Sums sums;
    for (std::int64_t i = index(n, c); i < index(n, c) + length_; ++i) {
      const double dy = dy_[i], term = dy * ((x_[i] - mean_[c]) * r);
      sums.db += dy;
      sums.db_t += std::abs(dy);
      sums.dw += term;
      sums.dw_t += std::abs(term);
    }
    return sums;
  }

  std::int64_t index(std::int64_t n, std::int64_t c) const { return (n * channels_ + c) * length_; }

  std::int64_t batch_, channels_, length_;
  double eps_;
  bool training_;
  Array dx_, dw_, db_, dy_, x_, w_, mean_, var_;
  normgrad::Plan plan_;
  normgrad::BatchNormBackwardData data_;
  std::vector<std::byte> workspace_;
};

}  // namespace

void add_batch_norm_backward(std::vector<Entry>& entries) {
  const Shape shapes[] = {{32, 64, 56, 56}, {32, 256, 14, 14}, {8, 512, 7, 7},      {32, 64, 12544},
                          {128, 1024},      {4, 3, 224, 224},  {16, 32, 16, 28, 28}};
  for (const bool training : {true, false}) {
    for (const Shape& s : shapes) {
      for (const DataType t : kTypes) {
        entries.push_back({training ? "batch_norm_training" : "batch_norm_inference", join(s), t,
                           product(s, 0),
                           [=] { return std::make_unique<BatchNorm>(s, t, training); }});
      }
    }
  }
}

}  // namespace bench
