// RMSNorm backward that computes its own statistic, everything in one data type, as InfiniOp has
// it.
#include <cmath>

#include "rows.h"
#include "workload.h"

namespace bench {
namespace {

class RmsNorm : public Workload {
 public:
  RmsNorm(const Rows& s, DataType t)
      : s_(s),
        dx_(s.array(t)),
        dw_(t, s.columns),
        dy_(s.array(t)),
        w_(t, s.columns),
        x_(s.array(t)) {
    dy_.fill(-1, 1.125);
    w_.fill(0.5, 1.5);
    x_.fill(-3, 3.5);
    normgrad::Problem problem;
    problem.op = normgrad::Op::kRmsNormBackward;
    problem[Arg::kDx] = s.tensor(t, "dx");
    problem[Arg::kDy] = s.tensor(t, "dy");
    problem[Arg::kX] = s.tensor(t, "x");
    problem[Arg::kW] = tensor(t, {s.columns}, "w");
    problem[Arg::kDw] = tensor(t, {s.columns}, "dw");
    must(make_plan(problem, &plan_));
    workspace_.resize(plan_.workspace_bytes());
    data_[Arg::kDx] = dx_.data();
    data_[Arg::kDw] = dw_.data();
    data_[Arg::kDy] = dy_.data();
    data_[Arg::kW] = w_.data();
    data_[Arg::kX] = x_.data();
  }

  void run() override { must(normgrad::run(plan_, data_, workspace_.data(), workspace_.size())); }

  void check() const override {
    struct Column {
      double dw = 0, dw_t = 0;
    };
    std::vector<Column> column(static_cast<std::size_t>(s_.columns));
    for (std::int64_t row = 0; row < s_.rows; ++row) {
      const double r = check_row(row);
      const std::int64_t first = s_.begin(row);
      for (std::int64_t c = 0; c < s_.columns; ++c) {
        const double term = dy_[first + c] * x_[first + c] * r;
        column[static_cast<std::size_t>(c)].dw += term;
        column[static_cast<std::size_t>(c)].dw_t += std::abs(term);
      }
    }
    for (std::int64_t c = 0; c < s_.columns; ++c) {
      const Column& sums = column[static_cast<std::size_t>(c)];
      expect(dw_, c, sums.dw, sums.dw_t, "RMSNorm dw");
    }
  }

  Traffic traffic() const override {
    return {{dy_.bytes(), x_.bytes()}, dx_.bytes(), {w_.bytes()}, {dw_.bytes()}};
  }

 private:
  // dx = r*(g - x_hat*mean(g*x_hat)) with g = w*dy, x_hat = x*r, r = 1/sqrt(mean(x^2)), returned
  double check_row(std::int64_t row) const {
    const std::int64_t first = s_.begin(row);
    const auto n = static_cast<double>(s_.columns);
    double sum_xx = 0, sum_gx = 0, sum_gx_t = 0;
    for (std::int64_t c = 0; c < s_.columns; ++c) {
      const double x = x_[first + c], gx = w_[c] * dy_[first + c] * x;
      sum_xx += x * x;
      sum_gx += gx;
      sum_gx_t += std::abs(gx);
    }
    const double r = 1 / std::sqrt(sum_xx / n);
    for (std::int64_t c = 0; c < s_.columns; ++c) {
      const double g = w_[c] * dy_[first + c], x_hat = x_[first + c] * r;
      expect(dx_, first + c, r * (g - x_hat * (sum_gx * r / n)),
             r * (std::abs(g) + std::abs(x_hat) * (sum_gx_t * r / n)), "RMSNorm dx");
    }
    return r;
  }

  Rows s_;
  Array dx_, dw_, dy_, w_, x_;
  normgrad::Plan plan_;
  normgrad::Addresses data_;
  std::vector<std::byte> workspace_;
};

}  // namespace

void add_rms_norm_backward(std::vector<Entry>& entries, Set set) {
  add_row_entries(entries, "rms_norm", all_rows(set),
                  [](const Rows& s, DataType t) { return std::make_unique<RmsNorm>(s, t); });
}

}  // namespace bench
