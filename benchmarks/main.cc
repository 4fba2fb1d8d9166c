// Runs the workloads under Google Benchmark. Its model, one function timed many times in a row,
// knows no interleaving; so one of its iterations is one of our rounds (limit, limit, ours), it is
// told our time, and the medians are its counters limit_us, ours_us and fraction.
#include <benchmark/benchmark.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "normgrad/settings.h"
#include "report.h"
#include "workload.h"

namespace bench {
namespace {

constexpr const char* kUsage =
    "usage: normgrad_bench [--threads n] [--filter regex | --bars] [--json file] [--rounds n] "
    "[--list]\n"
    "  --threads n     threads of ours and of the limit (2)\n"
    "  --filter regex  only workloads whose name, as --list shows it, matches somewhere\n"
    "  --bars          only workloads that a bar is set for\n"
    "  --json file     also write the rows there\n"
    "  --rounds n      interleaved rounds per workload, at least 7 (15)\n"
    "  --list          show the names and end\n"
    "  --realtime      on a busy machine: let no other program run meanwhile (root)\n"
    "  --benchmark_*   options of Google Benchmark\n";

struct Options {
  int threads = 2, rounds = 15;
  std::string filter, json;
  bool list = false, bars = false, realtime = false;
};

// The limit of fewer elements than this takes one thread, whatever ours does.
constexpr std::int64_t kWorthThreads = 32768;

[[noreturn]] void usage_error(const std::string& message) {
  std::fprintf(stderr, "normgrad_bench: %s\n%s", message.c_str(), kUsage);
  std::exit(2);
}

int number(const std::string& option, const char* text, int least) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < least || value > 4096)
    usage_error(option + " takes a number from " + std::to_string(least) + ", not '" + text + "'");
  return static_cast<int>(value);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--help") {
      std::printf("%s", kUsage);
      std::exit(0);
    }
    if (bool* flag = option == "--list"       ? &options.list
                     : option == "--bars"     ? &options.bars
                     : option == "--realtime" ? &options.realtime
                                              : nullptr) {
      *flag = true;
      continue;
    }
    if (i + 1 == argc) usage_error("unknown option, or one without its value: " + option);
    const char* value = argv[++i];
    if (option == "--threads") {
      options.threads = number(option, value, 1);
    } else if (option == "--rounds") {
      options.rounds = number(option, value, static_cast<int>(Rounds::kLeast));
    } else if (option == "--filter") {
      options.filter = value;
    } else if (option == "--json") {
      options.json = value;
    } else {
      usage_error("unknown option: " + option);
    }
  }
  return options;
}

std::vector<Entry> chosen(const std::vector<Entry>& all, const Options& options) {
  std::vector<Entry> entries;
  try {
    const std::regex pattern(options.filter);
    for (const Entry& entry : all) {
      if (options.bars && least_fraction(entry) == 0) continue;
      if (std::regex_search(entry.name(), pattern)) entries.push_back(entry);
    }
  } catch (const std::regex_error&) {
    usage_error("--filter is no regular expression: " + options.filter);
  }
  if (entries.empty()) usage_error("no workload matches '" + options.filter + "'; try --list");
  return entries;
}

void show_progress(std::size_t number, std::size_t count, const std::string& name) {
  static const bool terminal = isatty(STDERR_FILENO) != 0;
  std::fprintf(stderr, "%s[%zu/%zu] %s%s", terminal ? "\r\033[K" : "", number, count, name.c_str(),
               terminal ? "" : "\n");
  if (terminal && number == count) std::fprintf(stderr, "\r\033[K");
}

std::unique_ptr<Workload> make_and_check(const std::function<std::unique_ptr<Workload>()>& make) {
  if (!make) return nullptr;
  std::unique_ptr<Workload> workload = make();
  workload->run();
  workload->check();
  return workload;
}

Timing time_workload(benchmark::State& state, const Entry& entry, int threads) {
  normgrad::set_threads(threads);
  const std::unique_ptr<Workload> workload = make_and_check(entry.make);
  const std::unique_ptr<Workload> twin = make_and_check(entry.make_twin);
  Rounds rounds(*workload, twin.get(), entry.elements < kWorthThreads ? 1 : threads);
  for ([[maybe_unused]] auto round : state) state.SetIterationTime(rounds.next());
  const Timing timing = rounds.medians();
  state.counters["limit_us"] = timing.limit_us;
  state.counters["ours_us"] = timing.ours_us;
  state.counters["fraction"] = timing.fraction();
  return timing;
}

// Rows are printed at the end, in one table.
class Silent : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

std::vector<Row> run(const std::vector<Entry>& entries, const Options& options) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto body = [&, i](benchmark::State& state) {
      show_progress(i + 1, entries.size(), entries[i].name());
      const Timing timing = time_workload(state, entries[i], options.threads);
      rows.push_back({entries[i], options.threads, timing});
    };
    benchmark::RegisterBenchmark(entries[i].name().c_str(), body)
        ->Iterations(options.rounds)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
  Silent reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return rows;
}

// Over other programs. Threads that are made from now on inherit it. A higher priority is for root
// alone, and does not reach beyond our session where the kernel groups processes by session.
void take_precedence(bool realtime) {
  ::setpriority(PRIO_PROCESS, 0, -20);
  if (!realtime) return;
  sched_param parameters{};
  parameters.sched_priority = 1;
  if (::sched_setscheduler(0, SCHED_RR, &parameters) != 0) usage_error("--realtime needs root");
}

int bench_main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);  // takes its own options away
  const Options options = parse(argc, argv);
  std::vector<Entry> all;
  add_layer_norm_backward(all);
  add_rms_norm_backward(all);
  add_batch_norm_backward(all);
  add_batch_norm_elemt_backward(all);
  add_batch_norm(all);
  const std::vector<Entry> entries = chosen(all, options);
  if (options.list) {
    for (const Entry& entry : entries) std::printf("%s\n", entry.name().c_str());
    return 0;
  }
  take_precedence(options.realtime);
  const std::vector<Row> rows = run(entries, options);
  print_table(rows);
  if (!options.json.empty()) write_json(rows, options.json);
  // The bars are set for 2 threads, and decide if all of them were run.
  if (options.threads != 2 || !options.filter.empty()) return 0;
  return print_bars(rows) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::bench_main(argc, argv); }
