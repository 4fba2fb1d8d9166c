#include "ops/values.h"

#include <algorithm>
#include <cmath>

#include "ops/fused.h"
#include "ops/values_batch_norm.h"

namespace ops_test {
namespace {

// Where an element stands: its reduction group (row or channel) and its place in the group.
struct Place {
  std::size_t group, rank;
};

struct Groups {
  bool rows;
  std::size_t count, inner, channels, columns;

  explicit Groups(const Problem& p) : rows(is_row_norm(p.op)) {
    const RowExtents r = row_extents(p);
    const ChannelExtents c = rows ? ChannelExtents{1, 1, 1} : channel_extents(p);
    columns = r.columns, inner = c.inner, channels = c.channels;
    count = rows ? r.rows : channels;
  }
  Place place(std::size_t i) const {
    if (rows) return {i / columns, i % columns};
    return {i / inner % channels, i / inner / channels * inner + i % inner};
  }
};

enum class Scale { kMiddle, kTop, kBottom };

// 1e+-30 for f32 and 1e+-12 for bf16, which keep to what is promised them; f16 up to 65504 and down
// to 2^-24.
double scaled(Format data, Scale scale, Random& random) {
  const double value = random.away_from_zero();
  if (scale == Scale::kMiddle) return value;
  const bool top = scale == Scale::kTop;
  switch (data) {
    case Format::kF16:
      return top ? value * 32752 : std::ldexp(value * 4, -24);
    case Format::kBF16:
      return value * (top ? 4e11 : 2e-12);
    default:
      return value * (top ? 1e30 : 1e-30);
  }
}

// Of f16 too, and such that x - mean, x_hat and rstd are within 1e+-5 as well.
double moderately_scaled(Scale scale, Random& random) {
  const double value = random.away_from_zero();
  return scale == Scale::kMiddle ? value : value * (scale == Scale::kTop ? 2e4 : 5e-5);
}

double subnormal(Format data, Random& random) {
  const reference::FormatFacts& f = facts(data);
  return std::ldexp(random.uniform(), f.min_exponent);
}

double tail(Random& random) {
  const int exponent = static_cast<int>(std::floor(3 * random.normal()));
  return std::ldexp(random.away_from_zero(), std::clamp(exponent, -10, 10));
}

struct Generator {
  const Problem& p;
  DataClass data_class;
  Random& random;
  Groups groups{p};
  Format data = p.data_format();
  Scale dy_scale = random.pick({Scale::kMiddle, Scale::kTop, Scale::kBottom});
  Scale x_scale = random.pick({Scale::kMiddle, Scale::kTop, Scale::kBottom});
  Scale w_scale = random.pick({Scale::kMiddle, Scale::kTop, Scale::kBottom});
  std::uint64_t key = random.next();
  std::size_t zero_what = random.below(3);

  // Of x in a group, or of dy. f16 has no numbers so large: its statistics leave the range (stretch_statistics).
  double group_factor(std::size_t group, std::uint64_t salt) const {
    Random of_group(key + salt + group * 65536);
    const double factor = of_group.pick({1.0, 1.0, 1.0, 1e33, 1e-33});
    return data == Format::kF16 ? 1 : factor;
  }
  double outlier() { return 3e4 * random.away_from_zero(); }

  double dy(std::size_t i) {
    const Place at = groups.place(i);
    switch (data_class) {
      case DataClass::kCancelling: {
        const std::size_t across = groups.rows ? at.group : 0;
        Random pair(key + (groups.rows ? at.group / 2 : at.group) * 65536 + at.rank / 2);
        const double sign = (across + at.rank) % 2 == 0 ? 1 : -1;
        return sign * pair.away_from_zero() * (1 + std::ldexp(random.normal(), -9));
      }
      case DataClass::kTails:
        return tail(random);
      case DataClass::kExtreme:
        return scaled(data, dy_scale, random);
      case DataClass::kSubnormal:
        return zero_what != 0 ? subnormal(data, random) : random.normal();
      case DataClass::kScaled:
        return moderately_scaled(dy_scale, random);
      case DataClass::kOutliers:
        return at.rank == 0 && zero_what != 0 ? outlier() : random.normal();
      case DataClass::kMixedGroups:
        return random.normal() * group_factor(at.group, 1);
      case DataClass::kOneHot:
        return 0;
      case DataClass::kZeros:
        return zero_what != 0 ? 0 : random.normal();
      default:
        return random.normal();
    }
  }
  double x(std::size_t i) {
    const Place at = groups.place(i);
    switch (data_class) {
      case DataClass::kOffset100:
        return 100 + random.normal();
      case DataClass::kOffset10000:
        return -1e4 + random.normal();
      case DataClass::kTails:
        return tail(random);
      case DataClass::kExtreme:
        return scaled(data, x_scale, random);
      case DataClass::kSubnormal:
        return zero_what != 1 ? subnormal(data, random) : random.normal();
      case DataClass::kConstantGroup:
        return Random(key + at.group).normal();
      case DataClass::kScaled:
        return moderately_scaled(x_scale, random);
      case DataClass::kOutliers:
        return at.rank == 0 && zero_what != 1 ? outlier() : random.normal();
      case DataClass::kMixedGroups:
        return random.normal() * group_factor(at.group, 2);
      case DataClass::kZeros:
        return zero_what != 1 ? 0 : random.normal();
      default:
        return random.normal();
    }
  }
  double w() {
    if (data_class == DataClass::kExtreme) return scaled(data, w_scale, random);
    if (data_class == DataClass::kScaled) return moderately_scaled(w_scale, random);
    return 1 + random.normal() / 4;
  }
};

struct Statistics {
  Values mean, var, square;
};

Statistics statistics(const Problem& p, const Values& x) {
  const Groups groups(p);
  Statistics out{Values(groups.count), Values(groups.count), Values(groups.count)};
  const double n = static_cast<double>(x.size()) / static_cast<double>(groups.count);
  for (std::size_t i = 0; i < x.size(); ++i) {
    out.mean[groups.place(i).group] += x[i] / n;
    out.square[groups.place(i).group] += x[i] * x[i] / n;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t g = groups.place(i).group;
    out.var[g] += (x[i] - out.mean[g]) * (x[i] - out.mean[g]) / n;
  }
  return out;
}

void fill_statistics(Problem& p, const Statistics& s, double eps, bool unrelated, Random& random) {
  const auto set = [&](Slot slot, auto&& of_group) {
    for (std::size_t g = 0; p.has(slot) && g < s.mean.size(); ++g) {
      const double own = of_group(g);
      const double other = slot == kMean ? random.normal() : std::fabs(random.normal()) + 0.125;
      p.value[slot].push_back(unrelated ? other : own);
    }
  };
  const Values& spread = p.op == Op::kRmsNorm ? s.square : s.var;
  set(kMean, [&](std::size_t g) { return s.mean[g]; });
  set(kVar, [&](std::size_t g) { return s.var[g]; });
  set(kRstd, [&](std::size_t g) { return 1 / std::sqrt(spread[g] + eps); });
  set(kSigma, [&](std::size_t g) { return std::sqrt(spread[g] + eps); });
}

double standardized(double x, double mean, double sigma) {
  return sigma == 0 ? 0 : (x - mean) / sigma;
}

// One element of dy, of x or, in the gradients of row norms, of w. (Elsewhere an infinite w would
// multiply a difference that is 0 but for rounding in a channel of two elements: its sign means
// nothing.)
void poke(Problem& p, Random& random, double value) {
  const Slot x = p.has(kX) ? kX : kXHat, dy = p.big_input();
  const Slot slot = p.has(kW) && p.has(kDy) && is_row_norm(p.op) ? random.pick({dy, x, kW})
                                                                 : random.pick({dy, x});
  Values& values = p.value[slot];
  if (!values.empty()) values[random.below(values.size())] = value;
}

// sigma = 0 makes dx infinite, of the sign of a difference. Two consistent values of x_hat are 1
// and -1: the difference is then 0 but for rounding, and its sign means nothing.
bool zero_sigma_is_clear(const Problem& p) { return !p.has(kXHat) || row_extents(p).columns != 2; }

void break_statistic(Problem& p, Random& random) {
  for (const Slot slot : {kMean, kRstd, kSigma, kVar, kRunningVar, kSumDyXmuGiven}) {
    if (!p.has(slot) || p.value[slot].empty()) continue;
    const double zero = zero_sigma_is_clear(p) ? 0.0 : 1.0;
    p.value[slot][random.below(p.value[slot].size())] =
        random.pick({zero, -1.0, HUGE_VAL, std::nan("")});
  }
}

// Some rstd and sigma beyond 1e+-30, as their formats have it.
void stretch_statistics(Problem& p, Random& random) {
  for (const Slot slot : {kRstd, kSigma}) {
    if (!p.has(slot) || p.tensor[slot].format == Format::kF16) continue;
    for (double& value : p.value[slot]) {
      const double stretched = value * random.pick({1.0, 1.0, 1.0, 1e33, 1e-33});
      if (stretched > 1e-37 && stretched < 1e37) value = stretched;
    }
  }
}

void fill_norm(Problem& p, DataClass data_class, Random& random) {
  Generator generator{p, data_class, random};
  const std::size_t count = element_count(p.tensor[p.big_input()]);
  Values x(count);
  if (p.has(kDy)) p.value[kDy].resize(count);
  for (std::size_t i = 0; i < p.value[kDy].size(); ++i) p.value[kDy][i] = generator.dy(i);
  for (std::size_t i = 0; i < count; ++i) x[i] = generator.x(i);
  settle(p.has(kX) ? p.tensor[kX] : contiguous(p.data_format(), p.tensor[p.big_input()].shape), x);
  if (p.has(kX)) p.value[kX] = x;
  for (const Slot slot : {kX2, kXBias, kScale, kShift, kDsum}) {
    if (!p.has(slot)) continue;
    p.value[slot].resize(element_count(p.tensor[slot]));
    for (double& v : p.value[slot]) v = slot == kDsum ? generator.dy(0) : random.normal();
    settle(p.tensor[slot], p.value[slot]);
  }
  if (p.has(kX2) || p.has(kXBias)) x = summed_x(p, Arithmetic::kExact);

  const Groups groups(p);
  const Statistics s = statistics(p, x);
  const double eps =
      is_channel_norm(p.op) ? p.eps : random.pick({zero_sigma_is_clear(p) ? 0.0 : 1e-5, 1e-5});
  fill_statistics(p, s, eps, data_class == DataClass::kUnrelated, random);
  for (std::size_t i = 0; i < count && p.has(kXHat); ++i) {
    const std::size_t g = groups.place(i).group;
    p.value[kXHat].push_back(standardized(x[i], s.mean[g], std::sqrt(s.var[g] + eps)));
  }
  if (p.has(kW)) p.value[kW].resize(element_count(p.tensor[kW]));
  for (double& w : p.value[kW]) w = generator.w();
  if (p.has(kB)) p.value[kB].resize(element_count(p.tensor[kB]));
  for (double& b : p.value[kB]) b = generator.w() - 1;
  fill_running(p, random);
  if (data_class == DataClass::kMixedGroups) stretch_statistics(p, random);
  if (p.op == Op::kElemtBackward) fill_sums(p, data_class == DataClass::kUnrelated, random);

  if (data_class == DataClass::kOneHot && count > 0 && p.has(kDy))
    p.value[kDy][random.below(count)] = random.normal();
  if (data_class == DataClass::kSpecial)
    poke(p, random, random.pick({std::nan(""), HUGE_VAL, -HUGE_VAL}));
  if (data_class == DataClass::kBadStatistics) break_statistic(p, random);
  settle(p);
}

}  // namespace

const char* name(DataClass data_class) {
  constexpr const char* kNames[] = {
      "normal",         "offset 100", "offset 10000",         "cancelling", "tails",
      "extreme",        "subnormal",  "constant group",       "one-hot",    "special",
      "bad statistics", "zeros",      "unrelated statistics", "scaled",     "outliers",
      "mixed groups"};
  return kNames[static_cast<int>(data_class)];
}

void fill(Problem& p, DataClass data_class, Random& random) {
  p.op == Op::kGatherStats ? fill_parts(p, data_class, random) : fill_norm(p, data_class, random);
}

}  // namespace ops_test
