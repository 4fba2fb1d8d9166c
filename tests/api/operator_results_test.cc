// What the operators compute, seen through the C API: translation of arguments, strides, life
// cycle. The arithmetic itself is tested in tests/ops.
#include <array>
#include <cstdint>
#include <cstring>
#include <thread>

#include "api/operators.h"
#include "normgrad/last_error.h"
#include "reference/criterion.h"
#include "reference/forward.h"

namespace api_test {
namespace {

using reference::Format;

Format format_of(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F16    ? Format::kF16
         : dtype == INFINI_DTYPE_BF16 ? Format::kBF16
                                      : Format::kF32;
}

// A tensor in memory, elements addressed in row-major order of their indices.
class Tensor {
 public:
  explicit Tensor(const TensorSpec& spec)
      : spec_(spec), memory_(spec.span() * bytes_of(spec.dtype), std::byte{0x55}) {}

  void* data() { return memory_.empty() ? nullptr : memory_.data(); }
  double get(std::size_t element) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, memory_.data() + offset(element), bytes_of(spec_.dtype));
    return reference::decode(format_of(spec_.dtype), bits);
  }
  void set(std::size_t element, double value) {
    const std::uint64_t bits = reference::encode(format_of(spec_.dtype), value);
    std::memcpy(memory_.data() + offset(element), &bits, bytes_of(spec_.dtype));
  }
  std::vector<double> values() const {
    std::vector<double> all(spec_.elements());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = get(i);
    return all;
  }
  // Elements are found by walking them all: what lies between them must still hold its first value.
  bool gaps_untouched() const {
    std::vector<std::byte> rest = memory_;
    for (std::size_t i = 0; i < spec_.elements(); ++i) {
      std::memset(rest.data() + offset(i), 0x55, bytes_of(spec_.dtype));
    }
    return rest == std::vector<std::byte>(memory_.size(), std::byte{0x55});
  }

 private:
  std::size_t offset(std::size_t element) const {
    std::size_t at = 0;
    for (std::size_t d = spec_.shape.size(); d-- > 0;) {
      at += element % spec_.shape[d] * static_cast<std::size_t>(spec_.strides[d]);
      element /= spec_.shape[d];
    }
    return at * bytes_of(spec_.dtype);
  }

  TensorSpec spec_;
  std::vector<std::byte> memory_;
};

// Inputs between 0.5 and 1.5, all different; no argument equals another.
void fill(Tensor& tensor, std::size_t elements, std::size_t salt) {
  for (std::size_t i = 0; i < elements; ++i) {
    tensor.set(i, 0.5 + static_cast<double>((i * 37 + salt * 101) % 97) / 97);
  }
}

class Computation {
 public:
  Computation(const Operator& op, std::vector<TensorSpec> specs, bool optional_left_out = false)
      : op_(op),
        specs_(std::move(specs)),
        left_out_(optional_left_out),
        descriptor_(op, specs_, left_out_) {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      tensors_.emplace_back(specs_[i]);
      const bool is_running = &op == &batch_norm_forward() && (i == 1 || i == 2);
      if (!op.arguments[i].output || is_running) fill(tensors_[i], specs_[i].elements(), i);
      pointers_.push_back(tensors_[i].data());
    }
  }

  void in_place(const char* output, const char* input) {
    pointers_[op_.find(output)] = pointers_[op_.find(input)];
  }

  // The workspace is as InfiniCore's harness gives it: filled with ones, exactly as large as asked
  // for; and it begins at an odd address.
  void run() {
    const std::size_t size = descriptor_.workspace_size();
    std::vector<std::byte> workspace(size + 65, std::byte{1});
    std::byte* begin = workspace.data() + 1;
    const std::vector<ExpectedOutput> all = reference_results();
    ASSERT_EQ(op_.compute(descriptor_.get(), size == 0 ? nullptr : begin, size, pointers_.data()),
              INFINI_STATUS_SUCCESS)
        << normgradGetLastError();
    for (std::size_t i = size + 1; i < workspace.size(); ++i) EXPECT_EQ(workspace[i], std::byte{1});
    for (const ExpectedOutput& one : all) check(op_.find(one.name), one.expected, one.kind);
  }

  Tensor& tensor(const char* name) { return tensors_[op_.find(name)]; }

 private:
  std::vector<double> values(const char* name) const { return tensors_[op_.find(name)].values(); }

  struct ExpectedOutput {
    const char* name;
    reference::Expected expected;
    reference::Output kind;
  };
  std::vector<double> optional(const char* name) const {
    return left_out_ ? std::vector<double>() : values(name);
  }
  std::vector<ExpectedOutput> reference_results() const {
    using enum reference::Output;
    const auto& shape = specs_[0].shape;
    const std::size_t columns = shape.back(), rows = specs_[0].elements() / columns;
    if (&op_ == &batch_norm()) {
      const auto g = reference::batch_norm_backward({.outer = shape[0],
                                                     .channels = shape[1],
                                                     .inner = shape[2],
                                                     .dy = values("grad_output"),
                                                     .x = values("input"),
                                                     .w = values("weight"),
                                                     .mean = values("running_mean"),
                                                     .rstd = {},
                                                     .var = values("running_var")});
      return {
          {"grad_input", g.dx, kElement}, {"grad_weight", g.dw, kSum}, {"grad_bias", g.db, kSum}};
    }
    if (&op_ == &batch_norm_forward()) {
      const auto f = reference::batch_norm_forward({.outer = shape[0],
                                                    .channels = shape[1],
                                                    .inner = shape[2],
                                                    .x = values("input"),
                                                    .w = values("weight"),
                                                    .b = values("bias"),
                                                    .mean = {},
                                                    .rstd = {},
                                                    .var = {},
                                                    .running_mean = values("running_mean"),
                                                    .running_var = values("running_var"),
                                                    .eps = double{1e-5f},
                                                    .momentum = 0.25});
      return {{"output", f.y, kElement},
              {"running_mean", f.running_mean, kStatistic},
              {"running_var", f.running_var, kStatistic}};
    }
    if (&op_ == &layer_norm()) {
      const auto g = reference::layer_norm_backward({rows,
                                                     columns,
                                                     values("grad_output"),
                                                     {},
                                                     values("input_standardization"),
                                                     values("input_std_deviation"),
                                                     {},
                                                     {},
                                                     values("weight")});
      std::vector<ExpectedOutput> all = {{"grad_input", g.dx, kElement},
                                         {"grad_weight", g.dw, kSum}};
      if (!left_out_) all.push_back({"grad_bias", g.db, kSum});
      return all;
    }
    if (&op_ == &rms_norm()) {
      const auto g = reference::rms_norm_backward(
          {rows, columns, values("grad_y"), values("x"), {}, {}, {}, {}, values("w")});
      return {{"grad_x", g.dx, kElement}, {"grad_w", g.dw, kSum}};
    }
    if (&op_ == &layer_norm_forward()) {
      const std::vector<double> x = values("input");
      const auto f = reference::layer_norm_forward(
          {rows, columns, x, values("weight"), optional("bias"), double{1e-5f}});
      const auto plain = reference::layer_norm_forward({rows, columns, x, {}, {}, double{1e-5f}});
      reference::Expected sigma(rows);
      for (std::size_t r = 0; r < rows; ++r) sigma.set(r, 1 / f.rstd.value[r], 1 / f.rstd.value[r]);
      return {{"output", f.y, kElement},
              {"input_standardization", plain.y, kElement},
              {"input_std_deviation", sigma, kStatistic}};
    }
    if (&op_ == &rms_norm_forward()) {
      const auto f = reference::rms_norm_forward(
          {rows, columns, values("x"), optional("w"), {}, double{1e-6f}});
      return {{"y", f.y, kElement}};
    }
    const std::vector<double> a = values("a"), b = values("b");
    std::vector<double> sum(a.size());
    reference::Expected residual(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      sum[i] = static_cast<double>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
      residual.set(i, sum[i], 0);
    }
    const auto f =
        reference::rms_norm_forward({rows, columns, sum, optional("weight"), {}, double{1e-6f}});
    return {{"y", f.y, kElement}, {"residual_out", residual, kElement}};
  }

  // Where an output was put in place of an input, the input's tensor holds it now.
  void check(std::size_t i, const reference::Expected& expected, reference::Output which) {
    std::size_t at = i;
    for (std::size_t j = 0; j < tensors_.size(); ++j) {
      if (pointers_[i] == tensors_[j].data()) at = j;
    }
    const Format format = format_of(specs_[i].dtype);
    const reference::Rule rule{reference::Arithmetic::kFast, which, format, format};
    for (std::size_t e = 0; e < specs_[i].elements(); ++e) {
      const double got = tensors_[at].get(e);
      ASSERT_TRUE(reference::within_bound(got, expected.value[e], expected.scale[e], rule).pass)
          << op_.name << " " << op_.arguments[i].name << "[" << e << "] is " << got << ", expected "
          << static_cast<double>(expected.value[e]);
    }
    EXPECT_TRUE(tensors_[i].gaps_untouched()) << op_.arguments[i].name;
  }

  const Operator& op_;
  std::vector<TensorSpec> specs_;
  bool left_out_;
  Descriptor descriptor_;
  std::vector<Tensor> tensors_;
  std::vector<void*> pointers_;
};

constexpr std::array kDtypes{INFINI_DTYPE_F16, INFINI_DTYPE_BF16, INFINI_DTYPE_F32};

TEST(OperatorResults, MatchTheFormulas) {
  for (const Operator* op : operators()) {
    for (const infiniDtype_t dtype : kDtypes) {
      for (const std::vector<std::size_t>& shape :
           {std::vector<std::size_t>{1, 1, 1}, {3, 4, 5}, {13, 4, 10}, {2, 3, 100}}) {
        Computation(*op, specs_for(*op, shape, dtype)).run();
      }
    }
  }
}

// The shapes and strides of the tests that came with the interface documents.
TEST(OperatorResults, StridesAreHonoured) {
  for (const infiniDtype_t dtype : kDtypes) {
    auto specs = specs_for(layer_norm(), {13, 4, 10}, dtype);
    for (const char* name : {"grad_input", "grad_output", "input_standardization"}) {
      specs[layer_norm().find(name)].strides = {50, 10, 1};
    }
    specs[layer_norm().find("grad_weight")].strides = {2};
    specs[layer_norm().find("input_std_deviation")].strides = {9, 2};
    Computation(layer_norm(), specs).run();

    specs = specs_for(rms_norm(), {13, 4, 5}, dtype);
    specs[rms_norm().find("grad_x")].strides = {37, 5, 1};
    specs[rms_norm().find("grad_y")].strides = {38, 5, 1};
    specs[rms_norm().find("x")].strides = {39, 5, 1};
    specs[rms_norm().find("grad_w")].strides = {2};
    Computation(rms_norm(), specs).run();

    specs = specs_for(batch_norm(), {6, 10, 5}, dtype);
    specs[batch_norm().find("grad_weight")].strides = {2};
    specs[batch_norm().find("grad_bias")].strides = {3};
    specs[batch_norm().find("running_var")].strides = {0};
    Computation(batch_norm(), specs).run();
  }
}

TEST(OperatorResults, EveryOutputMayBeInPlaceOfAnInputOfItsShape) {
  for (const infiniDtype_t dtype : kDtypes) {
    for (const Operator* op : operators()) {
      for (const Argument& output : op->arguments) {
        for (const Argument& input : op->arguments) {
          if (!output.output || input.output || output.form != input.form) continue;
          if (op == &batch_norm_forward() && output.form == Form::kVector) continue;  // are inputs
          SCOPED_TRACE(op->name + " " + output.name + " in place of " + input.name);
          Computation computation(*op, specs_for(*op, {5, 4, 9}, dtype));
          computation.in_place(output.name, input.name);
          computation.run();
        }
      }
    }
  }
}

TEST(OperatorResults, StridesOfExtentsOfOneMeanNothing) {
  for (const std::ptrdiff_t stride :
       {PTRDIFF_MIN, std::ptrdiff_t{-7}, std::ptrdiff_t{0}, PTRDIFF_MAX}) {
    for (const Operator* op : operators()) {
      for (const std::vector<std::size_t>& shape :
           {std::vector<std::size_t>{1, 4, 5}, {3, 1, 5}, {3, 4, 1}}) {
        auto specs = specs_for(*op, shape);
        for (TensorSpec& spec : specs) {
          const bool last_counts = op->layout == Layout::kUnitLastAlways && spec.shape.size() == 3;
          for (std::size_t d = 0; d < spec.shape.size() - (last_counts ? 1 : 0); ++d) {
            if (spec.shape[d] == 1) spec.strides[d] = stride;
          }
        }
        Computation computation(*op, specs);
        std::size_t input = 0;
        while (op->arguments[input].output || op->arguments[input].form != Form::kData) ++input;
        computation.in_place(op->arguments[0].name, op->arguments[input].name);
        computation.run();
      }
    }
  }
}

TEST(OperatorResults, RanksBeyondTheDocument) {
  for (const Operator* op : {&layer_norm(), &rms_norm(), &layer_norm_forward()}) {
    for (const std::vector<std::size_t>& shape : {std::vector<std::size_t>{4, 6},
                                                  {2, 3, 4, 5},
                                                  {2, 1, 3, 2, 7},
                                                  {2, 1, 1, 2, 1, 2, 1, 3}}) {
      Computation(*op, specs_for(*op, shape)).run();
    }
  }
}

// One row, whose standard deviation is a scalar.
TEST(OperatorResults, LayerNormOfRankOne) {
  for (const Operator* op : {&layer_norm(), &layer_norm_forward()}) {
    Computation(*op, specs_for(*op, {33})).run();
  }
}

TEST(OperatorResults, LayerNormWithAnyStrides) {
  const Operator& op = layer_norm_forward();
  for (const infiniDtype_t dtype : kDtypes) {
    auto specs = specs_for(op, {13, 4, 10}, dtype);
    specs[op.find("output")].strides = {50, 12, 1};
    specs[op.find("input")].strides = {2, 26, 104};
    specs[op.find("input_standardization")].strides = {1, 13, 52};
    specs[op.find("weight")].strides = {2};
    Computation(op, specs).run();
  }
}

TEST(OperatorResults, StandardDeviationWithATrailingOne) {
  auto specs = specs_for(layer_norm(), {3, 4, 6});
  specs.back() = contiguous({3, 4, 1});
  Computation(layer_norm(), specs).run();
}

TEST(OperatorResults, WithoutBiasItsPointerIsIgnored) {
  Computation computation(layer_norm(), specs_for(layer_norm(), {4, 4, 12}), true);
  computation.run();
  EXPECT_EQ(computation.tensor("grad_bias").get(0), Tensor(contiguous({12})).get(0));
}

TEST(OperatorResults, EmptyReductionsGiveZero) {
  for (const Operator* op : {&batch_norm(), &layer_norm(), &rms_norm()}) {
    const std::vector<std::size_t> shape{0, 4, 5};
    const auto specs = specs_for(*op, shape);
    const Descriptor descriptor(*op, specs);
    std::vector<Tensor> tensors;
    std::vector<void*> pointers;
    for (const TensorSpec& spec : specs) tensors.emplace_back(spec);
    for (Tensor& tensor : tensors) pointers.push_back(tensor.data());
    std::vector<std::byte> workspace(descriptor.workspace_size() + 1);
    ASSERT_EQ(op->compute(descriptor.get(), workspace.data(), workspace.size(), pointers.data()),
              INFINI_STATUS_SUCCESS)
        << normgradGetLastError();
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (!op->arguments[i].output || op->arguments[i].form != Form::kVector) continue;
      EXPECT_EQ(tensors[i].values(), std::vector<double>(specs[i].elements(), 0.0))
          << op->arguments[i].name;
    }
  }
}

TEST(OperatorResults, WithoutAnyElementAllPointersMayBeNull) {
  for (const Operator* op : operators()) {
    const Descriptor descriptor(*op, specs_for(*op, {0, 0, 0}));
    const std::vector<void*> pointers(op->arguments.size(), nullptr);
    EXPECT_EQ(descriptor.workspace_size(), 0u);
    EXPECT_EQ(op->compute(descriptor.get(), nullptr, 0, pointers.data()), INFINI_STATUS_SUCCESS)
        << normgradGetLastError();
  }
}

TEST(OperatorResults, ADescriptorServesManyThreadsAtOnce) {
  for (const Operator* op : operators()) {
    const auto specs = specs_for(*op, {6, 5, 40});
    const Descriptor descriptor(*op, specs);
    const std::size_t size = descriptor.workspace_size();
    std::vector<std::vector<double>> results(4);
    std::vector<std::thread> threads;
    for (auto& result : results) {
      threads.emplace_back([&] {
        for (int round = 0; round < 20; ++round) {
          std::vector<Tensor> tensors;
          std::vector<void*> pointers;
          for (const TensorSpec& spec : specs) tensors.emplace_back(spec);
          for (std::size_t i = 0; i < specs.size(); ++i) {
            if (!op->arguments[i].output) fill(tensors[i], specs[i].elements(), i);
            pointers.push_back(tensors[i].data());
          }
          std::vector<std::byte> workspace(size + 1);
          EXPECT_EQ(op->compute(descriptor.get(), workspace.data(), size, pointers.data()),
                    INFINI_STATUS_SUCCESS);
          result = tensors[0].values();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& result : results) EXPECT_EQ(result, results[0]);
  }
}

}  // namespace
}  // namespace api_test
