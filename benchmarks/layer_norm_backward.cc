// LayerNorm backward from (x_hat, sigma), everything in one data type, as InfiniOp has it.
#include <cmath>

#include "rows.h"
#include "workload.h"

namespace bench {
namespace {

class LayerNorm : public Workload {
 public:
  LayerNorm(const Rows& s, DataType t)
      : s_(s),
        dx_(s.array(t)),
        dw_(t, s.columns),
        db_(t, s.columns),
        dy_(s.array(t)),
        w_(t, s.columns),
        x_hat_(s.array(t)),
        sigma_(t, s.rows) {
    dy_.fill(-1, 1.125);
    w_.fill(0.5, 1.5);
    x_hat_.fill(-1.75, 1.75);
    sigma_.fill(0.5, 2);
    normgrad::Problem problem;
    problem.op = normgrad::Op::kLayerNormBackward;
    problem[Arg::kDx] = s.tensor(t, "dx");
    problem[Arg::kDy] = s.tensor(t, "dy");
    problem[Arg::kXHat] = s.tensor(t, "x_hat");
    problem[Arg::kSigma] = s.row_tensor(t, "sigma");
    problem[Arg::kW] = tensor(t, {s.columns}, "w");
    problem[Arg::kDw] = tensor(t, {s.columns}, "dw");
    problem[Arg::kDb] = tensor(t, {s.columns}, "db");
    must(make_plan(problem, &plan_));
    workspace_.resize(plan_.workspace_bytes());
    data_[Arg::kDx] = dx_.data();
    data_[Arg::kDw] = dw_.data();
    data_[Arg::kDb] = db_.data();
    data_[Arg::kDy] = dy_.data();
    data_[Arg::kW] = w_.data();
    data_[Arg::kXHat] = x_hat_.data();
    data_[Arg::kSigma] = sigma_.data();
  }

  void run() override { must(normgrad::run(plan_, data_, workspace_.data(), workspace_.size())); }

  void check() const override {
    struct Column {
      double dw = 0, dw_t = 0, db = 0, db_t = 0;
    };
    std::vector<Column> column(static_cast<std::size_t>(s_.columns));
    for (std::int64_t row = 0; row < s_.rows; ++row) {
      check_row(row);
      const std::int64_t first = s_.begin(row);
      for (std::int64_t c = 0; c < s_.columns; ++c) {
        const double dy = dy_[first + c], x_hat = x_hat_[first + c];
        Column& sums = column[static_cast<std::size_t>(c)];
        sums.dw += dy * x_hat;
        sums.dw_t += std::abs(dy * x_hat);
        sums.db += dy;
        sums.db_t += std::abs(dy);
      }
    }
    for (std::int64_t c = 0; c < s_.columns; ++c) {
      const Column& sums = column[static_cast<std::size_t>(c)];
      expect(dw_, c, sums.dw, sums.dw_t, "LayerNorm dw");
      expect(db_, c, sums.db, sums.db_t, "LayerNorm db");
    }
  }

  Traffic traffic() const override {
    return {{dy_.bytes(), x_hat_.bytes()},
            dx_.bytes(),
            {w_.bytes(), sigma_.bytes()},
            {dw_.bytes(), db_.bytes()}};
  }

 private:
  // dx = (g - mean(g) - x_hat*mean(g*x_hat)) / sigma with g = w*dy
  void check_row(std::int64_t row) const {
    const std::int64_t first = s_.begin(row);
    double mean_g = 0, mean_g_t = 0, mean_gx = 0, mean_gx_t = 0;
    for (std::int64_t c = 0; c < s_.columns; ++c) {
      const double g = w_[c] * dy_[first + c], gx = g * x_hat_[first + c];
      mean_g += g;
      mean_g_t += std::abs(g);
      mean_gx += gx;
      mean_gx_t += std::abs(gx);
    }
    for (double* sum : {&mean_g, &mean_g_t, &mean_gx, &mean_gx_t})
      *sum /= static_cast<double>(s_.columns);
    for (std::int64_t c = 0; c < s_.columns; ++c) {
      const double g = w_[c] * dy_[first + c], x_hat = x_hat_[first + c];
      expect(dx_, first + c, (g - mean_g - x_hat * mean_gx) / sigma_[row],
             (std::abs(g) + mean_g_t + std::abs(x_hat) * mean_gx_t) / sigma_[row], "LayerNorm dx");
    }
  }

  Rows s_;
  Array dx_, dw_, db_, dy_, w_, x_hat_, sigma_;
  normgrad::Plan plan_;
  normgrad::Addresses data_;
  std::vector<std::byte> workspace_;
};

}  // namespace

void add_layer_norm_backward(std::vector<Entry>& entries, Set set) {
  std::vector<Rows> tensors = all_rows(set);
  if (set == Set::kWorkloads) tensors.push_back({{512, 16}, 768, Layout::kPermuted});
  add_row_entries(entries, "layer_norm", tensors,
                  [](const Rows& s, DataType t) { return std::make_unique<LayerNorm>(s, t); });
}

}  // namespace bench
