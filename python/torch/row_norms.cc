// LayerNorm and RMSNorm for torch.
#include <algorithm>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>

#include "torch/kernel.h"

namespace normgrad::python {
namespace {

std::string text(const Arguments::Numbers& numbers) {
  std::string out = "(";
  for (int i = 0; i < std::min(numbers.count, kMostDims); ++i) {
    out += (i > 0 ? ", " : "") + std::to_string(numbers.at[i]);
  }
  return out + (numbers.count > kMostDims ? ", ...)" : ")");
}
std::string text(const TorchTensor& tensor) {
  Arguments::Numbers sizes{tensor.rank(), {}};
  for (int d = 0; d < std::min(sizes.count, kMostDims); ++d) sizes.at[d] = tensor.size(d);
  return text(sizes);
}

void check_same_shape(const TorchTensor& dy, const TorchTensor& x) {
  bool same = dy.rank() == x.rank();
  for (int d = 0; same && d < x.rank(); ++d) same = dy.size(d) == x.size(d);
  if (same) return;
  throw std::runtime_error("grad_output has shape " + text(dy) + ", but must have that of input, " +
                           text(x));
}

// The row norms: big tensors as rows, all in one way.
struct Rows {
  Arguments::Numbers normalized;
  int columns;  // dimensions that make up a row
  bool flat = true;

  explicit Rows(const Arguments::Numbers& shape) : normalized(shape), columns(shape.count) {}

  // To be called for each big tensor, all of one shape, before any is described.
  TorchTensor take(TorchTensor tensor) {
    if (columns < 1 || columns > tensor.rank() || !ends_with_normalized(tensor)) {
      throw std::runtime_error("the input has shape " + text(tensor) +
                               ", but must end with normalized_shape, " + text(normalized) +
                               ", which must not be empty");
    }
    if (!has_rows(tensor, columns) || tensor.rank() - columns >= kMaxRank) {
      tensor = std::move(tensor).contiguous();
    }
    flat = flat && tensor.is_contiguous();
    return tensor;
  }
  Tensor described_parameter(const char* name, const TorchTensor& tensor) const {
    if (tensor.present() && (tensor.rank() != columns || !ends_with_normalized(tensor))) {
      throw std::runtime_error(std::string(name) + " has shape " + text(tensor) +
                               ", but must have shape " + text(normalized));
    }
    return described_as_vector(name, tensor);
  }
  Tensor described(const char* name, const TorchTensor& tensor) const {
    return described_as_rows(name, tensor, columns, flat);
  }
  bool ends_with_normalized(const TorchTensor& tensor) const {
    const int leading = tensor.rank() - columns;
    for (int i = 0; i < columns; ++i) {
      if (tensor.size(leading + i) != normalized.at[i]) return false;
    }
    return true;
  }
  // A statistic: the leading dims, then ones, as torch has them.
  TorchTensor statistic(const TorchTensor& x) const {
    std::int64_t sizes[kMostDims];
    for (int d = 0; d < x.rank(); ++d) sizes[d] = d < x.rank() - columns ? x.size(d) : 1;
    return new_tensor(DataType::kF64, sizes, x.rank());
  }
  // One of x that is row-major, in whatever dimensions: torch takes those of all rows in one also.
  Tensor described_statistic(const char* name, const TorchTensor& statistic,
                             const TorchTensor& x) const {
    Tensor out;
    out.dtype = statistic.dtype();
    out.name = name;
    const int leading = x.rank() - columns;
    std::int64_t rows = 1;
    for (int d = 0; d < leading; ++d) rows *= x.size(d);
    if (flat || statistic.elements() != rows) {  // the core refuses another number
      out.rank = 1;
      out.shape[0] = statistic.elements();
      out.strides[0] = 1;
      return out;
    }
    out.rank = leading;
    for (int d = leading - 1; d >= 0; --d) {
      out.shape[d] = x.size(d);
      out.strides[d] = d == leading - 1 ? 1 : out.strides[d + 1] * out.shape[d + 1];
    }
    return out;
  }
};

// The gradient of a parameter, of its shape and type.
TorchTensor gradient_of(const TorchTensor& parameter, bool wanted) {
  return wanted && parameter.present() ? parameter.row_major_like() : TorchTensor();
}

template <bool kOfAten>
void native_layer_norm(Value* stack, std::uint64_t, std::uint64_t) {
  const bool forward_mode = in_forward_mode(), refused = forward_mode && !kOfAten;
  if (!refused && left_to_torch("normgrad::stock_native_layer_norm", stack, forward_mode)) return;
  Arguments in(stack);
  TorchTensor x = in.tensor();
  Rows rows(in.numbers());
  TorchTensor w = in.optional_tensor(), b = in.optional_tensor();
  const double eps = in.number();
  if (refused) refuse_forward_mode();
  x = rows.take(std::move(x)), w = std::move(w).contiguous(), b = std::move(b).contiguous();
  TorchTensor y = x.row_major_like(), mean = rows.statistic(x), rstd = rows.statistic(x);
  Call call(Op::kLayerNorm);
  call.set(Arg::kX, rows.described("input", x), x);
  call.set(Arg::kY, rows.described("output", y), y);
  call.set(Arg::kMean, rows.described_statistic("mean", mean, x), mean);
  call.set(Arg::kRstd, rows.described_statistic("rstd", rstd, x), rstd);
  call.set(Arg::kW, rows.described_parameter("weight", w), w);
  call.set(Arg::kB, rows.described_parameter("bias", b), b);
  call.problem.eps = eps;
  call.run();
  stack[0] = y.release(), stack[1] = mean.release(), stack[2] = rstd.release();
}

void native_layer_norm_backward(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock_native_layer_norm_backward", stack)) return;
  Arguments in(stack);
  TorchTensor dy = in.tensor(), x = in.tensor();
  Rows rows(in.numbers());
  TorchTensor mean = in.tensor(), rstd = in.tensor();
  TorchTensor w = in.optional_tensor(), b = in.optional_tensor();
  const Arguments::Flags wanted = in.flags();
  check_same_shape(dy, x);
  dy = rows.take(std::move(dy)), x = rows.take(std::move(x));
  mean = std::move(mean).contiguous(), rstd = std::move(rstd).contiguous();
  w = std::move(w).contiguous();
  TorchTensor dx = wanted.at[0] ? x.row_major_like() : TorchTensor();
  TorchTensor dw = gradient_of(w, wanted.at[1]), db = gradient_of(b, wanted.at[2]);
  Call call(Op::kLayerNormBackward);
  call.set(Arg::kDx, rows.described("grad_input", dx), dx);
  call.set(Arg::kDw, described_as_vector("grad_weight", dw), dw);
  call.set(Arg::kDb, described_as_vector("grad_bias", db), db);
  call.set(Arg::kDy, rows.described("grad_output", dy), dy);
  call.set(Arg::kX, rows.described("input", x), x);
  call.set(Arg::kMean, rows.described_statistic("mean", mean, x), mean);
  call.set(Arg::kRstd, rows.described_statistic("rstd", rstd, x), rstd);
  call.set(Arg::kW, rows.described_parameter("weight", w), w);
  call.run();
  stack[0] = dx.release(), stack[1] = dw.release(), stack[2] = db.release();
}

// torch's default of eps: the distance from 1 to the next number of the input's type, or of f32's for 16-bit inputs.
constexpr double kDefaultEps = std::numeric_limits<float>::epsilon();

template <bool kOfAten>
void fused_rms_norm(Value* stack, std::uint64_t, std::uint64_t) {
  const bool forward_mode = in_forward_mode(), refused = forward_mode && !kOfAten;
  if (!refused && left_to_torch("normgrad::stock__fused_rms_norm", stack, forward_mode)) return;
  Arguments in(stack);
  TorchTensor x = in.tensor();
  Rows rows(in.numbers());
  TorchTensor w = in.optional_tensor();
  const double eps = in.optional_number(kDefaultEps);
  if (refused) refuse_forward_mode();
  x = rows.take(std::move(x)), w = std::move(w).contiguous();
  TorchTensor y = x.row_major_like(), rstd = rows.statistic(x);
  Call call(Op::kRmsNorm);
  call.set(Arg::kX, rows.described("input", x), x);
  call.set(Arg::kY, rows.described("output", y), y);
  call.set(Arg::kRstd, rows.described_statistic("rstd", rstd, x), rstd);
  call.set(Arg::kW, rows.described_parameter("weight", w), w);
  call.problem.eps = eps;
  call.run();
  stack[0] = y.release(), stack[1] = rstd.release();
}

void fused_rms_norm_backward(Value* stack, std::uint64_t, std::uint64_t) {
  if (left_to_torch("normgrad::stock__fused_rms_norm_backward", stack)) return;
  Arguments in(stack);
  TorchTensor dy = in.tensor(), x = in.tensor();
  Rows rows(in.numbers());
  TorchTensor rstd = in.tensor(), w = in.optional_tensor();
  const Arguments::Flags wanted = in.flags();
  check_same_shape(dy, x);
  dy = rows.take(std::move(dy)), x = rows.take(std::move(x));
  rstd = std::move(rstd).contiguous(), w = std::move(w).contiguous();
  TorchTensor dx = wanted.at[0] ? x.row_major_like() : TorchTensor(),
              dw = gradient_of(w, wanted.at[1]);
  Call call(Op::kRmsNormBackward);
  call.set(Arg::kDx, rows.described("grad_input", dx), dx);
  call.set(Arg::kDw, described_as_vector("grad_weight", dw), dw);
  call.set(Arg::kDy, rows.described("grad_output", dy), dy);
  call.set(Arg::kX, rows.described("input", x), x);
  call.set(Arg::kRstd, rows.described_statistic("rstd", rstd, x), rstd);
  call.set(Arg::kW, rows.described_parameter("weight", w), w);
  call.run();
  stack[0] = dx.release(), stack[1] = dw.release();
}

constexpr Registration kBoth[] = {
    {"native_layer_norm_backward", native_layer_norm_backward},
    {"_fused_rms_norm_backward", fused_rms_norm_backward},
};
constexpr Registration kOfAten[] = {
    {"native_layer_norm", native_layer_norm<true>},
    {"_fused_rms_norm", fused_rms_norm<true>},
};
constexpr Registration kOfNormgrad[] = {
    {"native_layer_norm", native_layer_norm<false>},
    {"_fused_rms_norm", fused_rms_norm<false>},
};

}  // namespace

Kernels row_norms() { return {kBoth, std::size(kBoth)}; }
Kernels row_norms_of_aten() { return {kOfAten, std::size(kOfAten)}; }
Kernels row_norms_of_normgrad() { return {kOfNormgrad, std::size(kOfNormgrad)}; }

}  // namespace normgrad::python
