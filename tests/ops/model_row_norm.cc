// LayerNorm and RMSNorm backward. Sums along a row give the coefficients of its dx; dw and db are sums down columns.
//   LayerNorm of x_hat           mean 0, r 1, scale 1/sigma     c1 = mean(a), c2 = mean(a*x_n)       a = dy*w
//   LayerNorm of x, mean, rstd   r and scale rstd               c1 = mean(a), c2 = mean(a*x_n)
//   RMSNorm, rstd given          mean 0, r and scale rstd       c1 = 0,       c2 = mean(a*x_n)
//   RMSNorm                      r and scale 1/sqrt(mean(x^2))  c1 = 0,       c2 = r*mean(a*x)
#include "ops/dx_map.h"

namespace ops_test {
namespace {

constexpr std::size_t kColumnBlock = 8192;

struct RowSums {
  double first,
      second;  // a, and a*x_n or, in fast, a*(x - mean); if r is the row's own, a*x and x*x
};

struct RowModel {
  const Problem& p;
  Arithmetic arithmetic;
  RowExtents e = row_extents(p);
  Slot x_slot = p.has(kXHat) ? kXHat : kX;
  bool own_r = p.op == Op::kRmsNorm && !p.has(kRstd);

  double dy(std::size_t i) const { return p.value[kDy][i]; }
  double x(std::size_t i) const { return p.value[x_slot][i]; }
  double a(Arithmetic in, std::size_t i) const {
    return product(in, dy(i), p.has(kW) ? p.value[kW][i % e.columns] : 1);
  }

  // sum(term(i)) over the elements of a row.
  template <class TermAt>
  double row_sum(Arithmetic in, std::size_t row, const TermAt& term) const {
    std::vector<double> blocks;
    for (const Range block : parts_of(e.columns, p.row_block)) {
      Totals totals(in, p.data_format());
      totals.add_piece(block.end - block.begin,
                       [&](std::size_t d) { return term(row * e.columns + block.begin + d); });
      blocks.push_back(totals.sum());
    }
    return fold(blocks);
  }

  RowSums sums(Arithmetic in, std::size_t row, const DxMap& map) const {
    if (own_r) {
      return {row_sum(in, row,
                      [&](std::size_t i) {
                        return Term{a(in, i), x(i)};
                      }),
              row_sum(in, row, [&](std::size_t i) {
                return Term{x(i), x(i)};
              })};
    }
    const auto second = [&](std::size_t i) {
      const bool fast = in == Arithmetic::kFast;
      return Term{a(in, i), fast ? centred(in, x(i), map.mean) : map.x_n(x(i))};
    };
    return {row_sum(in, row, [&](std::size_t i) { return Term{a(in, i)}; }),
            row_sum(in, row, second)};
  }

  // Sums that fast arithmetic cannot use.
  bool are_bad(const RowSums& s) const {
    return !std::isfinite(s.first) || !std::isfinite(s.second) ||
           (own_r && !(s.second >= 0x1p-100 && s.second <= 0x1p120));
  }

  DxMap given_statistics(std::size_t row) const {
    DxMap map;
    if (p.has(kMean)) map.mean = p.value[kMean][row];
    if (p.has(kRstd)) map.r = map.scale = p.value[kRstd][row];
    if (p.has(kSigma)) map.scale = 1.0 / p.value[kSigma][row];
    return map;
  }

  struct Row {
    DxMap map;
    Arithmetic arithmetic;  // in fast a row that does not fit is exact
  };
  Row make_row(std::size_t row) const {
    Row out{given_statistics(row), arithmetic};
    const RowSums fast =
        arithmetic == Arithmetic::kFast ? sums(arithmetic, row, out.map) : RowSums{};
    if (arithmetic == Arithmetic::kFast && !are_bad(fast)) {
      // Fast sums a*(x - mean).
      finish({fast.first, own_r ? fast.second : fast.second * out.map.r}, out.map);
      if (in_range(out.map.r) && out.map.fits_fast()) return out;
    }
    out.arithmetic = Arithmetic::kExact;
    finish(sums(Arithmetic::kExact, row, out.map), out.map);
    return out;
  }
  void finish(const RowSums& s, DxMap& map) const {
    const double share = 1 / static_cast<double>(e.columns);
    if (own_r) map.r = map.scale = 1.0 / std::sqrt(s.second * share);
    if (p.op == Op::kLayerNorm) map.c1 = s.first * share;
    map.c2 = own_r ? s.first * map.r * share : s.second * share;
  }

  // Long rows, few of them, are one block each column.
  std::vector<Block> blocks() const {
    const bool wide = e.columns > kColumnBlock && e.rows < 256;
    return row_blocks(e.rows, wide ? whole_groups(e.rows) : block_rows_of(e.rows));
  }

  // A term of dw onto a chain. The exact term of fast arithmetic goes onto the sum itself.
  double add_dw(const Row& row, std::size_t i, double sum) const {
    if (row.arithmetic == Arithmetic::kExact) return sum + dy(i) * row.map.x_n(x(i));
    const double g =
        p.has(kXHat) ? dy(i) : product(row.arithmetic, dy(i), static_cast<float>(row.map.r));
    return multiply_add(row.arithmetic, g, centred(row.arithmetic, x(i), row.map.mean), sum);
  }
  double add_db(const Row& row, std::size_t i, double sum) const {
    return multiply_add(row.arithmetic, dy(i), 1, sum);
  }

  template <class AddTerm>
  double column(const std::vector<Row>& rows, std::size_t d, const AddTerm& add) const {
    return column_sum(blocks(), [&](Range group, double& sum) {
      double chain = 0;
      for (std::size_t r = group.begin; r < group.end; ++r) {
        double& to = rows[r].arithmetic == arithmetic ? chain : sum;
        to = add(rows[r], r * e.columns + d, to);
      }
      sum += chain;
    });
  }
};

}  // namespace

Outputs row_norm_model(const Problem& p, Arithmetic arithmetic) {
  Outputs out;
  const RowModel model{p, arithmetic};
  const std::size_t columns = model.e.columns;
  std::vector<RowModel::Row> rows;
  for (std::size_t r = 0; r < model.e.rows && columns > 0; ++r) {
    rows.push_back(model.make_row(r));
    const auto& [map, in] = rows.back();
    for (std::size_t i = r * columns; i < (r + 1) * columns; ++i) {
      store(p, out, kDx, i, map.dx(in, model.a(in, i), model.x(i)));
    }
  }
  using Row = RowModel::Row;
  for (std::size_t d = 0; d < columns; ++d) {
    if (p.has(kDw)) {
      store(p, out, kDw, d, model.column(rows, d, [&](const Row& row, std::size_t i, double sum) {
        return model.add_dw(row, i, sum);
      }));
    }
    if (p.has(kDb)) {
      store(p, out, kDb, d, model.column(rows, d, [&](const Row& row, std::size_t i, double sum) {
        return model.add_db(row, i, sum);
      }));
    }
  }
  return out;
}

}  // namespace ops_test
