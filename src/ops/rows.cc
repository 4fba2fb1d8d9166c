#include "ops/rows.h"

#include "kernels/element.h"

namespace normgrad {
namespace {

// Tensors that only packed rows have.
constexpr Arg kOnlyPacked[] = {Arg::kX2,    Arg::kXBias, Arg::kXSum, Arg::kY2,
                               Arg::kScale, Arg::kShift, Arg::kDsum, Arg::kDx2};

// Strides of the leading dims of a tensor that may have fewer of them, or extents of 1.
void set_row_strides(const Tensor& tensor, const Tensor& data, int leading, int axes,
                     std::int64_t* strides, int d) {
  const bool has_all = tensor.rank == data.rank, has_some = tensor.rank > axes;
  const bool there = has_all || (has_some && d + 1 < leading);
  strides[d] = there && tensor.shape[d] == data.shape[d] ? tensor.strides[d] : 0;
}

// Of `rank` dims: neighbours are neighbours in memory.
bool is_dense_view(int rank, const std::int64_t* extents, const std::int64_t* strides) {
  std::int64_t expected = 1;
  for (int d = rank - 1; d >= 0; expected *= extents[d--]) {
    if (extents[d] != 1 && strides[d] != expected) return false;
  }
  return true;
}

// Calls body(i, offset) for elements [begin, end) in their order.
template <class Body>
void each_offset(int rank, const std::int64_t* extents, const std::int64_t* strides,
                 std::int64_t begin, std::int64_t end, Body&& body) {
  if (begin == end) return;  // an extent may be 0
  std::int64_t index[kMaxRank] = {}, offset = 0, rest = begin;
  for (int d = rank - 1; d >= 0; rest /= extents[d--]) {
    index[d] = rest % extents[d];
    offset += index[d] * strides[d];
  }
  for (std::int64_t i = begin; i < end; ++i) {
    body(i, offset);
    for (int d = rank - 1; d >= 0; --d) {
      offset += strides[d];
      if (++index[d] < extents[d]) break;
      offset -= extents[d] * strides[d];
      index[d] = 0;
    }
  }
}

// Whether kernels cannot walk the rows as they lie.
bool must_pack(const PlanBody& plan) {
  const Operator& op = *plan.op;
  const Tensor& data = plan.tensor(op.data);
  for (const Arg arg : kOnlyPacked) {
    if (plan.tensor(arg).present()) return true;
  }
  for (const Rule& rule : op.rules) {
    const Tensor& tensor = plan.tensor(rule.arg);
    if (rule.shape != Shape::kWhole || !tensor.present()) continue;
    const int leading = data.rank - plan.row_axes;
    if (tensor.dtype != data.dtype ||
        !is_dense_view(plan.row_axes, tensor.shape + leading, tensor.strides + leading)) {
      return true;
    }
  }
  const bool gives_x_hat = plan[Arg::kXHat].is_output && plan.tensor(Arg::kXHat).present();
  return gives_x_hat;
}

void copy_element(const void* from, void* to, std::int64_t size) {
  if (size == 2) {
    std::memcpy(to, from, 2);
  } else {
    std::memcpy(to, from, 4);
  }
}

}  // namespace

void split_rows(PlanBody& plan) {
  const Tensor& data = plan.tensor(plan.op->data);
  RowSplit& split = plan.row;
  const int leading = data.rank - plan.row_axes;
  split.columns = 1;
  for (int d = leading; d < data.rank; ++d) split.columns *= data.shape[d];
  split.rows = is_empty(data) ? 0 : 1;
  for (int d = 0; d < leading; ++d) {
    split.extents[d] = data.shape[d];
    if (split.rows > 0) split.rows *= data.shape[d];
    for (const Rule& rule : plan.op->rules) {
      const Tensor& tensor = plan.tensor(rule.arg);
      std::int64_t* strides = split.strides[index_of(rule.arg)];
      if (rule.shape == Shape::kWhole || rule.shape == Shape::kRows) strides[d] = tensor.strides[d];
      if (rule.shape == Shape::kSpread) {
        set_row_strides(tensor, data, leading, plan.row_axes, strides, d);
      }
    }
  }
  if (split.rows == 0) return;
  split.rank = collapse(leading, split.extents, split.strides, kArgs);
  split.packed = must_pack(plan);
  if (!split.packed) return;
  for (const Rule& rule : plan.op->rules) {
    const Tensor& tensor = plan.tensor(rule.arg);
    if (!tensor.present() || (rule.shape != Shape::kWhole && rule.shape != Shape::kSpread))
      continue;
    std::copy_n(tensor.strides + tensor.rank - plan.row_axes, plan.row_axes,
                split.column_strides[index_of(rule.arg)]);
  }
  std::copy_n(data.shape + leading, plan.row_axes, split.column_extents);
  split.column_rank = collapse(plan.row_axes, split.column_extents, split.column_strides, kArgs);
}

bool RowArguments::is_dense(int role) const {
  return is_dense_view(split_.column_rank, split_.column_extents, split_.column_strides[role]);
}

namespace {
// Elements of a row that do not lie side by side are brought together so many at a time.
constexpr std::int64_t kTogether = 64;
}  // namespace

void RowArguments::gather(Arg arg, std::int64_t row, Columns columns, Onto onto, double factor,
                          void* numbers) const {
  const int role = index_of(arg);
  const DataType dtype = plan_.tensor(arg).dtype;
  const std::int64_t size = size_of(dtype), row_at = offset(role, row);
  const kernels::Kernels& k = kernels::kernels_for(dtype, plan_.arithmetic);
  const auto* data = static_cast<const char*>(data_[role]) + row_at * size;
  const auto take = [&](const void* from, std::int64_t count, void* to) {
    if (onto == Onto::kSet) return k.widen(from, count, to);
    if (onto == Onto::kScale) return k.widen_scale(from, count, to);
    k.widen_add(factor, from, count, to);
  };
  if (is_dense(role)) return take(data + columns.begin * size, columns.count(), numbers);
  for (std::int64_t begin = columns.begin; begin < columns.end; begin += kTogether) {
    const std::int64_t end = std::min(columns.end, begin + kTogether);
    alignas(8) char elements[kTogether * 4];
    each_offset(split_.column_rank, split_.column_extents, split_.column_strides[role], begin, end,
                [&](std::int64_t c, std::int64_t at) {
                  copy_element(data + at * size, elements + (c - begin) * size, size);
                });
    take(elements, end - begin, static_cast<char*>(numbers) + (begin - columns.begin) * size_);
  }
}

void RowArguments::scatter(Arg arg, std::int64_t row, Columns columns, double factor,
                           const void* numbers) const {
  const int role = index_of(arg);
  if (!wanted(role)) return;
  const DataType dtype = plan_.tensor(arg).dtype;
  const std::int64_t size = size_of(dtype), row_at = offset(role, row);
  const kernels::Kernels& k = kernels::kernels_for(dtype, plan_.arithmetic);
  auto* data = static_cast<char*>(data_[role]) + row_at * size;
  if (is_dense(role)) {
    return k.narrow(factor, numbers, columns.count(), data + columns.begin * size);
  }
  for (std::int64_t begin = columns.begin; begin < columns.end; begin += kTogether) {
    const std::int64_t end = std::min(columns.end, begin + kTogether);
    alignas(8) char elements[kTogether * 4];
    k.narrow(factor, static_cast<const char*>(numbers) + (begin - columns.begin) * size_,
             end - begin, elements);
    each_offset(split_.column_rank, split_.column_extents, split_.column_strides[role], begin, end,
                [&](std::int64_t c, std::int64_t at) {
                  copy_element(elements + (c - begin) * size, data + at * size, size);
                });
  }
}

void RowArguments::load(const kernels::Rows& some, const RowTile& tile) const {
  const Columns columns = columns_of(some);
  const auto has = [&](Arg arg) { return wanted(index_of(arg)); };
  const bool of_x_hat = has(Arg::kXHat) && !plan_[Arg::kXHat].is_output;
  for (std::int64_t r = 0; r < some.rows; ++r) {
    const std::int64_t row = some.row + r;
    char* x = static_cast<char*>(tile.x) + r * some.x_stride;
    gather(of_x_hat ? Arg::kXHat : Arg::kX, row, columns, Onto::kSet, 1, x);
    if (has(Arg::kX2)) gather(Arg::kX2, row, columns, Onto::kAdd, plan_.alpha, x);
    if (has(Arg::kXBias)) gather(Arg::kXBias, row, columns, Onto::kAdd, 1, x);
    if (tile.g == nullptr) continue;
    char* g = static_cast<char*>(tile.g) + r * some.g_stride;
    gather(Arg::kDy, row, columns, Onto::kSet, 1, g);
    if (has(Arg::kScale)) gather(Arg::kScale, row, columns, Onto::kScale, 1, g);
  }
}

void RowArguments::load_parameter(const kernels::Kernels& k, int role, float absent,
                                  float* lanes) const {
  const std::int64_t pitch = kernels::padded(split_.columns);
  const Tensor& tensor = plan_.argument[role].tensor;
  const bool dense = is_dense_view(tensor.rank, tensor.shape, tensor.strides);
  if (!tensor.present()) return void(std::fill_n(lanes, pitch, absent));
  if (dense && !split_.packed && (tensor.dtype == DataType::kF32 || tensor.dtype == dtype_)) {
    return k.load_numbers(data_[role], tensor.dtype == DataType::kF32, split_.columns, lanes);
  }
  std::fill_n(lanes + pitch - kernels::kStepColumns, kernels::kStepColumns, 0.0f);
  if (dense && split_.packed) {
    const auto& from = kernels::kernels_for(tensor.dtype, Arithmetic::kFast);
    return from.widen(data_[role], split_.columns, lanes);
  }
  each_offset(tensor.rank, tensor.shape, tensor.strides, 0, split_.columns,
              [&](std::int64_t c, std::int64_t at) {
                lanes[kernels::lane_of(dtype_, c)] =
                    static_cast<float>(kernels::load_element(data_[role], tensor.dtype, at));
              });
}

void RowArguments::store_sums(const kernels::Kernels& k, int role, const double* sums,
                              Columns columns) const {
  if (!wanted(role)) return;
  const Tensor& tensor = plan_.argument[role].tensor;
  const bool of_kernels = tensor.dtype == DataType::kF32 || tensor.dtype == dtype_;
  if (of_kernels && is_dense_view(tensor.rank, tensor.shape, tensor.strides)) {
    char* to = static_cast<char*>(data_[role]) + columns.begin * size_of(tensor.dtype);
    return k.store_sums(sums + columns.begin, columns.count(), tensor.dtype == DataType::kF32, to);
  }
  each_offset(tensor.rank, tensor.shape, tensor.strides, columns.begin, columns.end,
              [&](std::int64_t c, std::int64_t at) {
                kernels::store_element(data_[role], tensor.dtype, at,
                                       sums[kernels::lane_of(dtype_, c)]);
              });
}

void RowArguments::clear_sums(int role) const {
  if (!wanted(role)) return;
  const Tensor& tensor = plan_.argument[role].tensor;
  each_offset(tensor.rank, tensor.shape, tensor.strides, 0, split_.columns,
              [&](std::int64_t, std::int64_t at) {
                kernels::store_element(data_[role], tensor.dtype, at, 0);
              });
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
