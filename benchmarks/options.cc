#include "options.h"

#include <cstdio>
#include <cstdlib>

#include "workload.h"

namespace bench {
namespace {

constexpr const char* kUsage =
    "usage: normgrad_bench [--threads n] [--filter regex] [--scaling] [--json file] "
    "[--rounds n] [--list]\n"
    "  --threads n     threads of ours and of the limit (2)\n"
    "  --filter regex  only workloads whose name, as --list shows it, matches somewhere\n"
    "  --scaling       instead of the workloads, the cost per element from 10^4 to 10^8 elements,\n"
    "                  with one thread and with n\n"
    "  --json file     also write the rows there\n"
    "  --rounds n      interleaved rounds per workload, at least 7 (15; --scaling: 7)\n"
    "  --list          show the names and end\n"
    "  --counted n     instead of measuring, call each workload of ./scripts/bench --instructions\n"
    "                  n times, for callgrind to watch\n"
    "  --realtime      on a busy machine: let no other program run meanwhile (root)\n"
    "  --benchmark_*   options of Google Benchmark\n";

int number(const std::string& option, const char* text, int least) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < least || value > 4096)
    usage_error(option + " takes a number from " + std::to_string(least) + ", not '" + text + "'");
  return static_cast<int>(value);
}

}  // namespace

void usage_error(const std::string& message) {
  std::fprintf(stderr, "normgrad_bench: %s\n%s", message.c_str(), kUsage);
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  options.command = "normgrad_bench";
  int threads = 2, rounds = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--help") {
      std::printf("%s", kUsage);
      std::exit(0);
    }
    if (bool* flag = option == "--list"       ? &options.list
                     : option == "--scaling"  ? &options.scaling
                     : option == "--realtime" ? &options.realtime
                                              : nullptr) {
      *flag = true;
      options.command += " " + option;
      continue;
    }
    if (i + 1 == argc) usage_error("unknown option, or one without its value: " + option);
    const char* value = argv[++i];
    if (option != "--json") options.command += " " + option + " " + value;
    if (option == "--threads") {
      threads = number(option, value, 1);
    } else if (option == "--rounds") {
      rounds = number(option, value, static_cast<int>(Rounds::kLeast));
    } else if (option == "--counted") {
      options.counted_calls = number(option, value, 1);
    } else if (option == "--filter") {
      options.filter = value;
    } else if (option == "--json") {
      options.json = value;
    } else {
      usage_error("unknown option: " + option);
    }
  }
  if (options.counted_calls > 0 && options.scaling) usage_error("--counted stands alone");
  options.threads = options.scaling && threads > 1 ? std::vector{1, threads} : std::vector{threads};
  const int usual = options.scaling ? static_cast<int>(Rounds::kLeast) : 15;
  options.rounds = rounds > 0 ? rounds : usual;
  return options;
}

}  // namespace bench
