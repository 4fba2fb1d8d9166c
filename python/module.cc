// The functions of the package normgrad for numpy and DLPack. Each makes the tensors of one problem of
// include/normgrad, and runs it with the GIL released.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <memory>

#include "arrays.h"
#include "normgrad/plan.h"
#include "normgrad/settings.h"
#include "torch/kernels.h"

namespace normgrad::python {
namespace {

using nb::literals::operator""_a;
using Object = const nb::object&;

// A problem and its arrays, by the names that the core has for them.
struct Call {
  explicit Call(Op op) { problem.op = op; }

  void set(Arg arg, const Array& array) {
    problem[arg] = array.tensor;
    addresses[arg] = array.data;
  }
  void run() const {
    const Status status = [&] {
      const nb::gil_scoped_release others_may_run;
      Plan plan;
      if (const Status made = make_plan(problem, &plan); made != Status::kOk) return made;
      const std::size_t bytes = plan.workspace_bytes();
      const std::unique_ptr<std::byte[]> workspace(new std::byte[bytes]);
      return normgrad::run(plan, addresses, workspace.get(), bytes);
    }();
    raise_unless_ok(status);
  }

  Problem problem;
  Addresses addresses;
};

Shape leading(const Array& array) {
  Shape shape = array.shape();
  if (!shape.empty()) shape.pop_back();
  return shape;
}
Shape last(const Array& array) {
  const Shape shape = array.shape();
  return shape.empty() ? Shape{} : Shape{shape.back()};
}
// (C). A channel axis that is none is refused by make_plan.
Shape channels(const Array& array, int axis) {
  return axis >= 0 && axis < array.tensor.rank ? Shape{array.tensor.shape[axis]} : Shape{0};
}
// Negative ones count from the end, as everywhere in Python.
int axis_of(const Array& array, int axis) { return axis < 0 ? axis + array.tensor.rank : axis; }
// Of the gradient of a parameter: that of the parameter, or of the data where there is none.
DataType dtype_like(const Array& parameter, const Array& data) {
  return parameter.tensor.present() ? parameter.tensor.dtype : data.tensor.dtype;
}

nb::tuple layer_norm(Object x_, Object weight, Object bias, double eps, Object out) {
  const Array x = required("x", x_), w = input("weight", weight), b = input("bias", bias);
  const auto place = split_out(out, 3);
  const Array y = output("y", place[0], x.tensor.dtype, x.shape()),
              mean = output("mean", place[1], DataType::kF64, leading(x)),
              rstd = output("rstd", place[2], DataType::kF64, leading(x));
  Call call(Op::kLayerNorm);
  call.set(Arg::kY, y), call.set(Arg::kMean, mean), call.set(Arg::kRstd, rstd);
  call.set(Arg::kX, x), call.set(Arg::kW, w), call.set(Arg::kB, b);
  call.problem.eps = eps;
  call.run();
  return nb::make_tuple(y.object, mean.object, rstd.object);
}

nb::tuple layer_norm_backward(Object dy_, Object x_, Object mean_, Object rstd_, Object weight,
                              Object out) {
  const Array dy = required("dy", dy_), x = required("x", x_), mean = required("mean", mean_),
              rstd = required("rstd", rstd_), w = input("weight", weight);
  const auto place = split_out(out, 3);
  const Array dx = output("dx", place[0], dy.tensor.dtype, dy.shape()),
              dw = output("dw", place[1], dtype_like(w, dy), last(dy)),
              db = output("db", place[2], dtype_like(w, dy), last(dy));
  Call call(Op::kLayerNormBackward);
  call.set(Arg::kDx, dx), call.set(Arg::kDw, dw), call.set(Arg::kDb, db);
  call.set(Arg::kDy, dy), call.set(Arg::kW, w);
  call.set(Arg::kX, x), call.set(Arg::kMean, mean), call.set(Arg::kRstd, rstd);
  call.run();
  return nb::make_tuple(dx.object, dw.object, db.object);
}

nb::tuple rms_norm(Object x_, Object weight, double eps, Object out) {
  const Array x = required("x", x_), w = input("weight", weight);
  const auto place = split_out(out, 2);
  const Array y = output("y", place[0], x.tensor.dtype, x.shape()),
              rstd = output("rstd", place[1], DataType::kF64, leading(x));
  Call call(Op::kRmsNorm);
  call.set(Arg::kY, y), call.set(Arg::kRstd, rstd), call.set(Arg::kX, x), call.set(Arg::kW, w);
  call.problem.eps = eps;
  call.run();
  return nb::make_tuple(y.object, rstd.object);
}

nb::tuple rms_norm_backward(Object dy_, Object x_, Object rstd_, Object weight, Object out) {
  const Array dy = required("dy", dy_), x = required("x", x_), rstd = input("rstd", rstd_),
              w = input("weight", weight);
  const auto place = split_out(out, 2);
  const Array dx = output("dx", place[0], dy.tensor.dtype, dy.shape()),
              dw = output("dw", place[1], dtype_like(w, dy), last(dy));
  Call call(Op::kRmsNormBackward);
  call.set(Arg::kDx, dx), call.set(Arg::kDw, dw), call.set(Arg::kDy, dy);
  call.set(Arg::kW, w), call.set(Arg::kX, x), call.set(Arg::kRstd, rstd);
  call.run();
  return nb::make_tuple(dx.object, dw.object);
}

// In training the running statistics are updated where they lie; in evaluation x is normalized with them, and y is all there is.
nb::tuple batch_norm(Object x_, Object weight, Object bias, Object running_mean, Object running_var,
                     bool training, double momentum, double eps, int channel_axis, Object out) {
  const Array x = required("x", x_), w = input("weight", weight), b = input("bias", bias);
  const int axis = axis_of(x, channel_axis);
  const auto place = split_out(out, training ? 3 : 1);
  const Array y = output("y", place[0], x.tensor.dtype, x.shape());
  const auto running = [&](const char* name, Object given) {
    if (!training) return required(name, given);
    return given.is_none() ? Array() : output(name, given, DataType::kF32, {});
  };
  const Array old_mean = running("running_mean", running_mean),
              old_var = running("running_var", running_var);
  Call call(Op::kBatchNorm);
  call.set(Arg::kY, y), call.set(Arg::kX, x), call.set(Arg::kW, w), call.set(Arg::kB, b);
  call.problem.eps = eps, call.problem.momentum = momentum;
  call.problem.training = training, call.problem.channel_axis = axis;
  if (!training) {
    call.set(Arg::kMean, old_mean), call.set(Arg::kVar, old_var);
    call.run();
    return nb::make_tuple(y.object);
  }
  const Array mean = output("mean", place[1], DataType::kF64, channels(x, axis)),
              rstd = output("rstd", place[2], DataType::kF64, channels(x, axis));
  call.set(Arg::kMean, mean), call.set(Arg::kRstd, rstd);
  call.set(Arg::kRunningMean, old_mean), call.set(Arg::kRunningVar, old_var);
  call.run();
  return nb::make_tuple(y.object, mean.object, rstd.object);
}

nb::tuple batch_norm_backward(Object dy_, Object x_, Object mean_, Object rstd_, Object weight,
                              bool training, int channel_axis, Object out) {
  const Array dy = required("dy", dy_), x = required("x", x_), mean = required("mean", mean_),
              rstd = required("rstd", rstd_), w = input("weight", weight);
  const int axis = axis_of(dy, channel_axis);
  const auto place = split_out(out, 3);
  const Array dx = output("dx", place[0], dy.tensor.dtype, dy.shape()),
              dw = output("dw", place[1], dtype_like(w, dy), channels(dy, axis)),
              db = output("db", place[2], dtype_like(w, dy), channels(dy, axis));
  Call call(Op::kBatchNormBackward);
  call.set(Arg::kDx, dx), call.set(Arg::kDw, dw), call.set(Arg::kDb, db);
  call.set(Arg::kDy, dy), call.set(Arg::kX, x), call.set(Arg::kW, w);
  call.set(Arg::kMean, mean), call.set(Arg::kRstd, rstd);
  call.problem.training = training, call.problem.channel_axis = axis;
  call.run();
  return nb::make_tuple(dx.object, dw.object, db.object);
}

nb::tuple batch_norm_reduce(Object dy_, Object x_, Object mean_, Object rstd_, int channel_axis,
                            Object out) {
  const Array dy = required("dy", dy_), x = required("x", x_), mean = required("mean", mean_),
              rstd = required("rstd", rstd_);
  const int axis = axis_of(dy, channel_axis);
  const auto place = split_out(out, 4);
  const auto result = [&](const char* name, std::size_t i) {
    return output(name, place[i], DataType::kF64, channels(dy, axis));
  };
  const Array sum_dy = result("sum_dy", 0), sum_dy_xmu = result("sum_dy_xmu", 1),
              dw = result("dw", 2), db = result("db", 3);
  Call call(Op::kBatchNormBackward);
  call.set(Arg::kSumDy, sum_dy), call.set(Arg::kSumDyXmu, sum_dy_xmu);
  call.set(Arg::kDw, dw), call.set(Arg::kDb, db), call.set(Arg::kDy, dy), call.set(Arg::kX, x);
  call.set(Arg::kMean, mean), call.set(Arg::kRstd, rstd);
  call.problem.channel_axis = axis;
  call.run();
  return nb::make_tuple(sum_dy.object, sum_dy_xmu.object, dw.object, db.object);
}

// A few numbers. Integers that the core does not take, such as numpy's own, are copied.
Array counts_of(Object given) {
  const Array counts = required("counts", given);
  using Code = nb::dlpack::dtype_code;
  const auto code = static_cast<Code>(counts.view.dtype().code);
  if (counts.tensor.dtype != DataType::kOther || (code != Code::Int && code != Code::UInt)) {
    return counts;
  }
  const nb::module_ numpy = nb::module_::import_("numpy");
  const char* const how = nb::hasattr(given, "__array__") ? "asarray" : "from_dlpack";
  return required("counts", numpy.attr(how)(given).attr("astype")("float64"));
}

nb::object batch_norm_elemt_backward(Object dy_, Object x_, Object mean_, Object rstd_,
                                     Object weight, Object sum_dy_, Object sum_dy_xmu_,
                                     Object counts_, int channel_axis, Object out) {
  const Array dy = required("dy", dy_), x = required("x", x_), mean = required("mean", mean_),
              rstd = required("rstd", rstd_), w = input("weight", weight),
              sum_dy = required("sum_dy", sum_dy_),
              sum_dy_xmu = required("sum_dy_xmu", sum_dy_xmu_), counts = counts_of(counts_);
  const Array dx = output("dx", split_out(out, 1)[0], dy.tensor.dtype, dy.shape());
  Call call(Op::kBatchNormElemtBackward);
  call.set(Arg::kDx, dx), call.set(Arg::kDy, dy), call.set(Arg::kX, x), call.set(Arg::kW, w);
  call.set(Arg::kMean, mean), call.set(Arg::kRstd, rstd);
  call.set(Arg::kSumDy, sum_dy), call.set(Arg::kSumDyXmu, sum_dy_xmu);
  call.set(Arg::kCounts, counts);
  call.problem.channel_axis = axis_of(dy, channel_axis);
  call.run();
  return dx.object;
}

}  // namespace
}  // namespace normgrad::python

NB_MODULE(_core, m) {
  using namespace normgrad::python;  // NOLINT
  m.doc() = "The functions of normgrad, in C++.";
  m.def("layer_norm", &layer_norm, "x"_a.none(), "weight"_a.none() = nb::none(),
        "bias"_a.none() = nb::none(), "eps"_a = 1e-5, nb::kw_only(), "out"_a.none() = nb::none(),
        nb::sig("def layer_norm(x: ArrayLike, weight: Optional[ArrayLike] = None, bias: "
                "Optional[ArrayLike] = None, eps: float = 1e-05, *, out: Out = None) -> "
                "Tuple[Array, Array, Array]"),
        R"(LayerNorm over the last dimension: (y, mean, rstd).

y = (x - mean)*rstd*weight + bias, with rstd = 1/sqrt(var + eps) of each row.
mean and rstd are float64, of the shape of x without its last dimension.)");
  m.def("layer_norm_backward", &layer_norm_backward, "dy"_a.none(), "x"_a.none(), "mean"_a.none(),
        "rstd"_a.none(), "weight"_a.none() = nb::none(), nb::kw_only(), "out"_a.none() = nb::none(),
        nb::sig("def layer_norm_backward(dy: ArrayLike, x: ArrayLike, mean: ArrayLike, rstd: "
                "ArrayLike, weight: Optional[ArrayLike] = None, *, out: Out = None) -> "
                "Tuple[Array, Array, Array]"),
        R"(Gradients of layer_norm: (dx, dw, db).

mean and rstd are those that layer_norm returned. dw and db have the type of weight, or of dy.)");
  m.def("rms_norm", &rms_norm, "x"_a.none(), "weight"_a.none() = nb::none(), "eps"_a = 1e-6,
        nb::kw_only(), "out"_a.none() = nb::none(),
        nb::sig("def rms_norm(x: ArrayLike, weight: Optional[ArrayLike] = None, eps: float = "
                "1e-06, *, out: Out = None) -> Tuple[Array, Array]"),
        R"(RMSNorm over the last dimension: (y, rstd).

y = x*rstd*weight, with rstd = 1/sqrt(mean(x^2) + eps) of each row, in float64.)");
  m.def("rms_norm_backward", &rms_norm_backward, "dy"_a.none(), "x"_a.none(),
        "rstd"_a.none() = nb::none(), "weight"_a.none() = nb::none(), nb::kw_only(),
        "out"_a.none() = nb::none(),
        nb::sig("def rms_norm_backward(dy: ArrayLike, x: ArrayLike, rstd: Optional[ArrayLike] = "
                "None, weight: Optional[ArrayLike] = None, *, out: Out = None) -> "
                "Tuple[Array, Array]"),
        R"(Gradients of rms_norm: (dx, dw).

rstd is the one that rms_norm returned; without it, it is computed from x, with eps = 0.)");
  m.def("batch_norm", &batch_norm, "x"_a.none(), "weight"_a.none() = nb::none(),
        "bias"_a.none() = nb::none(), "running_mean"_a.none() = nb::none(),
        "running_var"_a.none() = nb::none(), "training"_a = true, "momentum"_a = 0.1,
        "eps"_a = 1e-5, nb::kw_only(), "channel_axis"_a = 1, "out"_a.none() = nb::none(),
        nb::sig("def batch_norm(x: ArrayLike, weight: Optional[ArrayLike] = None, bias: "
                "Optional[ArrayLike] = None, running_mean: Optional[ArrayLike] = None, "
                "running_var: Optional[ArrayLike] = None, training: bool = True, momentum: float "
                "= 0.1, eps: float = 1e-05, *, channel_axis: int = 1, out: Out = None) -> "
                "Tuple[Array, ...]"),
        R"(BatchNorm: (y, mean, rstd), or in evaluation (y,).

training: the statistics are those of x; running_mean and running_var, where given, are updated in
place. Otherwise they are the statistics, and must be given.)");
  m.def("batch_norm_backward", &batch_norm_backward, "dy"_a.none(), "x"_a.none(), "mean"_a.none(),
        "rstd"_a.none(), "weight"_a.none() = nb::none(), "training"_a = true, nb::kw_only(),
        "channel_axis"_a = 1, "out"_a.none() = nb::none(),
        nb::sig("def batch_norm_backward(dy: ArrayLike, x: ArrayLike, mean: ArrayLike, "
                "rstd: ArrayLike, weight: Optional[ArrayLike] = "
                "None, training: bool = True, *, channel_axis: int = 1, out: Out = None) -> "
                "Tuple[Array, Array, Array]"),
        R"(Gradients of batch_norm: (dx, dw, db).

mean and rstd are those that batch_norm returned; in evaluation, running_mean and
1/sqrt(running_var + eps). training: the gradient goes through them; otherwise they are constants.
dw and db have the type of weight, or of dy.)");
  m.def(
      "batch_norm_reduce", &batch_norm_reduce, "dy"_a.none(), "x"_a.none(), "mean"_a.none(),
      "rstd"_a.none(), nb::kw_only(), "channel_axis"_a = 1, "out"_a.none() = nb::none(),
      nb::sig("def batch_norm_reduce(dy: ArrayLike, x: ArrayLike, mean: ArrayLike, "
              "rstd: ArrayLike, *, channel_axis: int = 1, out: Out = None) -> "
              "Tuple[Array, Array, Array, Array]"),
      R"(First half of SyncBatchNorm's gradient: (sum_dy, sum_dy_xmu, dw, db) of this part, in float64.

The first two are to be added up over all parts of the batch, for batch_norm_elemt_backward.)");
  m.def("batch_norm_elemt_backward", &batch_norm_elemt_backward, "dy"_a.none(), "x"_a.none(),
        "mean"_a.none(), "rstd"_a.none(), "weight"_a.none(), "sum_dy"_a.none(),
        "sum_dy_xmu"_a.none(), "counts"_a.none(), nb::kw_only(), "channel_axis"_a = 1,
        "out"_a.none() = nb::none(),
        nb::sig("def batch_norm_elemt_backward(dy: ArrayLike, x: ArrayLike, mean: "
                "ArrayLike, rstd: ArrayLike, weight: Optional[ArrayLike], "
                "sum_dy: ArrayLike, sum_dy_xmu: ArrayLike, counts: ArrayLike, *, channel_axis: "
                "int = 1, out: Out = None) -> Array"),
        R"(Second half of SyncBatchNorm's gradient: dx of this part.

sum_dy and sum_dy_xmu are added up over all parts; counts, integers or floating-point numbers, are
the elements per channel of each.)");
  m.def("set_num_threads", &normgrad::set_threads, "count"_a,
        "At most so many threads per call, whatever OpenMP or torch is set to; 0: as they are set. "
        "Returns what holds now.");
  m.def("get_num_threads", &normgrad::threads, "The number of threads that a call may take.");
  m.def(
      "set_arithmetic",
      [](const std::string& name) {
        if (name != "fast" && name != "exact") {
          throw nb::value_error("arithmetic must be \"fast\" or \"exact\"");
        }
        normgrad::set_arithmetic(name == "exact" ? normgrad::Arithmetic::kExact
                                                 : normgrad::Arithmetic::kFast);
      },
      "arithmetic"_a,
      "How results are computed from now on: \"fast\" (the default; f32 with fused multiply-add) "
      "or "
      "\"exact\" (f64, one rounding at the store; slow).");
  m.def(
      "get_arithmetic",
      [] {
        return std::string(normgrad::arithmetic() == normgrad::Arithmetic::kExact ? "exact"
                                                                                  : "fast");
      },
      "What set_arithmetic, or NORMGRAD_ARITHMETIC, has chosen.");
  m.def(
      "instruction_set",
      [] {
        constexpr const char* kNames[] = {"plain", "baseline", "sse4", "avx2", "avx512"};
        return std::string(kNames[static_cast<int>(normgrad::isa())]);
      },
      "What runs: plain (portable C++), baseline (arm64: NEON), avx2 or avx512. It changes the "
      "speed, "
      "never a bit.");
  add_torch_functions(m);
}
