// Runs the workloads under Google Benchmark. Its model, one function timed many times in a row,
// knows no interleaving; so one of its iterations is one of our rounds (limit, limit, ours), it is
// told our time, and the medians are its counters limit_us, ours_us and fraction.
#include <benchmark/benchmark.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "normgrad/settings.h"
#include "options.h"
#include "report.h"
#include "workload.h"

namespace bench {
namespace {

// The limit of fewer elements than this takes one thread, whatever ours does.
constexpr std::int64_t kWorthThreads = 65536;

std::vector<Entry> all_entries(Set set) {
  std::vector<Entry> all;
  add_layer_norm_backward(all, set);
  add_rms_norm_backward(all, set);
  add_batch_norm_backward(all, set);
  if (set == Set::kScaling) {  // one 16-bit type shows it
    std::erase_if(all, [](const Entry& entry) { return entry.dtype == DataType::kF16; });
    return all;
  }
  if (set == Set::kCounted) return all;
  add_batch_norm_elemt_backward(all);
  add_batch_norm(all);
  return all;
}

std::vector<Entry> chosen(const Options& options) {
  const Set set = options.counted_calls > 0 ? Set::kCounted
                  : options.scaling         ? Set::kScaling
                                            : Set::kWorkloads;
  std::vector<Entry> entries;
  try {
    const std::regex pattern(options.filter);
    for (const Entry& entry : all_entries(set)) {
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
  for (const Entry& entry : entries) {
    for (const int threads : options.threads) rows.push_back({entry, threads, {}});
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto body = [&, i](benchmark::State& state) {
      show_progress(i + 1, rows.size(), rows[i].entry.name());
      rows[i].timing = time_workload(state, rows[i].entry, rows[i].threads);
    };
    benchmark::RegisterBenchmark(rows[i].entry.name().c_str(), body)
        ->Iterations(options.rounds)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
  Silent reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  std::erase_if(rows,
                [](const Row& row) { return row.timing.ours_us == 0; });  // --benchmark_filter
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

// For a profiler to watch. Nothing else depends on the number of calls.
void call(const std::vector<Entry>& entries, int calls) {
  if (normgrad::isa() != normgrad::Isa::kAvx2) fail("--counted needs AVX2 and NORMGRAD_ISA=avx2");
  for (const Entry& entry : entries) {
    const std::unique_ptr<Workload> workload = entry.make();
    for (int i = 0; i < calls; ++i) workload->run();
  }
}

int bench_main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);  // takes its own options away
  const Options options = parse(argc, argv);
  const std::vector<Entry> entries = chosen(options);
  if (options.list) {
    for (const Entry& entry : entries) std::printf("%s\n", entry.name().c_str());
    return 0;
  }
  if (options.counted_calls > 0) {
    call(entries, options.counted_calls);
    return 0;
  }
  take_precedence(options.realtime);
  const std::vector<Row> rows = run(entries, options);
  options.scaling ? print_scaling(rows) : print_table(rows);
  if (!options.json.empty()) write_json(rows, options.command, options.json);
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::bench_main(argc, argv); }
