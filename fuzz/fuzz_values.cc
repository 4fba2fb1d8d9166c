// Bytes are a shape, layouts and the bits of every number, so that NaN, infinities and subnormals come by themselves.
// The results are the bits of the scalar model on every instruction set and with 1, 2 and 3 threads, and, where all
// numbers are finite, within the oracle's bound.
#include <algorithm>
#include <cmath>

#include "bytes.h"
#include "finding.h"
#include "ops/cases.h"
#include "ops/check.h"
#include "ops/model.h"

namespace {

using namespace ops_test;  // NOLINT
using fuzz::Bytes;

// Most cases are small. A quarter has as many elements as several threads are worth (src/kernels/parallel_for.cc) and hardly
// more: they take most of the time.
constexpr std::int64_t kFew = 2048, kMany = 65536;

std::int64_t extent(Bytes& bytes, std::int64_t room) {
  const std::int64_t n =
      bytes.pick<std::int64_t>({2,  1,  3,  4,  5,   7,   8,   9,   15,  16,  17,   31,  33,
                                40, 63, 64, 65, 100, 129, 200, 257, 300, 513, 1030, 4100});
  return std::min(n, room);
}

std::vector<std::int64_t> shape(Bytes& bytes, std::size_t least, std::size_t most) {
  std::vector<std::int64_t> out(least + bytes.below(most - least + 1));
  const bool large = bytes.one_in(4);
  std::int64_t room = large ? kMany : kFew, count = 1;
  for (std::int64_t& n : out) {
    n = extent(bytes, room);
    room /= n;
    count *= n;
  }
  if (large) {
    count /= out.back();
    out.back() = (kMany + count - 1) / count;
  }
  return out;
}

Problem problem(Bytes& bytes) {
  Op op = kOps[bytes.below(7)];
  const Format data = kDataFormats[bytes.below(std::size(kDataFormats))];
  Random random(bytes.word());  // of layouts
  // The forward row norms came later: they have every third input of the others, and the rest of the corpus keeps its
  // meaning.
  if (is_row_norm(op) && random.one_in(3)) {
    op = op == Op::kLayerNorm ? Op::kLayerNormForward : Op::kRmsNormForward;
  }
  if (is_row_norm(op)) return make_row_problem(random, op, data, shape(bytes, 1, 4));
  if (op == Op::kGatherStats) return make_gather_problem(random);
  std::vector<std::int64_t> channels = shape(bytes, 2, 4);
  const int axis = bytes.one_in(3) ? static_cast<int>(channels.size()) - 1 : 1;
  if (op == Op::kBatchNorm) return make_channel_problem(random, data, channels, axis);
  return make_sync_problem(random, op, data, channels, axis);
}

// A few numbers from the input, by their bits or from a list that tempts, repeated in an order of the input's own.
void fill(Bytes& bytes, const TensorSpec& spec, Values& values) {
  Values pool(1 + bytes.below(24));
  for (double& value : pool) {
    switch (bytes.below(4)) {
      case 0:
        value = static_cast<double>(static_cast<std::int8_t>(bytes.byte())) / 16;
        break;
      case 1:
        value = std::ldexp(static_cast<double>(static_cast<std::int8_t>(bytes.byte())),
                           static_cast<int>(static_cast<std::int8_t>(bytes.byte())));
        break;
      default:
        value = reference::decode(spec.format, bytes.number());
    }
    if (spec.format == Format::kI32) value = static_cast<double>(bytes.byte());
  }
  const std::size_t stride = 1 + bytes.below(7), bend = 1 + bytes.below(64);
  values.resize(element_count(spec));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = pool[(i * stride + i / bend) % pool.size()];
  }
}

bool all_finite(const Values& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}
// Products of three of them stay within f64. All numbers of f32 do; statistics and counts may be f64.
bool all_moderate(const Values& values) {
  return std::all_of(values.begin(), values.end(), [](double v) {
    return v == 0 || (std::abs(v) > 1e-100 && std::abs(v) < 1e100);
  });
}
// No input, product or result leaves the numbers: elsewhere the bound is not promised, the sign of an infinity may be
// rounding noise, and the model alone decides.
bool is_tame(const Problem& p, const Outputs& expected) {
  for (const Slot slot : kInputs) {
    if (p.has(slot) && !all_moderate(p.value[slot])) return false;
  }
  for (const Slot slot : kOutputs) {
    if (p.has(slot) && !all_finite(values(p, expected, slot))) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  Problem p = problem(bytes);
  p.eps = bytes.pick({1e-5, 0.0, 1e-12, 1.0});
  p.momentum = bytes.pick({0.1, 0.0, 1.0, 0.5});
  for (const Slot slot : kInputs) {
    if (p.has(slot)) fill(bytes, p.tensor[slot], p.value[slot]);
  }
  settle(p);
  const Outputs expected = run_model(p);
  for (const normgrad::Isa isa : available_isas()) {
    for (const int threads : {1, 2, 3}) {
      const Outputs got = run_library(p, {threads, isa, 1});
      fuzz::expect(got.failure.empty(), got.failure + "\n  " + describe(p));
      const std::string difference = first_difference(p, got, expected);
      fuzz::expect(difference.empty(), std::string(name(isa)) + ", " + std::to_string(threads) +
                                           " threads: " + difference + "\n  " + describe(p));
    }
  }
  if (is_tame(p, expected)) {
    Tally tally;
    const std::string message = check(p, expected, tally);
    fuzz::expect(message.empty(), message + "\n  " + describe(p));
  }
  return 0;
}
