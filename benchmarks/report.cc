#include "report.h"

#include <algorithm>
#include <cstdio>

namespace bench {
namespace {

constexpr int kWidth = 25;  // of a text bar that reaches the limit

std::string text_bar(double fraction) {
  const int filled = std::clamp(static_cast<int>(fraction * kWidth + 0.5), 0, kWidth);
  return std::string(static_cast<std::size_t>(filled), '#') +
         std::string(static_cast<std::size_t>(kWidth - filled), '.');
}

// "At most ten times its triad" for the tiny problem is a fraction of 0.10.
struct Bar {
  const char *op, *shape;
  double f32, bf16_and_f16;
};
constexpr Bar kBars[] = {{"layer_norm", "8192x768", 0.40, 0.25},
                         {"layer_norm", "2048x4096", 0.40, 0.25},
                         {"rms_norm", "8192x768", 0.40, 0.25},
                         {"rms_norm", "2048x4096", 0.40, 0.25},
                         {"layer_norm", "16x768", 0.10, 0},
                         {"rms_norm", "16x768", 0.10, 0},
                         {"batch_norm_training", "32x64x12544", 0.40, 0.25}};

}  // namespace

void print_table(const std::vector<Row>& rows) {
  std::printf("%-54s %-5s %10s %10s %8s  0%*s\n", "workload", "dtype", "limit us", "ours us",
              "fraction", kWidth - 1, "limit");
  for (const Row& row : rows) {
    const Timing& t = row.timing;
    std::printf("%-54s %-5s %10.1f %10.1f %8.2f%s %s\n", row.entry.title().c_str(),
                name(row.entry.dtype), t.limit_us, t.ours_us, t.fraction(), t.disturbed ? "~" : " ",
                text_bar(t.fraction()).c_str());
  }
  const bool disturbed =
      std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.timing.disturbed; });
  if (disturbed) std::printf("~ other programs kept the processors busy: do not trust this row\n");
}

double least_fraction(const Entry& entry) {
  for (const Bar& bar : kBars) {
    if (entry.op == bar.op && entry.layout == Layout::kRowMajor && entry.shape == bar.shape)
      return entry.dtype == DataType::kF32 ? bar.f32 : bar.bf16_and_f16;
  }
  return 0;
}

int print_bars(const std::vector<Row>& rows) {
  int missed = 0, asked = 0;
  std::printf("\nBars: the least fraction of the limit, with 2 threads\n");
  for (const Row& row : rows) {
    const double least = least_fraction(row.entry), fraction = row.timing.fraction();
    if (least == 0) continue;
    ++asked;
    missed += fraction < least ? 1 : 0;
    std::printf("  %s  %-54s %-5s %6.3f, at least %.2f%s\n", fraction < least ? "FAIL" : "pass",
                row.entry.title().c_str(), name(row.entry.dtype), fraction, least,
                row.timing.disturbed ? " ~" : "");
  }
  std::printf("  %d of %d passed\n", asked - missed, asked);
  return missed;
}

void write_json(const std::vector<Row>& rows, const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) fail("cannot write " + path);
  std::fprintf(file, "[\n");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const Timing& t = row.timing;
    std::fprintf(
        file,
        "  {\"operator\": \"%s\", \"layout\": \"%s\", \"shape\": \"%s\", \"dtype\": \"%s\", "
        "\"threads\": %d, \"bytes\": %.0f, \"limit_us\": %.3f, \"limit_stores\": \"%s\", "
        "\"ours_us\": %.3f, \"fraction\": %.4f, \"disturbed\": %s}%s\n",
        row.entry.op.c_str(), name(row.entry.layout), row.entry.shape.c_str(),
        name(row.entry.dtype), row.threads, t.bytes, t.limit_us, name(t.limit_stores), t.ours_us,
        t.fraction(), t.disturbed ? "true" : "false", i + 1 < rows.size() ? "," : "");
  }
  std::fprintf(file, "]\n");
  if (std::fclose(file) != 0) fail("cannot write " + path);
}

}  // namespace bench
