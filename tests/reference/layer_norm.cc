// a = dy*w;  dx = ((a - mean(a)) - x_hat*mean(a*x_hat))*s with s = 1/sigma;  dw = sum(dy*x_hat); db
// = sum(dy). y = w*x_hat + b, and mean and s depend on x: the path through the mean removes the
// mean of a, the path through s removes the component of a along x_hat. The order of evaluation
// decides the class of a non-finite result.
#include "reference/gradients.h"

namespace reference {
namespace {

struct Row {
  std::vector<Quad> a, x_hat;
  Quad s;
};

Row read_row(const RowNorm& in, std::size_t row, Magnitudes& seen) {
  const bool standardized = !in.sigma.empty();
  Row out{{}, {}, standardized ? 1 / Quad{in.sigma[row]} : Quad{in.rstd[row]}};
  for (std::size_t d = 0; d < in.columns; ++d) {
    const std::size_t i = row * in.columns + d;
    const Quad w = in.w.empty() ? 1 : in.w[d];
    const Quad centred = standardized ? Quad{0} : in.x[i] - Quad{in.mean[row]};
    const Quad x_hat = standardized ? Quad{in.x_hat[i]} : centred * out.s;
    if (!standardized) seen.note(in.x[i]);
    for (const Quad value : {Quad{in.dy[i]}, w, centred, x_hat}) seen.note(value);
    out.a.push_back(in.dy[i] * w);
    out.x_hat.push_back(x_hat);
  }
  return out;
}

void set_dx(const Row& row, Quad* dx, Quad* scale) {
  const std::size_t n = row.a.size();
  Quad sum_a = 0, sum_ax = 0, size_a = 0, size_ax = 0;
  for (std::size_t d = 0; d < n; ++d) {
    const Quad ax = row.a[d] * row.x_hat[d];
    sum_a += row.a[d];
    sum_ax += ax;
    size_a += magnitude(row.a[d]);
    size_ax += magnitude(ax);
  }
  const Quad count = static_cast<double>(n);
  const Quad c1 = sum_a / count, c2 = sum_ax / count;
  for (std::size_t d = 0; d < n; ++d) {
    dx[d] = ((row.a[d] - c1) - row.x_hat[d] * c2) * row.s;
    scale[d] = magnitude(row.s) *
               (magnitude(row.a[d]) + size_a / count + magnitude(row.x_hat[d]) * (size_ax / count));
  }
}

}  // namespace

Gradients layer_norm_backward(const RowNorm& in) {
  Gradients out{Expected(in.rows * in.columns), Expected(in.columns), Expected(in.columns), {}, {}};
  for (std::size_t r = 0; r < in.rows; ++r) {
    const Row row = read_row(in, r, out.seen);
    out.rstd.note(row.s);
    set_dx(row, &out.dx.value[r * in.columns], &out.dx.scale[r * in.columns]);
    for (std::size_t d = 0; d < in.columns; ++d) {
      const Quad dy = in.dy[r * in.columns + d];
      out.dw.add(d, dy * row.x_hat[d]);
      out.db.add(d, dy);
    }
  }
  return out;
}

}  // namespace reference
