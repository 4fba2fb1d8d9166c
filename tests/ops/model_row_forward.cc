// Statistics on the f64 tree for every data type: mean = sum(x)/D, then squares of x - mean;
// y = (x - mean)*s*w + b in A, or in f64 where s leaves the range of f32; f64 also takes off what
// rounding left of the mean. RMSNorm has neither mean nor b.
#include "ops/forward_tree.h"
#include "ops/model.h"

namespace ops_test {
namespace {

struct Row {
  const Problem& p;
  std::size_t first, columns;  // its elements
  bool centres = p.op == Op::kLayerNormForward;
  double mean = 0, rest = 0, rstd = 0;

  double x(std::size_t d) const { return p.value[kX][first + d]; }

  void compute() {
    const auto n = static_cast<double>(columns);
    if (centres) {
      const double sum = forward_sum(1, columns, [&](auto, auto d) { return x(d); });
      mean = sum / n;
      rest = std::fma(-n, mean, sum) / n;
      if (!std::isfinite(rest)) rest = 0;
    }
    const double squares = forward_sum(1, columns, [&](auto, auto d) {
      const double centred = centres ? x(d) - mean : x(d);
      return centred * centred;
    });
    rstd = 1.0 / std::sqrt(squares / n + p.eps);
  }

  template <class B>
  double y(std::size_t d) const {
    const auto s = static_cast<B>(rstd), w = static_cast<B>(p.has(kW) ? p.value[kW][d] : 1),
               b = static_cast<B>(p.has(kB) ? p.value[kB][d] : 0);
    if (!centres) return static_cast<B>(x(d)) * s * w;
    B centred = minus_mean<B>(x(d), mean);
    if (std::is_same_v<B, double>) centred -= static_cast<B>(rest);
    return centred * s * w + b;
  }
};

}  // namespace

template <class A>
Outputs row_forward_model(const Problem& p) {
  Outputs out;
  const RowExtents e = row_extents(p);
  for (std::size_t row = 0; row < e.rows; ++row) {
    if (e.columns == 0) {
      store(p, out, kMeanOut, row, 0);
      store(p, out, kRstdOut, row, std::nan(""));
      continue;
    }
    Row r{p, row * e.columns, e.columns};
    r.compute();
    store(p, out, kMeanOut, row, r.mean);
    store(p, out, kRstdOut, row, r.rstd);
    const bool fits = r.rstd >= 0x1p-60 && r.rstd <= 0x1p60;
    for (std::size_t d = 0; d < e.columns; ++d) {
      store(p, out, kY, r.first + d, fits ? r.y<A>(d) : r.y<double>(d));
    }
  }
  return out;
}

template Outputs row_forward_model<float>(const Problem&);
template Outputs row_forward_model<double>(const Problem&);

}  // namespace ops_test
