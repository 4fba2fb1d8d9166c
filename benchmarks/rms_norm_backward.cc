// RMSNorm backward that computes its own statistic, everything in one data type, as InfiniOp has
// it.
#include "normgrad/rms_norm_backward.h"

#include <cmath>

#include "workload.h"

namespace bench {
namespace {

class RmsNorm : public Workload {
 public:
  RmsNorm(RowShape s, DataType t)
      : rows_(s.rows),
        columns_(s.columns),
        dx_(t, rows_ * columns_),
        dw_(t, columns_),
        dy_(t, rows_ * columns_),
        w_(t, columns_),
        x_(t, rows_ * columns_) {
    dy_.fill(-1, 1.125);
    w_.fill(0.5, 1.5);
    x_.fill(-3, 3.5);
    normgrad::RmsNormBackward problem;
    problem.dx = tensor(t, {rows_, columns_}, "dx");
    problem.dy = tensor(t, {rows_, columns_}, "dy");
    problem.x = tensor(t, {rows_, columns_}, "x");
    problem.w = tensor(t, {columns_}, "w");
    problem.dw = tensor(t, {columns_}, "dw");
    must(make_plan(problem, &plan_));
    workspace_.resize(plan_.workspace_bytes);
    data_ = {dx_.data(), dw_.data(), dy_.data(), w_.data(), x_.data(), nullptr};
  }

  void run() override { must(normgrad::run(plan_, data_, workspace_.data(), workspace_.size())); }

  void check() const override {
    struct Column {
      double dw = 0, dw_t = 0;
    };
    std::vector<Column> column(static_cast<std::size_t>(columns_));
    for (std::int64_t row = 0; row < rows_; ++row) {
      const double r = check_row(row);
      for (std::int64_t c = 0; c < columns_; ++c) {
        const double term = dy_[row * columns_ + c] * x_[row * columns_ + c] * r;
        column[static_cast<std::size_t>(c)].dw += term;
        column[static_cast<std::size_t>(c)].dw_t += std::abs(term);
      }
    }
    for (std::int64_t c = 0; c < columns_; ++c) {
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
    const std::int64_t first = row * columns_;
    const auto n = static_cast<double>(columns_);
    double sum_xx = 0, sum_gx = 0, sum_gx_t = 0;
    for (std::int64_t c = 0; c < columns_; ++c) {
      const double x = x_[first + c], gx = w_[c] * dy_[first + c] * x;
      sum_xx += x * x;
      sum_gx += gx;
      sum_gx_t += std::abs(gx);
    }
    const double r = 1 / std::sqrt(sum_xx / n);
    for (std::int64_t c = 0; c < columns_; ++c) {
      const double g = w_[c] * dy_[first + c], x_hat = x_[first + c] * r;
      expect(dx_, first + c, r * (g - x_hat * (sum_gx * r / n)),
             r * (std::abs(g) + std::abs(x_hat) * (sum_gx_t * r / n)), "RMSNorm dx");
    }
    return r;
  }

  std::int64_t rows_, columns_;
  Array dx_, dw_, dy_, w_, x_;
  normgrad::Plan plan_;
  normgrad::RmsNormBackwardData data_;
  std::vector<std::byte> workspace_;
};

}  // namespace

void add_rms_norm_backward(std::vector<Entry>& entries) {
  for (const RowShape s : kRowShapes) {
    for (const DataType t : kTypes) {
      entries.push_back({"rms_norm", Layout::kRowMajor, join({s.rows, s.columns}), t,
                         s.rows * s.columns, [=] { return std::make_unique<RmsNorm>(s, t); }});
    }
  }
}

}  // namespace bench
