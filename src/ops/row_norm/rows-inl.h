// What the row norms read: rows in groups of 8, where they lie, what is given
// about them, and the weights.
#if defined(NORMGRAD_OPS_ROW_NORM_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_ROW_NORM_ROWS_INL_H
#undef NORMGRAD_OPS_ROW_NORM_ROWS_INL_H
#else
#define NORMGRAD_OPS_ROW_NORM_ROWS_INL_H
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/sizes.h"
#include "cpu/sums-inl.h"
#include "ops/formulas-inl.h"
#include "ops/row_norm/row_norm.h"

NORMGRAD_TARGET_BEGIN

template <typename E>
using PerRow = std::array<E, kGroupRows>;

// Whether x_hat, computed for the sums along rows, is kept for dx, which saves computing it again: of 16-bit data, bf16
// 4096x1024 0.34 -> 0.27 ns an element (2 threads, AVX-512, medians of 7). 8 rows of f64 would leave the nearest cache:
// f32 0.46 -> 0.51.
template <class F, typename T>
inline constexpr bool kKeepsXHat = F::kMakesXHat && sizeof(Arithmetic<T>) == 4;
// Of at most so many columns, in the order of the weights.
inline constexpr std::int64_t kMostKept = 4096;
// From row to row of what is kept: an odd number of cache lines, so that the rows do not share a few sets of the cache.
inline constexpr std::int64_t pitch_of_kept(std::int64_t columns) {
  return (ceil_div(columns, kLanes) | 1) * kLanes;
}

template <typename T>
struct RowGroup {
  int rows = 0;  // what is missing of a group repeats its last row
  PerRow<const T*> dy, x;
  PerRow<T*> dx;
  RowMap<PerRow<double>> map;
  bool in_f64 = false;            // of 16-bit data whose squares f32 has lost
  Arithmetic<T>* kept = nullptr;  // x_hat of the rows, if it is kept
  std::int64_t kept_pitch = 0;    // from row to row
};

// How far from a group's rows, in elements, those lie that are fetched from memory while the group is worked on.
struct Ahead {
  std::int64_t dy, x, dx;
};

// Calls f(a field of one map, the same of the other) for every field.
template <class P, class Q, class Body>
inline NORMGRAD_ALWAYS void for_fields(P& p, Q& q, Body&& f) {
  f(p.mean, q.mean);
  f(p.mean_low, q.mean_low);
  f(p.rstd, q.rstd);
  f(p.c1, q.c1);
  f(p.c2, q.c2);
}

// The maps in the type of the arithmetic.
template <typename B>
inline NORMGRAD_ALWAYS RowMap<PerRow<B>> rounded(const RowMap<PerRow<double>>& map) {
  RowMap<PerRow<B>> out;
  for_fields(map, out, [](const PerRow<double>& from, PerRow<B>& to) NORMGRAD_INLINE {
    for_vectors<double>(kGroupRows, [&](std::int64_t r, auto step) NORMGRAD_INLINE {
      store(load<double>(from.data() + r, step), to.data() + r, step);
    });
  });
  return out;
}
// That of one row, in every lane.
template <typename B>
inline NORMGRAD_ALWAYS RowMap<Vec<B>> spread(const RowMap<PerRow<B>>& map, int r) {
  return {all(map.mean[r]), all(map.mean_low[r]), all(map.rstd[r]), all(map.c1[r]), all(map.c2[r])};
}

// Weights lie in the order in which vectors of T take elements.
template <typename T>
inline std::int64_t weight_position(std::int64_t column) {
  if constexpr (!kAlternates<T, Arithmetic<T>>) return column;
  const std::int64_t in_pair = column % kLanes;
  return column - in_pair + in_pair % 2 * (kLanes / 2) + in_pair / 2;
}
// How far from `column` the vector that `step` takes there lies in an array of that order.
template <typename B>
inline NORMGRAD_ALWAYS std::int64_t place(auto) {
  return 0;
}
template <typename B>
inline NORMGRAD_ALWAYS std::int64_t place(Alternate<1>) {
  return kWidth<B>;
}
template <typename B>
inline NORMGRAD_ALWAYS std::int64_t place(AlternatePart<1>) {
  return kWidth<B>;
}
// Those of that vector.
template <typename B, typename T, class Step>
inline NORMGRAD_ALWAYS Vec<B> load_weights(const Arithmetic<T>* weights, std::int64_t column,
                                           Step step) {
  if constexpr (kAlternates<T, B>) {
    return load<B>(weights + column + place<B>(step));
  } else if constexpr (kAlternates<T, Arithmetic<T>>) {
    B in_order[kWidth<B>];
    for (std::int64_t j = 0; j < kWidth<B>; ++j)
      in_order[j] = weights[weight_position<T>(column + j)];
    return load<B>(in_order);
  } else {
    return load<B>(weights + column, step);
  }
}

// A NaN loses its payload: store_alternate() wants that.
template <typename E>
inline double number(const E* from) {
  const double value = cpu::to_double(cpu::read(from));
  return value == value ? value : std::numeric_limits<double>::quiet_NaN();
}

// A parameter of the columns as contiguous A (exact: each fits into f32) in the order of the loops; `absent` where there
// is none.
template <typename T>
void prepare_row_weights(const Tensor& tensor, const void* data, const RowSplit& split,
                         Arithmetic<T> absent, Arithmetic<T>* out) {
  using A = Arithmetic<T>;
  std::fill_n(out, row_weights(split), absent);
  if (!tensor.present()) return;
  cpu::with_element_type(tensor.dtype, [&](auto* type) {
    const auto* from = static_cast<const std::remove_pointer_t<decltype(type)>*>(data);
    for (std::int64_t c = 0; c < split.columns; ++c) {
      out[c] = static_cast<A>(number(from + c * tensor.strides[0]));
    }
  });
  if constexpr (!kAlternates<T, A>) return;
  for (std::int64_t c = 0; c < split.columns; c += kLanes) {
    A step[kLanes];
    std::copy_n(out + c, kLanes, step);
    for (std::int64_t j = 0; j < kLanes; ++j) out[c + weight_position<T>(j)] = step[j];
  }
}

template <typename T>
class Rows {
 public:
  using A = Arithmetic<T>;

  Rows(const Plan& plan, const RowRoles& roles, void* const* data)
      : plan_(plan), roles_(roles), split_(plan.row), data_(data) {}

  bool wanted(int role) const { return role != kAbsent && plan_.argument[role].tensor.present(); }

  // Where the rows from `row` on, before `end`, lie.
  void locate(std::int64_t row, std::int64_t end, RowGroup<T>& group) const {
    group.rows = static_cast<int>(std::min(kGroupRows, end - row));
    point(roles_.dy, row, group.rows, group.dy);
    point(roles_.x, row, group.rows, group.x);
    if (wanted(roles_.dx)) point(roles_.dx, row, group.rows, group.dx);
  }

  // From `row` to another; right for the rows after it too unless an outer dimension steps on in between.
  Ahead distance(std::int64_t row, std::int64_t other) const {
    const auto of = [&](int role) {
      return wanted(role) ? row_offset(split_, role, other) - row_offset(split_, role, row) : 0;
    };
    return {of(roles_.dy), of(roles_.x), of(roles_.dx)};
  }

  // Their given statistics; 0 elsewhere.
  void read_statistics(std::int64_t row, RowGroup<T>& group) const {
    RowMap<PerRow<double>>& map = group.map;
    for (PerRow<double>* field : {&map.mean, &map.mean_low, &map.rstd, &map.c1, &map.c2}) {
      field->fill(0);
    }
    if (wanted(roles_.mean)) {
      read(roles_.mean, row, group.rows, map.mean);
      for (int r = 0; r < kGroupRows; ++r) map.mean_low[r] = low_part<A>(map.mean[r]);
    }
    if (!wanted(roles_.rstd)) return;
    read(roles_.rstd, row, group.rows, map.rstd);
    if (!roles_.rstd_is_sigma) return;
    for (double& rstd : map.rstd) rstd = 1.0 / rstd;
  }

  void prepare_weights(A* out) const {
    prepare_row_weights<T>(plan_.argument[roles_.w].tensor, data_[roles_.w], split_, A{1}, out);
  }

 private:
  // Whether a group's rows are evenly spaced: unless an outer dimension steps on in between.
  bool are_even(std::int64_t row, int rows) const {
    const int inner = split_.rank - 1;
    return inner <= 0 || row % split_.extents[inner] + rows <= split_.extents[inner];
  }
  std::int64_t stride(int role) const {
    return split_.rank == 0 ? 0 : split_.strides[role][split_.rank - 1];
  }
  PerRow<std::int64_t> offsets(int role, std::int64_t row, int rows) const {
    PerRow<std::int64_t> at;
    at[0] = row_offset(split_, role, row);
    if (are_even(row, rows)) {
      const std::int64_t step = stride(role);
      for (int r = 1; r < kGroupRows; ++r) at[r] = at[r - 1] + (r < rows ? step : 0);
    } else {
      for (int r = 1; r < kGroupRows; ++r) {
        at[r] = row_offset(split_, role, row + std::min(r, rows - 1));
      }
    }
    return at;
  }
  template <typename E>
  void point(int role, std::int64_t row, int rows, PerRow<E*>& to) const {
    const PerRow<std::int64_t> at = offsets(role, row, rows);
    for (int r = 0; r < kGroupRows; ++r) to[r] = static_cast<E*>(data_[role]) + at[r];
  }
  void read(int role, std::int64_t row, int rows, PerRow<double>& to) const {
    if (plan_.argument[role].tensor.dtype == DataType::kF64 && stride(role) == 1 &&
        rows == kGroupRows && are_even(row, rows)) {  // as our own forward passes leave them
      const auto* from = static_cast<const double*>(data_[role]) + row_offset(split_, role, row);
      for (int r = 0; r < kGroupRows; ++r) to[r] = number(from + r);
      return;
    }
    const PerRow<std::int64_t> at = offsets(role, row, rows);
    cpu::with_element_type(plan_.argument[role].tensor.dtype, [&](auto* type) {
      const auto* from = static_cast<decltype(type)>(data_[role]);
      for (int r = 0; r < kGroupRows; ++r) to[r] = number(from + at[r]);
    });
  }

  const Plan& plan_;
  const RowRoles& roles_;
  const RowSplit& split_;
  void* const* data_;
};

NORMGRAD_TARGET_END
#endif
