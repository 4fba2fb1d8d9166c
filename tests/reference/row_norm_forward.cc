// mean = sum(x)/D;  var = sum((x - mean)^2)/D;  s = 1/sqrt(var + eps);  y = (x - mean)*s*w + b.
// RMSNorm: nothing is centred: s = 1/sqrt(sum(x^2)/D + eps);  y = x*s*w.
#include <cmath>

#include "reference/forward.h"

namespace reference {
namespace {

enum class Centre { kMean, kZero };

struct Row {
  Quad mean = 0, size_x = 0, s = 1;
  Quad mean_size = 0;  // mean(|x - mean|); 0 where nothing is centred
};

Row read_row(const RowForward& in, std::size_t row, Centre centre) {
  Row out;
  Quad sum = 0, squares = 0;
  const Quad n = static_cast<double>(in.columns);
  const double* x = in.x.data() + row * in.columns;
  for (std::size_t d = 0; d < in.columns; ++d) {
    sum += x[d];
    out.size_x += magnitude(x[d]);
  }
  if (centre == Centre::kMean) out.mean = sum / n;
  for (std::size_t d = 0; d < in.columns; ++d) {
    const Quad centred = x[d] - out.mean;
    squares += centred * centred;
    if (centre == Centre::kMean) out.mean_size += magnitude(centred) / n;
  }
  out.s = 1 / square_root(squares / n + in.eps);
  return out;
}

void set_y(const RowForward& in, std::size_t row, const Row& r, Forward& out) {
  for (std::size_t d = 0; d < in.columns; ++d) {
    const std::size_t i = row * in.columns + d;
    const Quad w = in.w.empty() ? 1 : in.w[d], b = in.b.empty() ? 0 : in.b[d];
    const Quad centred = in.x[i] - r.mean, term = centred * r.s * w;
    const Quad scale = (magnitude(centred) + r.mean_size) * magnitude(r.s * w);
    out.y.set(i, term + b, scale + magnitude(b));
    for (const Quad value : {Quad{in.x[i]}, centred, centred * r.s, w, b}) out.seen.note(value);
  }
  out.rstd_seen.note(r.s);
}

Forward forward(const RowForward& in, Centre centre) {
  Forward out;
  out.y = Expected(in.x.size());
  out.mean = Expected(in.rows);
  out.rstd = Expected(in.rows);
  for (std::size_t row = 0; row < in.rows; ++row) {
    if (in.columns == 0) {
      out.rstd.set(row, std::nan(""), std::nan(""));
      continue;
    }
    const Row r = read_row(in, row, centre);
    out.mean.set(row, r.mean, r.size_x / static_cast<double>(in.columns));
    out.rstd.set(row, r.s, magnitude(r.s));
    set_y(in, row, r, out);
  }
  return out;
}

}  // namespace

Forward layer_norm_forward(const RowForward& in) { return forward(in, Centre::kMean); }
Forward rms_norm_forward(const RowForward& in) { return forward(in, Centre::kZero); }

}  // namespace reference
