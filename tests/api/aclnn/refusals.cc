#include "api/aclnn/refusals.h"

#include <climits>
#include <cmath>

namespace aclnn_test {
namespace {

constexpr int kNull = ACLNN_ERR_PARAM_NULLPTR;
constexpr int kInvalid = ACLNN_ERR_PARAM_INVALID;

class TensorRefusals {
 public:
  explicit TensorRefusals(const Operator& op) : op_(op) {
    for (i_ = 0; i_ < op.arguments.size(); ++i_) {
      handles();
      dtypes();
      formats();
      shapes();
      views();
    }
  }
  std::vector<Refusal> take() { return std::move(all_); }

 private:
  const Argument& argument() const { return op_.arguments[i_]; }

  void add(const std::string& what, int code, std::function<void(Call&)> spoil) {
    all_.push_back({argument().name + (' ' + what), code, argument().name, std::move(spoil)});
  }
  void add_spec(const std::string& what, std::function<void(Spec&)> spoil) {
    add(what, kInvalid, [i = i_, spoil](Call& call) { spoil(call.specs[i]); });
  }
  void replace(const std::string& what, int code, aclTensor* other) {
    add(what, code, [i = i_, other](Call& call) { call.replaced[i] = other; });
  }

  void handles() {
    static char foreign[4096];
    static const aclBoolArray* mask = all_wanted();
    const int code = argument().output ? op_.null_output_code : kNull;
    if (!argument().optional) replace("null", code, nullptr);
    replace("foreign", kInvalid, reinterpret_cast<aclTensor*>(foreign));
    replace("without address", kInvalid, sentinel<aclTensor>());
    replace("an array", kInvalid, reinterpret_cast<aclTensor*>(const_cast<aclBoolArray*>(mask)));
  }

  void dtypes() {
    if (argument().is_float) {
      add_spec("of 16 bits", [](Spec& spec) { spec.dtype = ACL_FLOAT16; });
    }
    const std::string name = argument().name;
    const bool counter = name == "counter" || name == "sampleCount";
    for (const int dtype : {2, 3, 9, 11, 12, 16, 27, -1, 99}) {
      if (!argument().is_float && (counter ? dtype == 3 : dtype == 27)) continue;  // allowed
      add_spec("of type " + std::to_string(dtype),
               [dtype](Spec& spec) { spec.dtype = static_cast<aclDataType>(dtype); });
    }
  }

  void formats() {
    for (const int format : {3, 4, 12, 29, 32, 33, 50, 54}) {
      add_spec("in private format " + std::to_string(format),
               [format](Spec& spec) { spec.format = static_cast<aclFormat>(format); });
    }
  }

  void shapes() {
    add_spec("of rank 9", [](Spec& spec) { spec.shape = std::vector<int64_t>(9, 1); });
    add_spec("with a negative extent", [](Spec& spec) { spec.shape[0] = -spec.shape[0]; });
    if (op_.is_row_norm) return row_shapes();
    const bool any_shape = op_.name == gather_stats().name || op_.name == stats().name ||
                           op_.name == batch_norm_reduce().name;
    if (argument().form == Form::kDevices && op_.has("counter")) return;  // any shape will do
    if (argument().form == Form::kData && any_shape) return;
    add_spec("a scalar", [](Spec& spec) { spec.shape = {}; });
    add_spec("with one dimension more", [](Spec& spec) { spec.shape.push_back(2); });
    for (std::size_t d = 0; d < (argument().form == Form::kData ? 3u : 1u); ++d) {
      if (d == 0 && std::string(argument().name) == "mean" && op_.has("counts"))
        continue;  // tells W
      add_spec("longer in dimension " + std::to_string(d), [d](Spec& spec) { ++spec.shape[d]; });
    }
  }

  // Numbers per row and sums down columns may have any shape of as many elements.
  void row_shapes() {
    const auto add_shape = [&](const std::string& what, std::function<void(Spec&)> spoil) {
      add(what, op_.shape_code, [i = i_, spoil](Call& call) { spoil(call.specs[i]); });
    };
    const bool is_data = argument().form == Form::kData;
    const bool defines_rows = argument().name == std::string("gamma");
    if (is_data && op_.least_rank > 0) add_spec("a scalar", [](Spec& spec) { spec.shape = {}; });
    if (defines_rows) return add_shape("longer", [](Spec& spec) { ++spec.shape[0]; });
    if (!is_data) add_shape("with one dimension more", [](Spec& spec) { spec.shape.push_back(2); });
    for (std::size_t d = 0; d < (is_data ? 3u : 1u); ++d) {
      const bool ends_rows = is_data && d == 2 && op_.takes_normalized_shape;
      const auto longer = [d](Spec& spec) { ++spec.shape[d]; };
      const std::string what = "longer in dimension " + std::to_string(d);
      ends_rows ? add_spec(what, longer) : add_shape(what, longer);
    }
  }

  void views() {
    add_spec("with a negative stride", [](Spec& spec) {
      spec.strides = contiguous_strides(spec.shape);
      spec.strides[0] = -1;
    });
    add_spec("with a negative offset", [](Spec& spec) { spec.offset = -1; });
    add_spec("past its storage by its offset", [](Spec& spec) { spec.offset = 1; });
    add_spec("past its storage by its strides", [](Spec& spec) {
      spec.strides = contiguous_strides(spec.shape);
      spec.strides[0] += 1;
    });
    add_spec("in too small a storage", [](Spec& spec) { spec.storage = {1}; });
    add_spec("in a negative storage", [](Spec& spec) { spec.storage = {-64, 2}; });
    add_spec("with a stride that overflows", [](Spec& spec) {
      spec.strides = contiguous_strides(spec.shape);
      spec.strides[0] = INT64_MAX;
      spec.storage = {INT64_MAX};
    });
    add_spec("with an offset that overflows", [](Spec& spec) {
      spec.offset = INT64_MAX;
      spec.storage = {INT64_MAX};
    });
    if (!argument().output) return;
    add_spec("that overlaps itself", [](Spec& spec) {
      spec.strides = contiguous_strides(spec.shape);
      spec.strides[0] = 0;
    });
  }

  const Operator& op_;
  std::size_t i_ = 0;
  std::vector<Refusal> all_;
};

// Changes one argument of the call.
std::function<void(Call&)> spec(const Operator& op, const std::string& argument,
                                std::function<void(Spec&)> change) {
  return [i = op.find(argument), change](Call& call) { change(call.specs[i]); };
}
std::function<void(Spec&)> dtype(aclDataType dtype) {
  return [dtype](Spec& spec) { spec.dtype = dtype; };
}
std::function<void(Spec&)> shape(std::vector<int64_t> shape) {
  return [shape](Spec& spec) { spec.shape = shape; };
}
std::function<void(Spec&)> format(aclFormat format) {
  return [format](Spec& spec) { spec.format = format; };
}
std::function<void(Call&)> null(const Operator& op, const std::string& argument) {
  return [i = op.find(argument)](Call& call) { call.replaced[i] = nullptr; };
}
std::function<void(Call&)> both(std::function<void(Call&)> a, std::function<void(Call&)> b) {
  return [a, b](Call& call) {
    a(call);
    b(call);
  };
}
// All tensors with all dimensions.
std::function<void(Call&)> data(const Operator& op, std::function<void(Spec&)> change) {
  return [&op, change](Call& call) {
    for (std::size_t i = 0; i < op.arguments.size(); ++i) {
      if (op.arguments[i].form == Form::kData) change(call.specs[i]);
    }
  };
}
std::function<void(Call&)> mask(const std::vector<bool>& values) {
  return [values](Call& call) {
    static std::map<std::vector<bool>, Mask> masks;
    call.attributes.mask = masks.try_emplace(values, values).first->second.get();
  };
}
std::function<void(Call&)> set(std::function<void(Attributes&)> change) {
  return [change](Call& call) { change(call.attributes); };
}

using Table = std::vector<Refusal>;

Table of_backward(const Operator& op) {
  const auto f16_data = data(op, dtype(ACL_FLOAT16));
  const auto inference = set([](Attributes& a) { a.training = false; });
  Table table = {
      {"mask null", kNull, "outputMask", set([](Attributes& a) { a.mask = nullptr; })},
      {"mask foreign", kInvalid, "outputMask",
       set([](Attributes& a) { a.mask = sentinel<aclBoolArray>(); })},
      {"mask of length 0", kNull, "outputMask", mask({})},
      {"mask of length 1", kInvalid, "outputMask", mask({true})},
      {"mask of length 2", kInvalid, "outputMask", mask({true, true})},
      {"mask of length 4", kInvalid, "outputMask", mask({true, true, true, true})},
      {"input of another type", kInvalid, "input", spec(op, "input", dtype(ACL_FLOAT16))},
      {"gradInput of another type", kInvalid, "gradInput",
       spec(op, "gradInput", dtype(ACL_FLOAT16))},
      {"gradOut in another format", kInvalid, "gradOut",
       spec(op, "gradOut", format(ACL_FORMAT_NCL))},
      {"gradInput in another format", kInvalid, "gradInput",
       spec(op, "gradInput", format(ACL_FORMAT_NCL))},
      {"rank 1", kInvalid, "input", data(op, shape({3}))},
      {"rank 9", kInvalid, "input", data(op, shape({2, 3, 1, 1, 1, 1, 1, 1, 1}))},
      {"inference, saveMean of 2", kInvalid, "saveMean",
       both(inference, spec(op, "saveMean", shape({2})))},
      {"inference, saveInvstd of 2", kInvalid, "saveInvstd",
       both(inference, spec(op, "saveInvstd", shape({2})))},
      {"training, saveMean of 0", kInvalid, "saveMean", spec(op, "saveMean", shape({0}))},
      {"training, saveInvstd of 0", kInvalid, "saveInvstd", spec(op, "saveInvstd", shape({0}))},
      // Which of two is found first.
      {"gradOut null, mask null", kNull, "gradOut",
       both(null(op, "gradOut"), set([](Attributes& a) { a.mask = nullptr; }))},
      {"mask of length 2, gradInput null", kInvalid, "outputMask",
       both(mask({true, false}), null(op, "gradInput"))},
      {"gradBias null, weight of a wrong type", kNull, "gradBias",
       both(null(op, "gradBias"), spec(op, "weight", dtype(ACL_INT8)))},
      {"a wrong type and a wrong format", kInvalid, "weight",
       both(spec(op, "weight", dtype(ACL_INT8)), spec(op, "input", format(ACL_FORMAT_NC1HWC0)))},
      {"a wrong format and a wrong shape", kInvalid, "saveMean",
       both(spec(op, "saveMean", format(ACL_FORMAT_NC1HWC0)), spec(op, "input", shape({7})))},
      {"a wrong data shape and a wrong vector", kInvalid, "gradOut",
       both(spec(op, "gradOut", shape({2, 3, 5})), spec(op, "weight", shape({9})))},
      {"weight and gradWeight of a wrong shape", kInvalid, "weight",
       both(spec(op, "weight", shape({9})), spec(op, "gradWeight", shape({9})))},
  };
  if (&op == &fast_batch_norm_backward()) {
    table.push_back({"version 2", kInvalid, "version", set([](Attributes& a) { a.version = 2; })});
    table.push_back(
        {"version -1", kInvalid, "version", set([](Attributes& a) { a.version = -1; })});
    return table;
  }
  const Table types = {
      {"f32 data, weight f16", kInvalid, "weight", spec(op, "weight", dtype(ACL_FLOAT16))},
      {"f32 data, runningMean f16", kInvalid, "runningMean",
       spec(op, "runningMean", dtype(ACL_FLOAT16))},
      {"f32 data, saveMean bf16", kInvalid, "saveMean", spec(op, "saveMean", dtype(ACL_BF16))},
      {"f16 data, weight bf16", kInvalid, "weight",
       both(f16_data, spec(op, "weight", dtype(ACL_BF16)))},
      {"f16 data, runningVar f16, runningMean f32", kInvalid, "runningVar",
       both(f16_data, spec(op, "runningVar", dtype(ACL_FLOAT16)))},
      {"f16 data, saveInvstd f16, saveMean f32", kInvalid, "saveInvstd",
       both(f16_data, spec(op, "saveInvstd", dtype(ACL_FLOAT16)))},
      {"weight f32, gradWeight f16", kInvalid, "gradWeight",
       spec(op, "gradWeight", dtype(ACL_FLOAT16))},
      {"weight f32, gradBias bf16", kInvalid, "gradBias", spec(op, "gradBias", dtype(ACL_BF16))},
      {"no weight, gradWeight f16, gradBias f32", kInvalid, "gradBias",
       both(null(op, "weight"), spec(op, "gradWeight", dtype(ACL_FLOAT16)))},
  };
  table.insert(table.end(), types.begin(), types.end());
  if (is_910b()) return table;
  for (const aclFormat other : {ACL_FORMAT_ND, ACL_FORMAT_NCHW, ACL_FORMAT_NHWC}) {
    table.push_back({"rank 5 in format " + std::to_string(other), kInvalid, "input",
                     both(data(op, shape({2, 3, 1, 2, 2})), data(op, format(other)))});
  }
  table.push_back(
      {"NHWC: 3 channels in axis 1", kInvalid, "weight", data(op, format(ACL_FORMAT_NHWC))});
  return table;
}

Table of_reduce_backward(const Operator& op) {
  return {
      {"input of another type", kInvalid, "input", spec(op, "input", dtype(ACL_FLOAT16))},
      {"gradOut in another format", kInvalid, "gradOut",
       spec(op, "gradOut", format(ACL_FORMAT_NHWC))},
      {"rank 1", kInvalid, "input", data(op, shape({3}))},
      {"no channels", kInvalid, "input", data(op, shape({2, 0, 4}))},
      {"no channels, input alone", kInvalid, "input", spec(op, "input", shape({2, 0, 4}))},
      {"gradOut null, sumDy null", kNull, "gradOut", both(null(op, "gradOut"), null(op, "sumDy"))},
      {"sumDyXmu null, private format", kNull, "sumDyXmu",
       both(null(op, "sumDyXmu"), spec(op, "gradOut", format(ACL_FORMAT_NC1HWC0)))},
      {"mean and sumDy of a wrong type", kInvalid, "mean",
       both(spec(op, "mean", dtype(ACL_INT8)), spec(op, "sumDy", dtype(ACL_INT8)))},
      {"sumDy of a wrong type, formats differ", kInvalid, "sumDy",
       both(spec(op, "sumDy", dtype(ACL_INT8)), spec(op, "input", format(ACL_FORMAT_NCHW)))},
      {"private format, rank 1", kInvalid, "mean",
       both(spec(op, "mean", format(ACL_FORMAT_NC1HWC0)), data(op, shape({3})))},
      {"gradOut and gradBias of a wrong shape", kInvalid, "gradBias",
       both(spec(op, "gradOut", shape({2, 3, 5})), spec(op, "gradBias", shape({4})))},
      {"no elements, but gradBias of a wrong shape", kInvalid, "gradBias",
       both(data(op, shape({2, 3, 0})), spec(op, "gradBias", shape({4})))},
  };
}

Table of_elemt_backward(const Operator& op) {
  return {
      {"input of another type", kInvalid, "input", spec(op, "input", dtype(ACL_FLOAT16))},
      {"gradInput of another type", kInvalid, "gradInput",
       spec(op, "gradInput", dtype(ACL_FLOAT16))},
      {"rank 1", kInvalid, "input", data(op, shape({3}))},
      {"no channels", kInvalid, "input", data(op, shape({2, 0, 4}))},
      {"counter int64", kInvalid, "counter", spec(op, "counter", dtype(ACL_INT64))},
      {"no elements, but mean of a wrong shape", kInvalid, "mean",
       both(data(op, shape({2, 3, 0})), spec(op, "mean", shape({4})))},
      {"counter null, mean of a wrong type", kNull, "counter",
       both(null(op, "counter"), spec(op, "mean", dtype(ACL_INT8)))},
      {"sumDy of a wrong type, rank 1", kInvalid, "sumDy",
       both(spec(op, "sumDy", dtype(ACL_INT8)), data(op, shape({3})))},
      {"private format, mean of a wrong shape", kInvalid, "weight",
       both(spec(op, "weight", format(ACL_FORMAT_NC1HWC0)), spec(op, "mean", shape({4})))},
  };
}

Table of_elemt(const Operator& op) {
  Table table = {
      {"rank 1", kInvalid, "input", data(op, shape({3}))},
      {"no channels", kInvalid, "input", data(op, shape({2, 0, 4}))},
      {"no elements, but bias of a wrong shape", kInvalid, "bias",
       both(data(op, shape({2, 3, 0})), spec(op, "bias", shape({4})))},
      {"mean null, input of a wrong type", kNull, "mean",
       both(null(op, "mean"), spec(op, "input", dtype(ACL_INT8)))},
  };
  table.push_back(
      {"output of another type", kInvalid, "output", spec(op, "output", dtype(ACL_BF16))});
  return table;
}

Table of_stats(const Operator& op) {
  return {
      {"rank 1", kInvalid, "input", data(op, shape({3}))},
      {"rank 0", kInvalid, "input", data(op, shape({}))},
      {"more channels than mean", kInvalid, "input", data(op, shape({2, 4, 4}))},
      {"no channels, but a mean", kInvalid, "mean", data(op, shape({2, 0, 4}))},
      {"no elements, but invstd of a wrong shape", kInvalid, "invstd",
       both(data(op, shape({0, 3, 4})), spec(op, "invstd", shape({1})))},
      {"invstd null, input of a wrong type", kNull, "invstd",
       both(null(op, "invstd"), spec(op, "input", dtype(ACL_INT8)))},
  };
}

Table of_gather_stats(const Operator& op) {
  return {
      {"rank 1", kInvalid, "input", data(op, shape({3}))},
      {"other channels than mean", kInvalid, "mean", data(op, shape({2, 4, 4}))},
      {"mean of other channels", kInvalid, "mean", spec(op, "mean", shape({2, 4}))},
      {"mean of more devices", kInvalid, "invstd", spec(op, "mean", shape({3, 3}))},
      {"mean of no devices", kInvalid, "invstd", spec(op, "mean", shape({0, 3}))},
      {"counts int32", kInvalid, "counts", spec(op, "counts", dtype(ACL_INT32))},
      {"counts null, mean of a wrong type", kNull, "counts",
       both(null(op, "counts"), spec(op, "mean", dtype(ACL_INT8)))},
      {"a wrong type and a wrong shape", kInvalid, "invstdAll",
       both(spec(op, "invstdAll", dtype(ACL_INT8)), spec(op, "mean", shape({2, 4})))},
  };
}

Table of_reduce(const Operator& op) {
  return {
      {"rank 1", kInvalid, "x", data(op, shape({3}))},
      {"more channels than sum", kInvalid, "x", data(op, shape({2, 4, 4}))},
      {"no elements, but squareSum of a wrong shape", kInvalid, "squareSum",
       both(data(op, shape({0, 3, 4})), spec(op, "squareSum", shape({1})))},
      {"sum null, x of a wrong type", kNull, "sum",
       both(null(op, "sum"), spec(op, "x", dtype(ACL_INT8)))},
      {"a wrong type and a private format", kInvalid, "squareSum",
       both(spec(op, "squareSum", dtype(ACL_INT8)), spec(op, "x", format(ACL_FORMAT_NC1HWC0)))},
  };
}

Table of_gather_sums(const Operator& op) {
  const auto no_devices = [&op](Call& call) {
    for (const char* name : {"totalSum", "totalSquareSum"}) call(op, name).shape = {0, 3};
    call(op, "sampleCount").shape = {0};
  };
  return {
      {"no devices", kInvalid, "totalSum", no_devices},
      {"totalSum of rank 1", kInvalid, "totalSum", spec(op, "totalSum", shape({3}))},
      {"totalSum of other channels", kInvalid, "totalSum", spec(op, "totalSum", shape({2, 4}))},
      {"sampleCount BF16", kInvalid, "sampleCount", spec(op, "sampleCount", dtype(ACL_BF16))},
      {"batchMean null, totalSum of a wrong type", kNull, "batchMean",
       both(null(op, "batchMean"), spec(op, "totalSum", dtype(ACL_INT8)))},
      {"a wrong type and a wrong shape", kInvalid, "batchInvstd",
       both(spec(op, "batchInvstd", dtype(ACL_INT8)), spec(op, "totalSum", shape({2, 4})))},
  };
}

// N, C, HxW and group, which must fit `data`.
Table of_sizes(const char* data) {
  return {
      {"group 0", kInvalid, "group", set([](Attributes& a) { a.group = 0; })},
      {"group -1", kInvalid, "group", set([](Attributes& a) { a.group = -1; })},
      {"group 2 of 3 channels", kInvalid, "group", set([](Attributes& a) { a.group = 2; })},
      {"another N", kInvalid, data, set([](Attributes& a) { a.n = 3; })},
      {"another C", kInvalid, data, set([](Attributes& a) { a.c = 6; })},
      {"another HxW", kInvalid, data, set([](Attributes& a) { a.l = 5; })},
      {"a negative HxW", kInvalid, data, set([](Attributes& a) { a.l = -4; })},
  };
}

Table of_group_norm(const Operator& op) {
  Table table = of_sizes("self");
  for (const double eps : {0.0, -1e-5, std::nan("")}) {
    table.push_back({"eps " + std::to_string(eps), kInvalid, "eps",
                     set([eps](Attributes& a) { a.eps = eps; })});
  }
  const Table more = {
      {"out of another type", kInvalid, "out", spec(op, "out", dtype(ACL_FLOAT16))},
      {"rstdOut of another type than meanOut", kInvalid, "meanOut",
       spec(op, "meanOut", dtype(ACL_FLOAT16))},
      {"one mean for all", kInvalid, "meanOut", set([](Attributes& a) { a.group = 1; })},
      {"rank 1", kInvalid, "self", data(op, shape({3}))},
      {"out null, self of a wrong type", kNull, "out",
       both(null(op, "out"), spec(op, "self", dtype(ACL_INT8)))},
  };
  table.insert(table.end(), more.begin(), more.end());
  return table;
}

Table of_group_norm_backward(const Operator& op) {
  Table table = of_sizes("input");
  const Table more = {
      {"mask null", kInvalid, "outputMask", set([](Attributes& a) { a.mask = nullptr; })},
      {"mask of length 0", kInvalid, "outputMask", mask({})},
      {"mask of length 2", kInvalid, "outputMask", mask({true, true})},
      {"input of another type", kInvalid, "gradOut", spec(op, "input", dtype(ACL_FLOAT16))},
      {"rank 1", kInvalid, "input", data(op, shape({3}))},
      {"mean null, mask null", kNull, "mean",
       both(null(op, "mean"), set([](Attributes& a) { a.mask = nullptr; }))},
      {"mask of length 2, gradInput null", kInvalid, "outputMask",
       both(mask({true, false}), null(op, "gradInput"))},
      {"gradBetaOut null, input of a wrong type", kInvalid, "gradBetaOut",
       both(null(op, "gradBetaOut"), spec(op, "input", dtype(ACL_INT8)))},
  };
  table.insert(table.end(), more.begin(), more.end());
  return table;
}

Table of_batch_norm(const Operator& op) {
  Table table = {
      {"output of another type", kInvalid, "output", spec(op, "output", dtype(ACL_FLOAT16))},
      {"output in another format", kInvalid, "output", spec(op, "output", format(ACL_FORMAT_NCL))},
      {"rank 1", kInvalid, "input", data(op, shape({3}))},
      {"saveMean null, weight of a wrong type", kNull, "saveMean",
       both(null(op, "saveMean"), spec(op, "weight", dtype(ACL_INT8)))},
      {"a wrong type and a wrong format", kInvalid, "bias",
       both(spec(op, "bias", dtype(ACL_INT8)), spec(op, "input", format(ACL_FORMAT_NC1HWC0)))},
      {"no elements, but saveMean of a wrong shape", kInvalid, "saveMean",
       both(data(op, shape({0, 3, 4})), spec(op, "saveMean", shape({4})))},
      {"no elements, but saveInvstd of a wrong type", kInvalid, "saveInvstd",
       both(data(op, shape({0, 3, 4})), spec(op, "saveInvstd", dtype(ACL_INT8)))},
      {"no elements, but saveMean null", kNull, "saveMean",
       both(data(op, shape({0, 3, 4})), null(op, "saveMean"))},
      {"inference, output null", kNull, "output",
       both(set([](Attributes& a) { a.training = false; }), null(op, "output"))},
  };
  for (const aclFormat other : {ACL_FORMAT_ND, ACL_FORMAT_NCHW, ACL_FORMAT_NHWC}) {
    table.push_back({"rank 5 in format " + std::to_string(other), kInvalid, "input",
                     both(data(op, shape({2, 3, 1, 2, 2})), data(op, format(other)))});
  }
  if (is_910b()) {
    table.push_back({"rank 5 in NDHWC", kInvalid, "input",
                     both(data(op, shape({2, 3, 1, 2, 2})), data(op, format(ACL_FORMAT_NDHWC)))});
  }
  return table;
}

Table of_row_norm(const Operator& op) {
  const std::string first = op.arguments[0].name, last = op.arguments.back().name;
  const int shapes = op.shape_code;
  const auto halves = [&op](Call& call) {
    for (std::size_t i = 0; i < op.arguments.size(); ++i) {
      if (!op.arguments[i].is_float) call.specs[i].dtype = ACL_FLOAT16;
    }
  };
  Table table = {
      {"rank 9", kInvalid, first, spec(op, first, shape({2, 3, 1, 1, 1, 1, 1, 1, 4}))},
      {"a wrong type and a private format", kInvalid, last,
       both(spec(op, last, dtype(ACL_INT8)), spec(op, first, format(ACL_FORMAT_NC1HWC0)))},
      {"a private format and a wrong shape", kInvalid, last,
       both(spec(op, last, format(ACL_FORMAT_NC1HWC0)), spec(op, first, shape({7, 3, 4})))},
      {"null and a wrong type", kNull, first,
       both(null(op, first), spec(op, last, dtype(ACL_INT8)))},
  };
  for (const Argument& argument : op.arguments) {
    if (argument.form != Form::kRow || argument.output ||
        argument.name == std::string("biasOptional"))
      continue;
    table.push_back({argument.name + std::string(" of another 16 bits"), kInvalid, argument.name,
                     both(halves, spec(op, argument.name, dtype(ACL_BF16)))});
  }
  if (op.takes_normalized_shape) {
    static const std::int64_t kExtents[] = {3, 4, 5};
    static const aclIntArray* const wrong = aclCreateIntArray(kExtents + 2, 1);
    static const aclIntArray* const long_one = aclCreateIntArray(kExtents, 2);
    static const aclIntArray* const none = aclCreateIntArray(kExtents, 0);
    const auto normalized = [](const aclIntArray* array) {
      return set([array](Attributes& a) { a.normalized = array; });
    };
    const char* name = "normalizedShape";
    table.insert(
        table.end(),
        {{"normalizedShape null", kNull, name, normalized(nullptr)},
         {"normalizedShape foreign", kInvalid, name, normalized(sentinel<aclIntArray>())},
         {"normalizedShape of 5", kInvalid, name, normalized(wrong)},
         {"normalizedShape empty", kInvalid, name, normalized(none)},
         {"weight of one axis for rows of two", kInvalid,
          op.name == "aclnnAdaLayerNormBackward" ? name : "weightOptional", normalized(long_one)}});
  }
  if (op.name == "aclnnLayerNormWithImplMode") {
    for (const int mode : {-1, 3}) {
      table.push_back({"implMode " + std::to_string(mode), kInvalid, "implMode",
                       set([mode](Attributes& a) { a.version = mode; })});
    }
    table.push_back(
        {"implMode 2 with FLOAT", kInvalid, "implMode", set([](Attributes& a) { a.version = 2; })});
  }
  if (op.name == "aclnnLayerNormBackward") {
    table.insert(table.end(),
                 {{"mask null", kNull, "outputMask", set([](Attributes& a) { a.mask = nullptr; })},
                  {"mask of length 2", kInvalid, "outputMask", mask({true, true})},
                  {"mask of length 0", kInvalid, "outputMask", mask({})},
                  {"mask of length 2, gradBiasOut null", kInvalid, "outputMask",
                   both(mask({true, false}), null(op, "gradBiasOut"))},
                  {"mean of other rows", shapes, "mean", spec(op, "mean", shape({3, 3}))}});
  }
  if (op.name == "aclnnAddLayerNorm") {
    table.push_back({"x1 and x2 of two 16 bits", kInvalid, "x2",
                     both(spec(op, "x1", dtype(ACL_FLOAT16)), spec(op, "x2", dtype(ACL_BF16)))});
    table.push_back(
        {"x2 of 16 bits, y too", kInvalid, "yOut",
         both(spec(op, "x2", dtype(ACL_FLOAT16)), spec(op, "yOut", dtype(ACL_FLOAT16)))});
  }
  return table;
}

}  // namespace

Call valid_call(const Operator& op, const std::vector<int64_t>& shape) {
  return {specs_for(op, shape), {}, attributes_for(shape)};
}

std::vector<Refusal> refusals_of_tensors(const Operator& op) { return TensorRefusals(op).take(); }

std::vector<Refusal> refusals_of(const Operator& op) {
  if (op.is_row_norm) return of_row_norm(op);
  if (&op == &batch_norm()) return of_batch_norm(op);
  if (&op == &reduce_backward()) return of_reduce_backward(op);
  if (&op == &elemt()) return of_elemt(op);
  if (&op == &elemt_backward()) return of_elemt_backward(op);
  if (&op == &stats()) return of_stats(op);
  if (&op == &gather_stats()) return of_gather_stats(op);
  if (&op == &batch_norm_reduce()) return of_reduce(op);
  if (&op == &gather_sums()) return of_gather_sums(op);
  if (&op == &group_norm()) return of_group_norm(op);
  if (&op == &group_norm_backward()) return of_group_norm_backward(op);
  return of_backward(op);
}

void expect_refused(const Operator& op, const Refusal& refusal) {
  SCOPED_TRACE(op.name + ": " + refusal.what);
  Call call = valid_call(op);
  refusal.spoil(call);
  Tensors tensors(call.specs);
  for (const auto& [i, other] : call.replaced) tensors[i] = other;
  auto* executor = sentinel<aclOpExecutor>();
  uint64_t workspace_size = 4711;
  const int code = op.phase_one(tensors.data(), call.attributes, &workspace_size, &executor);
  EXPECT_TRUE(fails_with(refusal.code, code, op.phase_one_name(), refusal.argument));
  EXPECT_EQ(executor, sentinel<aclOpExecutor>()) << "*executor was written";
  EXPECT_EQ(workspace_size, 4711u) << "*workspaceSize was written";
  EXPECT_TRUE(tensors.untouched()) << "a tensor was written";
}

int code_of(const Operator& op, const Call& call) {
  Tensors tensors(call.specs);
  for (const auto& [i, other] : call.replaced) tensors[i] = other;
  aclOpExecutor* executor = nullptr;
  uint64_t workspace_size = 0;
  const int code = op.phase_one(tensors.data(), call.attributes, &workspace_size, &executor);
  EXPECT_TRUE(tensors.untouched());
  if (code == 0) {
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  }
  return code;
}

}  // namespace aclnn_test
