#include "ops/values_batch_norm.h"

#include <cmath>

namespace ops_test {
namespace {

double count_of_elements(Random& random) {
  return static_cast<double>(1 + random.below(random.one_in(4) ? 2 : 2000));
}

double part_mean(DataClass data_class, double scale, Random& random) {
  switch (data_class) {
    case DataClass::kOffset100:
      return 100 + random.normal();
    case DataClass::kOffset10000:
      return -1e4 + random.normal();
    case DataClass::kExtreme:
      return scale * random.away_from_zero();
    case DataClass::kTails: {
      const int exponent = static_cast<int>(random.below(21)) - 10;
      return std::ldexp(random.normal(), exponent);
    }
    default:
      return random.normal();
  }
}

double part_var(DataClass data_class, double scale, Random& random) {
  if (data_class == DataClass::kConstantGroup) return 0;
  const double var = random.normal() * random.normal();
  return (var * var + 0x1p-10) * (data_class == DataClass::kExtreme ? scale * scale : 1);
}

// One device's mean or rstd is special, or all counts of one device are 0.
void spoil(Problem& p, DataClass data_class, Random& random) {
  if (p.value[kMean].empty()) return;
  const std::size_t at = random.below(p.value[kMean].size());
  if (data_class == DataClass::kSpecial) {
    p.value[kMean][at] = random.pick({std::nan(""), HUGE_VAL, -HUGE_VAL});
  }
  if (data_class == DataClass::kBadStatistics) {
    p.value[kRstd][at] = random.pick({0.0, -1.0, HUGE_VAL, std::nan("")});
  }
  if (data_class == DataClass::kZeros) p.value[kCounts][random.below(p.value[kCounts].size())] = 0;
}

}  // namespace

void fill_running(Problem& p, Random& random) {
  for (const Slot slot : {kRunningMean, kRunningVar}) {
    if (!p.has(slot)) continue;
    p.value[slot].resize(element_count(p.tensor[slot]));
    for (double& value : p.value[slot]) {
      const double normal = random.normal();
      value = slot == kRunningMean ? normal : std::fabs(normal);
    }
  }
}

void fill_sums(Problem& p, bool unrelated, Random& random) {
  const ChannelExtents e = channel_extents(p);
  Values &sum = p.value[kSumDyGiven], &sum_xmu = p.value[kSumDyXmuGiven];
  sum.resize(e.channels), sum_xmu.resize(e.channels);
  for (std::size_t c = 0; c < e.channels; ++c)
    sum[c] = random.normal(), sum_xmu[c] = random.normal();
  for (std::size_t i = 0; i < p.value[kDy].size() && !unrelated; ++i) {
    const std::size_t c = i / e.inner % e.channels;
    const double dy = p.value[kDy][i], mean = p.has(kMean) ? p.value[kMean][c] : 0;
    sum[c] += dy;
    sum_xmu[c] += dy * (p.value[kX][i] - mean);
  }
  Values& counts = p.value[kCounts];
  counts.resize(element_count(p.tensor[kCounts]));
  for (double& count : counts) count = count_of_elements(random);
  if (!counts.empty() && !unrelated) counts[0] = static_cast<double>(e.outer * e.inner);
}

void fill_parts(Problem& p, DataClass data_class, Random& random) {
  const double scale = random.pick({1e30, 1.0, 1e-30});
  for (std::size_t i = 0; i < element_count(p.tensor[kMean]); ++i) {
    p.value[kMean].push_back(part_mean(data_class, scale, random));
    const double var = part_var(data_class, scale, random);
    p.value[kRstd].push_back(data_class == DataClass::kUnrelated
                                 ? std::fabs(random.normal()) + 0.125
                                 : 1 / std::sqrt(var + p.eps));
  }
  p.value[kCounts].resize(element_count(p.tensor[kCounts]));
  for (double& count : p.value[kCounts]) count = count_of_elements(random);
  fill_running(p, random);
  spoil(p, data_class, random);
  settle(p);
}

}  // namespace ops_test
