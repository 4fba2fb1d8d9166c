#include "ops/rows.h"

#include "kernels/element.h"

namespace normgrad {

void split_rows(PlanBody& plan) {
  const Tensor& data = plan.tensor(plan.op->data);
  RowSplit& split = plan.row;
  split.columns = data.shape[data.rank - 1];
  split.rows = is_empty(data) ? 0 : 1;
  for (int d = 0; d + 1 < data.rank; ++d) {
    split.extents[d] = data.shape[d];
    if (split.rows > 0) split.rows *= data.shape[d];
    for (const Rule& rule : plan.op->rules) {
      if (rule.shape != Shape::kWhole && rule.shape != Shape::kRows) continue;
      split.strides[index_of(rule.arg)][d] = plan.tensor(rule.arg).strides[d];
    }
  }
  if (split.rows > 0) split.rank = collapse(data.rank - 1, split.extents, split.strides, kArgs);
}

void RowArguments::load_parameter(const kernels::Kernels& k, int role, float absent,
                                  float* lanes) const {
  const std::int64_t pitch = kernels::padded(split_.columns);
  const Tensor& tensor = plan_.argument[role].tensor;
  if (!tensor.present()) {
    std::fill_n(lanes, pitch, absent);
  } else if (tensor.strides[0] == 1) {
    k.load_numbers(data_[role], tensor.dtype == DataType::kF32, split_.columns, lanes);
  } else {
    std::fill_n(lanes + pitch - kernels::kStepColumns, kernels::kStepColumns, 0.0f);
    for (std::int64_t c = 0; c < split_.columns; ++c) {
      lanes[kernels::lane_of(dtype_, c)] = static_cast<float>(
          kernels::load_element(data_[role], tensor.dtype, c * tensor.strides[0]));
    }
  }
}

void RowArguments::read_numbers(int role, std::int64_t row, std::int64_t count, double absent,
                                double* to) const {
  if (!wanted(role)) {
    std::fill_n(to, count, absent);
    return;
  }
  kernels::with_element_type(plan_.argument[role].tensor.dtype, [&](auto* type) {
    const auto* from = static_cast<decltype(type)>(data_[role]) + offset(role, row);
    const std::int64_t apart = step(role);
    for (std::int64_t r = 0; r < count; ++r) {
      to[r] = kernels::to_double(kernels::read(from + r * apart));
    }
  });
}

void RowArguments::write_numbers(int role, std::int64_t row, std::int64_t count,
                                 const double* from) const {
  if (!wanted(role)) return;
  kernels::with_element_type(plan_.argument[role].tensor.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    T* to = static_cast<T*>(data_[role]) + offset(role, row);
    const auto put = [&](auto apart) {
      for (std::int64_t r = 0; r < count; ++r) {
        kernels::write(to + r * apart, kernels::round_to<T>(from[r]));
      }
    };
    if (step(role) == 1) return put(std::integral_constant<std::int64_t, 1>());
    put(step(role));
  });
}

}  // namespace normgrad
