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

std::string remark(const Timing& t) {
  char text[64] = "";
  if (t.two_pass_limit_us > 0)
    std::snprintf(text, sizeof(text), " %.2f of two passes", t.two_pass_limit_us / t.ours_us);
  if (t.twin_us > 0)
    std::snprintf(text, sizeof(text), " %.2fx its row-major twin", t.ours_us / t.twin_us);
  return text;
}

void explain_disturbed(const std::vector<Row>& rows) {
  const bool disturbed =
      std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.timing.disturbed; });
  if (disturbed) std::printf("~ other programs kept the processors busy: do not trust this row\n");
}

}  // namespace

void print_table(const std::vector<Row>& rows) {
  std::printf("%-58s %-5s %10s %10s %8s  0%*s\n", "workload", "dtype", "limit us", "ours us",
              "fraction", kWidth - 1, "limit");
  for (const Row& row : rows) {
    const Timing& t = row.timing;
    std::printf("%-58s %-5s %10.1f %10.1f %8.2f%s %s%s\n", row.entry.title().c_str(),
                name(row.entry.dtype), t.limit_us, t.ours_us, t.fraction(), t.disturbed ? "~" : " ",
                text_bar(t.fraction()).c_str(), remark(t).c_str());
  }
  explain_disturbed(rows);
}

void print_scaling(const std::vector<Row>& rows) {
  std::printf("%-36s %-5s %8s %12s %14s %14s %8s\n", "workload", "dtype", "threads", "elements",
              "limit ns each", "ours ns each", "fraction");
  for (const Row& row : rows) {
    const Timing& t = row.timing;
    const double ns = 1e3 / static_cast<double>(row.entry.elements);
    std::printf("%-36s %-5s %8d %12lld %14.3f %14.3f %8.2f%s\n", row.entry.title().c_str(),
                name(row.entry.dtype), row.threads, static_cast<long long>(row.entry.elements),
                t.limit_us * ns, t.ours_us * ns, t.fraction(), t.disturbed ? "~" : "");
  }
  explain_disturbed(rows);
}

}  // namespace bench
