// GroupNorm: every element within the bound of LayerNorm over its group, in both arithmetics; the same bits on every instruction
// set, on any number of threads, and again.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>

#include "normgrad/last_error.h"
#include "normgrad/plan.h"
#include "ops/layouts.h"
#include "ops/library.h"
#include "ops/random.h"
#include "ops/storage.h"
#include "reference/criterion.h"
#include "reference/forward.h"

namespace ops_test {
namespace {

using normgrad::Arg;
using reference::Expected;

struct Shape {
  std::int64_t n, channels, groups;
  std::vector<std::int64_t> spatial;

  std::vector<std::int64_t> all() const {
    std::vector<std::int64_t> out = {n, channels};
    out.insert(out.end(), spatial.begin(), spatial.end());
    return out;
  }
  std::size_t l() const {
    std::size_t out = 1;
    for (const std::int64_t extent : spatial) out *= static_cast<std::size_t>(extent);
    return out;
  }
};

struct Case {
  Shape shape;
  bool backward;
  double eps = 1e-5;
  std::map<Arg, TensorSpec> tensor;
  std::map<Arg, Values> value;
  std::map<Arg, bool> is_output;
};

normgrad::Tensor described(const TensorSpec& spec) {
  using normgrad::DataType;
  constexpr DataType kTypes[] = {DataType::kNone, DataType::kF16, DataType::kBF16,
                                 DataType::kF32,  DataType::kF64, DataType::kI32};
  normgrad::Tensor out;
  out.dtype = kTypes[static_cast<int>(spec.format)];
  out.rank = static_cast<int>(spec.shape.size());
  std::copy(spec.shape.begin(), spec.shape.end(), out.shape);
  std::copy(spec.strides.begin(), spec.strides.end(), out.strides);
  return out;
}

using Results = std::map<Arg, Bits>;

Results run(const Case& c, const RunSettings& settings) {
  normgrad::set_threads(settings.threads);
  normgrad::set_isa(settings.isa);
  const Arithmetic before = normgrad::arithmetic();
  normgrad::set_arithmetic(settings.arithmetic);
  normgrad::Problem problem;
  problem.op = c.backward ? normgrad::Op::kGroupNormBackward : normgrad::Op::kGroupNorm;
  problem.groups = c.shape.groups;
  problem.eps = c.eps;
  normgrad::Addresses addresses;
  std::map<Arg, std::unique_ptr<Storage>> storage;
  for (const auto& [arg, spec] : c.tensor) {
    problem[arg] = described(spec);
    storage[arg] = std::make_unique<Storage>(spec);
    if (!c.is_output.at(arg)) storage[arg]->write(c.value.at(arg));
    storage[arg]->remember();
    addresses[arg] = storage[arg]->data();
  }
  normgrad::Plan plan;
  const normgrad::Status made = normgrad::make_plan(problem, &plan);
  normgrad::set_arithmetic(before);
  EXPECT_EQ(made, normgrad::Status::kOk) << normgradGetLastError();
  std::vector<std::byte> workspace(plan.workspace_bytes() + 1, std::byte{0xff});
  EXPECT_EQ(normgrad::run(plan, addresses, workspace.data() + 1, plan.workspace_bytes()),
            normgrad::Status::kOk)
      << normgradGetLastError();
  Results out;
  for (const auto& [arg, spec] : c.tensor) {
    EXPECT_EQ(storage[arg]->changes(c.is_output.at(arg)), "") << static_cast<int>(arg);
    if (c.is_output.at(arg)) out[arg] = storage[arg]->read();
  }
  return out;
}

// The elements of group g of sample n, and the parameters of each.
struct Group {
  Values x, dy, w, b;
  std::vector<std::size_t> at;
};
Group group_of(const Case& c, std::size_t n, std::size_t g) {
  const auto channels = static_cast<std::size_t>(c.shape.channels);
  const std::size_t each = channels / static_cast<std::size_t>(c.shape.groups), l = c.shape.l();
  const auto optional = [&](Arg arg, std::size_t channel, double absent) {
    return c.value.count(arg) != 0 ? c.value.at(arg)[channel] : absent;
  };
  Group out;
  for (std::size_t channel = g * each; channel < (g + 1) * each; ++channel) {
    for (std::size_t i = 0; i < l; ++i) {
      const std::size_t at = (n * channels + channel) * l + i;
      out.at.push_back(at);
      out.x.push_back(c.value.at(Arg::kX)[at]);
      if (c.backward) out.dy.push_back(c.value.at(Arg::kDy)[at]);
      out.w.push_back(optional(Arg::kW, channel, 1));
      out.b.push_back(optional(Arg::kB, channel, 0));
    }
  }
  return out;
}

std::map<Arg, Expected> expected(const Case& c) {
  const auto n = static_cast<std::size_t>(c.shape.n),
             groups = static_cast<std::size_t>(c.shape.groups);
  const auto channels = static_cast<std::size_t>(c.shape.channels);
  const std::size_t l = c.shape.l();
  std::map<Arg, Expected> out;
  for (const Arg arg : {Arg::kY, Arg::kDx}) out[arg] = Expected(n * channels * l);
  for (const Arg arg : {Arg::kDw, Arg::kDb}) out[arg] = Expected(channels);
  for (const Arg arg : {Arg::kMean, Arg::kRstd}) out[arg] = Expected(n * groups);
  for (std::size_t s = 0; s < n; ++s) {
    for (std::size_t g = 0; g < groups; ++g) {
      const Group group = group_of(c, s, g);
      const std::size_t row = s * groups + g;
      if (!c.backward) {
        const auto f =
            reference::layer_norm_forward({1, group.x.size(), group.x, group.w, group.b, c.eps});
        out[Arg::kMean].set(row, f.mean.value[0], f.mean.scale[0]);
        out[Arg::kRstd].set(row, f.rstd.value[0], f.rstd.scale[0]);
        for (std::size_t i = 0; i < group.at.size(); ++i) {
          out[Arg::kY].set(group.at[i], f.y.value[i], f.y.scale[i]);
        }
        continue;
      }
      const auto b = reference::layer_norm_backward({1,
                                                     group.x.size(),
                                                     group.dy,
                                                     group.x,
                                                     {},
                                                     {},
                                                     {c.value.at(Arg::kMean)[row]},
                                                     {c.value.at(Arg::kRstd)[row]},
                                                     group.w});
      for (std::size_t i = 0; i < group.at.size(); ++i) {
        out[Arg::kDx].set(group.at[i], b.dx.value[i], b.dx.scale[i]);
        const std::size_t channel = group.at[i] / l % channels;
        for (const auto& [arg, from] : {std::pair{Arg::kDw, &b.dw}, std::pair{Arg::kDb, &b.db}}) {
          out[arg].value[channel] += from->value[i];
          out[arg].scale[channel] += from->scale[i];
        }
      }
    }
  }
  return out;
}

reference::Output kind_of(Arg arg) {
  if (arg == Arg::kY || arg == Arg::kDx) return reference::Output::kElement;
  return arg == Arg::kDw || arg == Arg::kDb ? reference::Output::kSum
                                            : reference::Output::kStatistic;
}

void expect_within_bound(const Case& c, const Results& got, Arithmetic arithmetic) {
  const auto right = expected(c);
  const auto in = arithmetic == Arithmetic::kFast ? reference::Arithmetic::kFast
                                                  : reference::Arithmetic::kExact;
  for (const auto& [arg, bits] : got) {
    const Format format = c.tensor.at(arg).format;
    const reference::Rule rule{in, kind_of(arg), format, c.tensor.at(Arg::kX).format};
    for (std::size_t i = 0; i < bits.size(); ++i) {
      const double y = decode(format, bits[i]);
      const Expected& e = right.at(arg);
      ASSERT_TRUE(reference::within_bound(y, e.value[i], e.scale[i], rule).pass)
          << "argument " << static_cast<int>(arg) << "[" << i << "] is " << y << ", expected "
          << static_cast<double>(e.value[i]) << ", T " << static_cast<double>(e.scale[i]) << " "
          << name(arithmetic);
    }
  }
}

Case random_case(Random& random, bool backward) {
  static const std::vector<Shape> shapes = {
      {1, 1, 1, {1}},      {2, 4, 2, {7}},    {3, 6, 3, {5, 3}},    {2, 8, 8, {49}},
      {2, 64, 32, {7, 7}}, {4, 6, 1, {33}},   {1, 40, 4, {14, 14}}, {2, 96, 2, {3}},
      {2, 3, 3, {4100}},   {1, 2, 1, {9000}}, {5, 12, 4, {}},       {2, 130, 1, {10}},
      {8, 32, 8, {64}}};
  Case c;
  c.shape = shapes[random.below(shapes.size())];
  c.backward = backward;
  const Format data = random.pick({Format::kF32, Format::kF16, Format::kBF16});
  const auto big = [&](Arg arg, bool output) {
    c.is_output[arg] = output;
    c.tensor[arg] = random.one_in(2) ? contiguous(data, c.shape.all())
                    : random.one_in(2)
                        ? channels_last(data, c.shape.all(), 1, random.one_in(2) ? 3 : 0)
                        : random_layout(random, data, c.shape.all(),
                                        output ? Role::kOutput : Role::kInput, LastStride::kAny);
  };
  const auto small = [&](Arg arg, std::vector<std::int64_t> shape, bool output) {
    c.is_output[arg] = output;
    const Format format = random.pick({data, Format::kF32, Format::kF64});
    c.tensor[arg] = random_layout(random, format, std::move(shape),
                                  output ? Role::kOutput : Role::kInput, LastStride::kAny);
  };
  big(Arg::kX, false);
  const std::vector<std::int64_t> of_groups = {c.shape.n, c.shape.groups};
  if (random.below(4) != 0) small(Arg::kW, {c.shape.channels}, false);
  if (backward) {
    big(Arg::kDy, false);
    if (random.below(5) != 0) big(Arg::kDx, true);
    if (random.below(5) != 0) small(Arg::kDw, {c.shape.channels}, true);
    if (random.below(5) != 0) small(Arg::kDb, {c.shape.channels}, true);
  } else {
    if (random.below(4) != 0) small(Arg::kB, {c.shape.channels}, false);
    if (random.below(5) != 0) big(Arg::kY, true);
  }
  for (const Arg arg : {Arg::kMean, Arg::kRstd}) {
    if (backward || random.below(4) != 0) small(arg, of_groups, !backward);
  }
  const double offset = random.pick({0.0, 0.0, 100.0, 1e4});
  for (const auto& [arg, spec] : c.tensor) {
    if (c.is_output[arg]) continue;
    Values& values = c.value[arg];
    values.resize(element_count(spec));
    for (double& v : values)
      v = random.normal() + (arg == Arg::kX && data == Format::kF32 ? offset : 0);
  }
  settle(c.tensor[Arg::kX], c.value[Arg::kX]);
  if (backward && random.below(3) != 0) {  // those of x, else any
    const auto of_x = [&] {
      Case forward = c;
      forward.backward = false;
      return expected(forward);
    }();
    for (const Arg arg : {Arg::kMean, Arg::kRstd}) {
      for (std::size_t i = 0; i < c.value[arg].size(); ++i) {
        c.value[arg][i] = static_cast<double>(of_x.at(arg).value[i]);
      }
    }
  }
  for (auto& [arg, values] : c.value) settle(c.tensor[arg], values);
  return c;
}

void check_cases(bool backward) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed * 2 + (backward ? 1 : 0));
    const Case c = random_case(random, backward);
    SCOPED_TRACE("seed " + std::to_string(seed) + " x " + describe(c.tensor.at(Arg::kX)) +
                 " groups " + std::to_string(c.shape.groups));
    const Results fast = run(c, {1, normgrad::Isa::kPlain});
    expect_within_bound(c, fast, Arithmetic::kFast);
    for (const normgrad::Isa isa : available_isas()) EXPECT_EQ(run(c, {2, isa}), fast) << name(isa);
    expect_within_bound(c, run(c, {2, normgrad::Isa::kAvx512, 1, Arithmetic::kExact}),
                        Arithmetic::kExact);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(GroupNorm, ForwardIsWithinTheBound) { check_cases(false); }
TEST(GroupNorm, BackwardIsWithinTheBound) { check_cases(true); }

// Groups that do not end where parts of channels or blocks of pixels do.
TEST(GroupNorm, ManyChannelsAndBlocksOfPixels) {
  for (const bool backward : {false, true}) {
    for (const Shape& shape :
         {Shape{1, 320, 32, {6, 6}}, Shape{2, 384, 4, {5}}, Shape{1, 6, 2, {150, 200}},
          Shape{1, 64, 32, {30, 40}}, Shape{1, 300, 1, {4}}}) {
      Random random(3);
      Case c;
      c.shape = shape;
      c.backward = backward;
      const auto add = [&](Arg arg, TensorSpec spec, bool output) {
        c.is_output[arg] = output;
        c.tensor[arg] = spec;
        if (output) return;
        c.value[arg].resize(element_count(spec));
        for (double& v : c.value[arg]) v = random.normal();
        settle(spec, c.value[arg]);
      };
      const TensorSpec big = channels_last(Format::kF32, shape.all(), 1);
      add(Arg::kX, big, false);
      add(Arg::kW, contiguous(Format::kF32, {shape.channels}), false);
      add(backward ? Arg::kDx : Arg::kY, big, true);
      if (backward)
        add(Arg::kDy, big, false), add(Arg::kDw, contiguous(Format::kF32, {shape.channels}), true);
      for (const Arg arg : {Arg::kMean, Arg::kRstd}) {
        add(arg, contiguous(Format::kF32, {shape.n, shape.groups}), !backward);
      }
      SCOPED_TRACE(describe(big) + " groups " + std::to_string(shape.groups));
      expect_within_bound(c, run(c, {2}), Arithmetic::kFast);
      EXPECT_EQ(run(c, {1}), run(c, {3}));
    }
  }
}

// Threads share channels, or samples.
TEST(GroupNorm, HasTheSameBitsOnThreads) {
  for (const bool backward : {false, true}) {
    for (const bool last : {false, true}) {
      Random random(7);
      Case c;
      c.shape = {6, 64, 8, {16, 16}};
      c.backward = backward;
      const auto add = [&](Arg arg, TensorSpec spec, bool output) {
        c.is_output[arg] = output;
        c.tensor[arg] = spec;
        if (output) return;
        c.value[arg].resize(element_count(spec));
        for (double& v : c.value[arg]) v = random.normal();
        settle(spec, c.value[arg]);
      };
      const TensorSpec big = last ? channels_last(Format::kF32, c.shape.all(), 1)
                                  : contiguous(Format::kF32, c.shape.all());
      add(Arg::kX, big, false);
      add(backward ? Arg::kDx : Arg::kY, big, true);
      if (backward) add(Arg::kDy, big, false), add(Arg::kDw, contiguous(Format::kF32, {64}), true);
      for (const Arg arg : {Arg::kMean, Arg::kRstd})
        add(arg, contiguous(Format::kF32, {6, 8}), !backward);
      const Results one = run(c, {1});
      for (const int threads : {2, 3, 8})
        EXPECT_EQ(run(c, {threads}), one) << threads << " threads";
    }
  }
}

TEST(GroupNorm, Refusals) {
  normgrad::Problem p;
  p.op = normgrad::Op::kGroupNorm;
  p[Arg::kX] = described(contiguous(Format::kF32, {2, 6, 3}));
  p[Arg::kY] = described(contiguous(Format::kF32, {2, 6, 3}));
  p[Arg::kMean] = described(contiguous(Format::kF32, {2, 4}));
  p.groups = 4;
  normgrad::Plan plan;
  EXPECT_EQ(make_plan(p, &plan), normgrad::Status::kBadParam);
  EXPECT_STREQ(normgradGetLastError(), "groups is 4, but must divide the 6 channels of x");
  p.groups = 0;
  EXPECT_EQ(make_plan(p, &plan), normgrad::Status::kBadShape);
  p.groups = 3;
  EXPECT_EQ(make_plan(p, &plan), normgrad::Status::kBadShape);
  EXPECT_STREQ(normgradGetLastError(),
               "mean has shape (2, 4), but must have shape (2, 3): the samples of x, and groups");
  p[Arg::kMean] = {};
  EXPECT_EQ(make_plan(p, &plan), normgrad::Status::kOk);
  p.channel_axis = 2;
  EXPECT_EQ(make_plan(p, &plan), normgrad::Status::kBadParam);
}

}  // namespace
}  // namespace ops_test
