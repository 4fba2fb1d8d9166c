// BatchNorm backward, everything in one data type: in training with the variance as
// given (InfiniOp's BatchNormBackward), and in inference with eps added to it.
#include "normgrad/batch_norm_backward.h"

#include <cmath>

#include "channels.h"
#include "workload.h"

namespace bench {
namespace {

class BatchNorm : public Workload {
 public:
  BatchNorm(const Channels& s, DataType t, bool training)
      : s_(s),
        eps_(training ? 0 : 1e-5),
        training_(training),
        dx_(t, s.elements),
        dw_(t, s.c),
        db_(t, s.c),
        dy_(t, s.elements),
        x_(t, s.elements),
        w_(t, s.c),
        mean_(t, s.c),
        var_(t, s.c) {
    dy_.fill(-1, 1.125);
    x_.fill(-1.75, 2.25);
    w_.fill(0.5, 1.5);
    mean_.fill(0.125, 0.375);
    var_.fill(0.5, 2);
    normgrad::BatchNormBackward problem;
    problem.dx = s.tensor(t, "dx");
    problem.dy = s.tensor(t, "dy");
    problem.x = s.tensor(t, "x");
    problem.dw = tensor(t, {s.c}, "dw");
    problem.db = tensor(t, {s.c}, "db");
    problem.w = tensor(t, {s.c}, "w");
    problem.mean = tensor(t, {s.c}, "mean");
    problem.var = tensor(t, {s.c}, "var");
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

  // db = sum(dy), dw = sum(dy*x_hat) with x_hat = (x - mean)*r, r = 1/sqrt(var + eps)
  // dx = w*r*(dy - db/n - x_hat*dw/n) in training, w*r*dy in inference
  void check() const override {
    const std::vector<Channel> channels = channel_sums();
    for (std::int64_t c = 0; c < s_.c; ++c) {
      const Channel& sums = channels[static_cast<std::size_t>(c)];
      expect(db_, c, sums.db, sums.db_t, "BatchNorm db");
      expect(dw_, c, sums.dw, sums.dw_t, "BatchNorm dw");
    }
    const double scale = training_ ? 1 / static_cast<double>(s_.n * s_.l) : 0;
    for (std::int64_t n = 0; n < s_.n; ++n) {
      s_.for_image(n, [&](std::int64_t c, std::int64_t i) {
        const Channel& of = channels[static_cast<std::size_t>(c)];
        const double dy = dy_[i], x_hat = (x_[i] - of.mean) * of.r;
        expect(dx_, i, of.wr * (dy - of.db * scale - x_hat * (of.dw * scale)),
               of.wr * (std::abs(dy) + of.db_t * scale + std::abs(x_hat) * (of.dw_t * scale)),
               "BatchNorm dx");
      });
    }
  }

  Traffic traffic() const override {
    return {{dy_.bytes(), x_.bytes()},
            dx_.bytes(),
            {w_.bytes(), mean_.bytes(), var_.bytes()},
            {dw_.bytes(), db_.bytes()}};
  }

 private:
  struct Channel {
    double mean = 0, r = 0, wr = 0;
    double db = 0, db_t = 0, dw = 0, dw_t = 0;
  };

  std::vector<Channel> channel_sums() const {
    std::vector<Channel> channels(static_cast<std::size_t>(s_.c));
    for (std::int64_t c = 0; c < s_.c; ++c) {
      Channel& of = channels[static_cast<std::size_t>(c)];
      of.mean = mean_[c];
      of.r = 1 / std::sqrt(var_[c] + eps_);
      of.wr = w_[c] * of.r;
    }
    for (std::int64_t n = 0; n < s_.n; ++n) add_image(n, channels);
    return channels;
  }

  // Image by image, so that no sum has more than 2^16 terms in sequence.
  void add_image(std::int64_t n, std::vector<Channel>& channels) const {
    std::vector<Channel> image = channels;
    for (Channel& of : image) of.db = of.db_t = of.dw = of.dw_t = 0;
    s_.for_image(n, [&](std::int64_t c, std::int64_t i) {
      Channel& of = image[static_cast<std::size_t>(c)];
      const double dy = dy_[i], term = dy * ((x_[i] - of.mean) * of.r);
      of.db += dy;
      of.db_t += std::abs(dy);
      of.dw += term;
      of.dw_t += std::abs(term);
    });
    for (std::size_t c = 0; c < channels.size(); ++c) {
      channels[c].db += image[c].db;
      channels[c].db_t += image[c].db_t;
      channels[c].dw += image[c].dw;
      channels[c].dw_t += image[c].dw_t;
    }
  }

  Channels s_;
  double eps_;
  bool training_;
  Array dx_, dw_, db_, dy_, x_, w_, mean_, var_;
  normgrad::Plan plan_;
  normgrad::BatchNormBackwardData data_;
  std::vector<std::byte> workspace_;
};

}  // namespace

void add_batch_norm_backward(std::vector<Entry>& entries) {
  for (const bool training : {true, false}) {
    for (const Channels& s : all_channels()) {
      for (const DataType t : kTypes) {
        entries.push_back({training ? "batch_norm_training" : "batch_norm_inference", s.layout,
                           join(s.shape), t, s.elements,
                           [=] { return std::make_unique<BatchNorm>(s, t, training); }});
      }
    }
  }
}

}  // namespace bench
