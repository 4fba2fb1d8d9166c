#include "ops/cases.h"

#include <iterator>

#include "ops/layouts.h"

namespace ops_test {
namespace {

using Extents = std::vector<std::int64_t>;

// Around steps of 32, groups of 8 rows, blocks of 32, 64 blocks of 32, chunks of 256, 4096 and 8192, rows that are few and
// long.
Extents row_shape(Random& random) {
  std::int64_t rows, columns;
  const std::size_t kind = random.below(20);
  if (kind < 12) {
    rows = random.pick<std::int64_t>({1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33});
    columns =
        random.pick<std::int64_t>({1,  2,  3,   5,   7,   8,   15,  16,  17,  31,  32,  33, 63,
                                   64, 65, 100, 127, 128, 129, 143, 144, 200, 255, 257, 300});
  } else if (kind < 16) {
    rows = random.pick<std::int64_t>({32, 33, 40, 63, 64, 65, 127, 129, 255, 256, 257, 513});
    columns = random.pick<std::int64_t>({1, 2, 3, 15, 16, 17, 33, 40});
  } else if (kind < 18) {
    rows = random.pick<std::int64_t>({2047, 2048, 2049, 2057, 4095, 4097, 8193, 16385, 20000});
    columns = random.pick<std::int64_t>({1, 1, 2, 3});
  } else {
    rows = random.pick<std::int64_t>({1, 1, 2, 3, 9});
    columns =
        random.pick<std::int64_t>({1000, 2049, 4095, 4096, 4097, 8191, 8192, 8193, 8209, 12289});
  }
  const std::size_t most = random.one_in(8) ? 7 : 4;
  const std::size_t leading = rows == 1 ? random.below(most + 1) : 1 + random.below(most);
  Extents shape = random_factors(random, rows, leading);
  shape.push_back(columns);
  return shape;
}

}  // namespace

ChannelShape channel_shape(Random& random) {
  std::int64_t n, channels, l;
  const std::size_t kind = random.below(20);
  if (kind < 12) {
    n = random.pick<std::int64_t>({1, 2, 3, 7, 8, 9, 16, 17});
    channels = random.pick<std::int64_t>({1, 2, 3, 5, 8, 15, 16, 17, 33});
    l = random.pick<std::int64_t>({1, 2, 3, 7, 15, 16, 17, 31, 33, 36, 49, 63, 64, 65, 100, 129});
  } else if (kind < 15) {
    n = random.pick<std::int64_t>({63, 64, 65, 130, 300, 900});
    channels = random.pick<std::int64_t>({1, 3, 5, 16});
    l = random.pick<std::int64_t>({1, 2, 5, 15, 16});
  } else if (kind < 18) {
    n = random.pick<std::int64_t>({1, 2, 3});
    channels = random.pick<std::int64_t>({1, 2, 3});
    l = random.pick<std::int64_t>({1365, 2048, 2049, 4095, 4096, 4097, 8193, 12290});
  } else if (kind < 19) {
    n = random.pick<std::int64_t>({4095, 4096, 4097, 8192, 8193, 16400});
    channels = random.pick<std::int64_t>({1, 2, 3});
    l = 1;
  } else {  // more channels than a step of 32 lanes, rows of one pixel and of several
    n = random.pick<std::int64_t>({1, 3, 9, 40});
    channels = random.pick<std::int64_t>({32, 48, 64, 65, 100, 257});
    l = random.pick<std::int64_t>({1, 2, 9, 20});
  }
  const std::size_t spatial = l == 1 ? random.below(3) : 1 + random.below(random.one_in(4) ? 6 : 3);
  Extents shape = random_factors(random, l, spatial);
  if (random.one_in(12)) {
    shape.insert(shape.begin(), {channels, n});
    return {shape, 0};
  }
  shape.insert(shape.begin(), n);
  const std::size_t axis = random.one_in(2) ? 1 : 1 + random.below(shape.size());
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), channels);
  return {shape, static_cast<int>(axis)};
}

void drop_outputs(Random& random, Problem& p) {
  if (!random.one_in(3)) return;
  const bool has_db = p.op != Op::kRmsNorm;
  const std::size_t wanted = 1 + random.below(has_db ? 7 : 3);
  for (const Slot slot : kOutputs) {
    if ((wanted >> slot & 1) == 0) p.tensor[slot] = {};
  }
}

namespace {

Format parameter_format(Random& random, Format data) {
  return random.one_in(2) ? data : Format::kF32;
}
Format statistic_format(Random& random, Format data) {
  return random.pick({data, Format::kF32, Format::kF64});
}

// The big output in the place of an input whose elements have addresses of their own.
void put_in_place(Problem& p, Slot slot) {
  for (std::size_t d = 0; d < p.tensor[slot].shape.size(); ++d) {
    if (p.tensor[slot].strides[d] == 0 && p.tensor[slot].shape[d] > 1) return;
  }
  p.dx_shares = slot;
  p.tensor[p.big_output()] = p.tensor[slot];
}

void share_dx(Random& random, Problem& p) {
  if (!p.has(kDx) || !random.one_in(3)) return;
  put_in_place(p, random.one_in(2) ? kDy : p.has(kX) ? kX : kXHat);
}

void set_row_statistics(Random& random, Problem& p, Format data, Extents leading) {
  if (random.one_in(3)) leading.push_back(1);
  const auto set = [&](Slot slot) {
    p.tensor[slot] = random_layout(random, statistic_format(random, data), leading, Role::kInput,
                                   LastStride::kAny);
  };
  if (p.has(kXHat)) set(kSigma);
  if (p.op == Op::kLayerNorm && p.has(kX)) set(kMean), set(kRstd);
  if (p.op == Op::kRmsNorm && random.one_in(3)) set(kRstd);
}

}  // namespace

namespace {

// What a row, its leading dims, or leading dims but the last, have in common.
TensorSpec spread(Random& random, Format format, const Extents& shape, std::size_t axes) {
  const auto leading = static_cast<std::ptrdiff_t>(shape.size() - axes);
  Extents out(shape.end() - static_cast<std::ptrdiff_t>(axes), shape.end());
  if (leading > 0 && random.one_in(2)) {
    if (random.one_in(2)) out.insert(out.begin(), 1);
    out.insert(out.begin(), shape.begin(), shape.begin() + leading - 1);
  } else if (random.one_in(3)) {
    out = shape;
  }
  return random_layout(random, format, out, Role::kInput, LastStride::kAny);
}

// Tensors that are fused with the norm, other types, columns that do not lie side by side, rows of several axes.
void fuse(Random& random, Problem& p, Format data) {
  const Extents shape = p.tensor[p.big_input()].shape;
  const auto axes = static_cast<std::size_t>(p.row_axes);
  const auto format = [&] {
    return random.pick({data, data, data, Format::kF32, Format::kF16, Format::kBF16});
  };
  const auto big = [&](Slot slot, Role role) {
    p.tensor[slot] = random_layout(random, format(), shape, role, LastStride::kAny);
  };
  const bool forward = is_row_forward(p.op),
             layer = p.op == Op::kLayerNorm || p.op == Op::kLayerNormForward;
  for (const Slot slot : {kX, kXHat, kDy}) {
    if (slot != p.big_input() && p.has(slot) && slot != p.dx_shares) big(slot, Role::kInput);
  }
  if (p.has(p.big_output()) && p.dx_shares == kDx) big(p.big_output(), Role::kOutput);
  if (p.has(kX) && random.one_in(2))
    big(kX2, Role::kInput), p.alpha = random.pick({1.0, 1.0, 0.81});
  const auto wants = [&] { return random.one_in(3); };
  if (forward && wants()) big(kXSum, Role::kOutput);
  if (forward && wants()) big(kY2, Role::kOutput);
  if (layer && forward) {
    if (wants()) big(kXHatOut, Role::kOutput);
    if (wants()) p.tensor[kXBias] = spread(random, format(), shape, axes);
    if (wants()) p.tensor[kShift] = spread(random, format(), shape, axes);
    Extents leading(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(axes));
    if (wants())
      p.tensor[kSigmaOut] =
          random_layout(random, Format::kF32, leading, Role::kOutput, LastStride::kAny);
  }
  if ((forward || layer) && wants()) p.tensor[kScale] = spread(random, format(), shape, axes);
  if (!forward && wants()) big(kDsum, Role::kInput);
  if (!forward && layer && wants()) big(kDx2, Role::kOutput);
}

// Rows of more than one axis: parameters have as many.
void set_row_axes(Random& random, Problem& p) {
  const Extents shape = p.tensor[p.big_input()].shape;
  p.row_axes = 1 + static_cast<int>(random.below(shape.size()));
  const auto axes = static_cast<std::ptrdiff_t>(p.row_axes);
  const Extents row(shape.end() - axes, shape.end());
  Extents leading(shape.begin(), shape.end() - axes);
  if (random.one_in(3)) leading.insert(leading.end(), row.size(), 1);
  for (const Slot slot : {kDw, kDb, kW, kB}) {
    const Role role = is_output(slot) ? Role::kOutput : Role::kInput;
    if (p.has(slot))
      p.tensor[slot] = random_layout(random, p.tensor[slot].format, row, role, LastStride::kAny);
  }
  for (const Slot slot : {kMean, kRstd, kSigma, kMeanOut, kRstdOut}) {
    const Role role = is_output(slot) ? Role::kOutput : Role::kInput;
    if (p.has(slot))
      p.tensor[slot] =
          random_layout(random, p.tensor[slot].format, leading, role, LastStride::kAny);
  }
}

Problem make_row_forward(Random& random, Op op, Format data, const Extents& shape) {
  Problem p;
  p.op = op;
  p.eps = random.pick({0.0, 1e-5, 0.1});
  const std::size_t wanted = random.one_in(2) ? 7 : 1 + random.below(7);
  Extents leading(shape.begin(), shape.end() - 1);
  if (random.one_in(3)) leading.push_back(1);
  const auto statistic = [&] {
    return random_layout(random, statistic_format(random, data), leading, Role::kOutput,
                         LastStride::kAny);
  };
  const auto vector = [&] {
    return random_vector(random, parameter_format(random, data), shape.back(), Role::kInput);
  };
  p.tensor[kX] = random_layout(random, data, shape, Role::kInput, LastStride::kOne);
  const bool only_y = op == Op::kRmsNormForward && wanted == 2;  // it has no mean
  if ((wanted & 1) != 0 || only_y) {
    p.tensor[kY] = random_layout(random, data, shape, Role::kOutput, LastStride::kOne);
  }
  if ((wanted & 2) != 0 && op == Op::kLayerNormForward) p.tensor[kMeanOut] = statistic();
  if ((wanted & 4) != 0) p.tensor[kRstdOut] = statistic();
  if (!random.one_in(5)) p.tensor[kW] = vector();
  if (op == Op::kLayerNormForward && !random.one_in(5)) p.tensor[kB] = vector();
  if (p.has(kY) && random.one_in(3)) put_in_place(p, kX);
  return p;
}

}  // namespace

Problem make_row_problem(Random& random, Op op, Format data, Extents shape) {
  if (is_row_forward(op)) return make_row_forward(random, op, data, shape);
  Problem p;
  p.op = op;
  const auto big = [&](Role role) {
    return random_layout(random, data, shape, role, LastStride::kOne);
  };
  p.tensor[kDy] = big(Role::kInput);
  p.tensor[op == Op::kLayerNorm && random.one_in(2) ? kXHat : kX] = big(Role::kInput);
  p.tensor[kDx] = big(Role::kOutput);
  set_row_statistics(random, p, data, Extents(shape.begin(), shape.end() - 1));
  const auto vector = [&](Role role) {
    return random_vector(random, parameter_format(random, data), shape.back(), role);
  };
  p.tensor[kDw] = vector(Role::kOutput);
  if (op == Op::kLayerNorm) p.tensor[kDb] = vector(Role::kOutput);
  if (!random.one_in(5)) p.tensor[kW] = vector(Role::kInput);
  share_dx(random, p);
  return p;
}

Problem make_channel_problem(Random& random, Format data, Extents shape, int channel_axis) {
  Problem p;
  p.op = Op::kBatchNorm;
  p.channel_axis = channel_axis;
  p.training = !random.one_in(3);
  p.eps = random.pick({0.0, 1e-5, 0.1});
  const std::int64_t channels = shape[static_cast<std::size_t>(channel_axis)];
  const auto big = [&](Role role) {
    return random_layout(random, data, shape, role, LastStride::kAny);
  };
  const auto vector = [&](Role role, Format format) {
    return random_vector(random, format, channels, role);
  };
  for (const Slot slot : {kDy, kX}) p.tensor[slot] = big(Role::kInput);
  p.tensor[kDx] = big(Role::kOutput);
  for (const Slot slot : {kDw, kDb})
    p.tensor[slot] = vector(Role::kOutput, parameter_format(random, data));
  if (!random.one_in(5)) p.tensor[kW] = vector(Role::kInput, parameter_format(random, data));
  if (!random.one_in(8)) p.tensor[kMean] = vector(Role::kInput, statistic_format(random, data));
  if (!random.one_in(8)) {
    p.tensor[random.one_in(2) ? kRstd : kVar] =
        vector(Role::kInput, statistic_format(random, data));
  }
  share_dx(random, p);
  return p;
}

Case make_case(Op op, std::uint64_t master_seed, std::size_t index, Arithmetic arithmetic) {
  Random random(master_seed + index * 3 + static_cast<std::uint64_t>(op));
  Case out;
  const Format data = random.pick({Format::kF32, Format::kF16, Format::kBF16});
  if (is_row_norm(op)) {
    out.problem = make_row_problem(random, op, data, row_shape(random));
    if (random.one_in(4)) set_row_axes(random, out.problem);
    if (random.one_in(3)) fuse(random, out.problem, data);
  } else if (op == Op::kGatherStats) {
    out.problem = make_gather_problem(random);
  } else {
    const ChannelShape shape = channel_shape(random);
    out.problem = op == Op::kBatchNorm
                      ? make_channel_problem(random, data, shape.shape, shape.axis)
                      : make_sync_problem(random, op, data, shape.shape, shape.axis);
  }
  if (is_channel_norm(op) && random.one_in(3)) lay_channels_last(random, out.problem);
  if (op <= Op::kBatchNorm) drop_outputs(random, out.problem);
  out.data_class =
      static_cast<DataClass>(random.below(static_cast<std::size_t>(DataClass::kCount)));
  fill(out.problem, out.data_class, random);
  out.settings.threads = random.pick({1, 2, 2, 3});
  out.settings.isa = kIsas[random.below(std::size(kIsas))];
  out.settings.workspace_shift_bytes = random.below(64);
  out.settings.arithmetic = arithmetic;
  return out;
}

std::vector<Way> ways() {
  std::vector<Way> out;
  for (const Op op : kOps) {
    out.push_back({op});
    if (has_two_arithmetics(op)) out.push_back({op, Arithmetic::kExact});
  }
  return out;
}

std::string name(const Way& way) {
  return name(way.op) + std::string(way.arithmetic == Arithmetic::kExact ? "_exact" : "");
}

std::string Case::description() const {
  return describe(problem) + " data: " + name(data_class) +
         " threads=" + std::to_string(settings.threads) + " isa=" + name(settings.isa) + " " +
         name(settings.arithmetic);
}

}  // namespace ops_test
