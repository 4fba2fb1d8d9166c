// The command line of normgrad_bench.
#ifndef NORMGRAD_BENCHMARKS_OPTIONS_H
#define NORMGRAD_BENCHMARKS_OPTIONS_H

#include <string>
#include <vector>

namespace bench {

struct Options {
  std::vector<int> threads = {2};  // every workload is run with each
  int rounds = 0;
  int counted_calls = 0;  // instead of measuring, if not 0
  std::string filter, json;
  std::string command;  // as typed, but for what does not change a row: the path, --json
  bool list = false, scaling = false, realtime = false;
};

// Ends the program if they make no sense.
Options parse(int argc, char** argv);
[[noreturn]] void usage_error(const std::string& message);

}  // namespace bench

#endif
