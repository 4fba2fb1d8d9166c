// The weights of the forward row norms.
#if defined(NORMGRAD_OPS_ROW_NORM_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_ROW_NORM_ROWS_INL_H
#undef NORMGRAD_OPS_ROW_NORM_ROWS_INL_H
#else
#define NORMGRAD_OPS_ROW_NORM_ROWS_INL_H
#endif

#include <algorithm>
#include <limits>
#include <type_traits>

#include "runtime/sizes.h"
#include "kernels/sums-inl.h"
#include "ops/formulas-inl.h"
#include "ops/row_norm/row_norm.h"

NORMGRAD_TARGET_BEGIN

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
  const double value = kernels::to_double(kernels::read(from));
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
  kernels::with_element_type(tensor.dtype, [&](auto* type) {
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

NORMGRAD_TARGET_END
#endif
