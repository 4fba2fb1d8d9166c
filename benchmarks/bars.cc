// How fast every workload has to be. Each is held to one bar: by its operator, data type and
// layout, and by whether the bytes it moves fit into the last-level cache.
#include <array>
#include <cstdio>

#include "machine.h"
#include "report.h"

namespace bench {
namespace {

enum Group : std::size_t {
  kF32LayerNorm,
  kF32RmsNorm,
  k16BitRowNormBeyond,
  k16BitRowNormInside,
  kF32Training,
  k16BitTrainingBeyond,
  k16BitTrainingInside,
  kChannelsLastTrainingBeyond,
  kChannelsLastTrainingInside,
  kOneSweepBeyond,
  kOneSweepInside,
  kF32Tiny,
  k16BitTiny,
  kStrided,
  kGroups
};

struct Bar {
  const char* rows;
  double least;  // limit / ours
};

constexpr std::array<Bar, kGroups> kBars = {{
    {"f32 LayerNorm", 0.60},
    {"f32 RMSNorm", 0.60},
    {"16-bit LayerNorm and RMSNorm, beyond the cache", 0.55},
    {"16-bit LayerNorm and RMSNorm, in cache", 0.40},
    {"f32 BatchNorm training, row-major", 0.65},
    {"16-bit BatchNorm training, row-major, beyond the cache", 0.60},
    {"16-bit BatchNorm training, row-major, in cache", 0.40},
    {"BatchNorm training, channels-last, beyond the cache, of the two-pass limit", 0.80},
    {"BatchNorm training, channels-last, in cache", 0.45},
    {"BatchNorm inference, reduce, elementwise, beyond the cache", 0.75},
    {"BatchNorm inference, reduce, elementwise, in cache", 0.45},
    {"f32, tiny: at most 6x its one-thread limit", 1. / 6},
    {"16-bit, tiny: at most 12x its one-thread limit", 1. / 12},
    {"padded and permuted: at most 1.5x the row-major twin", 1 / 1.5},
}};

Group group(const Row& row) {
  const Entry& entry = row.entry;
  const bool f32 = entry.dtype == DataType::kF32;
  const bool beyond = row.timing.bytes > static_cast<double>(machine().last_level_cache_bytes());
  if (entry.make_twin) return kStrided;
  if (entry.shape == "16x768") return f32 ? kF32Tiny : k16BitTiny;
  if (entry.op == "layer_norm" || entry.op == "rms_norm") {
    if (f32) return entry.op == "layer_norm" ? kF32LayerNorm : kF32RmsNorm;
    return beyond ? k16BitRowNormBeyond : k16BitRowNormInside;
  }
  if (entry.op != "batch_norm_training") return beyond ? kOneSweepBeyond : kOneSweepInside;
  if (entry.layout == Layout::kChannelsLast)
    return beyond ? kChannelsLastTrainingBeyond : kChannelsLastTrainingInside;
  if (f32) return kF32Training;
  return beyond ? k16BitTrainingBeyond : k16BitTrainingInside;
}

double value(const Row& row, Group of) {
  const Timing& t = row.timing;
  if (of == kStrided) return t.twin_us / t.ours_us;
  if (of == kChannelsLastTrainingBeyond) return t.two_pass_limit_us / t.ours_us;
  return t.fraction();
}

// Returns how many miss the bar.
std::size_t print_group(Group of, const std::vector<const Row*>& rows) {
  const Bar& bar = kBars[of];
  std::size_t missed = 0;
  for (const Row* row : rows) missed += value(*row, of) < bar.least ? 1 : 0;
  std::printf("\n%s: %.3f; %zu of %zu passed\n", bar.rows, bar.least, rows.size() - missed,
              rows.size());
  for (const Row* row : rows) {
    std::printf("  %s  %-50s %-5s %6.3f%s\n", value(*row, of) < bar.least ? "FAIL" : "pass",
                row->entry.title().c_str(), name(row->entry.dtype), value(*row, of),
                row->timing.disturbed ? " ~" : "");
  }
  return missed;
}

}  // namespace

bool has_bar(const Entry& entry) { return entry.op != "batch_norm_forward"; }

std::size_t print_bars(const std::vector<Row>& rows) {
  std::array<std::vector<const Row*>, kGroups> groups;
  for (const Row& row : rows) {
    if (has_bar(row.entry)) groups[group(row)].push_back(&row);
  }
  std::printf("\nBars: the least fraction of the limit, with 2 threads\n");
  std::size_t asked = 0, missed = 0;
  for (std::size_t i = 0; i < kGroups; ++i) {
    asked += groups[i].size();
    if (!groups[i].empty()) missed += print_group(static_cast<Group>(i), groups[i]);
  }
  std::printf("\n%zu of %zu passed\n", asked - missed, asked);
  return missed;
}

}  // namespace bench
