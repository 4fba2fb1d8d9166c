// r = 1/sqrt(mean(x^2)) unless given;  a = dy*w;  c = r*sum(a*x)/D;  dx = r*(a - x*(r*c));  dw =
// sum((dy*x)*r). Nothing was centred, so only the component of a along x_hat = x*r is removed.
#include "reference/gradients.h"

namespace reference {
namespace {

Quad own_rstd(const double* x, std::size_t n) {
  Quad sum = 0;
  for (std::size_t d = 0; d < n; ++d) sum += Quad{x[d]} * x[d];
  return 1 / square_root(sum / static_cast<double>(n));
}

void backward_row(const RowNorm& in, std::size_t row, Gradients& out) {
  const std::size_t n = in.columns, first = row * n;
  const double *x = &in.x[first], *dy = &in.dy[first];
  const Quad r = in.rstd.empty() ? own_rstd(x, n) : Quad{in.rstd[row]};
  const Quad count = static_cast<double>(n);
  out.rstd.note(r);
  std::vector<Quad> a(n);
  Quad sum_ax = 0, size_ax = 0;
  for (std::size_t d = 0; d < n; ++d) {
    const Quad w = in.w.empty() ? 1 : in.w[d];
    a[d] = dy[d] * w;
    sum_ax += a[d] * x[d];
    size_ax += magnitude(a[d] * x[d]);
    for (const Quad value : {Quad{dy[d]}, w, Quad{x[d]}, x[d] * r}) out.seen.note(value);
  }
  const Quad c = r * sum_ax / count;
  for (std::size_t d = 0; d < n; ++d) {
    const Quad x_hat = magnitude(x[d] * r);
    out.dx.set(first + d, r * (a[d] - x[d] * (r * c)),
               magnitude(r) * (magnitude(a[d]) + x_hat * (magnitude(r) * size_ax / count)));
    out.dw.add(d, (Quad{dy[d]} * x[d]) * r);
  }
}

}  // namespace

Gradients rms_norm_backward(const RowNorm& in) {
  Gradients out{Expected(in.rows * in.columns), Expected(in.columns), Expected(), {}, {}};
  if (in.columns == 0) return out;
  for (std::size_t row = 0; row < in.rows; ++row) backward_row(in, row, out);
  return out;
}

}  // namespace reference
