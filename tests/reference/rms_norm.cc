// r = 1/sqrt(mean(x^2)) unless given;  a = dy*w;  x_hat = x*r;  dx = r*(a - x_hat*mean(a*x_hat));  dw = sum(dy*x_hat).
// Nothing was centred, so only the component of a along x_hat is removed. The order of evaluation decides the class of a
// non-finite result.
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
  std::vector<Quad> a(n), x_hat(n);
  Quad sum = 0, size = 0;  // of a*x_hat
  for (std::size_t d = 0; d < n; ++d) {
    const Quad w = in.w.empty() ? 1 : in.w[d];
    a[d] = dy[d] * w;
    x_hat[d] = x[d] * r;
    sum += a[d] * x_hat[d];
    size += magnitude(a[d] * x_hat[d]);
    for (const Quad value : {Quad{dy[d]}, w, Quad{x[d]}, x_hat[d]}) out.seen.note(value);
  }
  for (std::size_t d = 0; d < n; ++d) {
    out.dx.set(first + d, r * (a[d] - x_hat[d] * (sum / count)),
               magnitude(r) * (magnitude(a[d]) + magnitude(x_hat[d]) * (size / count)));
    out.dw.add(d, dy[d] * x_hat[d]);
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
