// What a run prints: one row per workload, the bars that speed is held to, and the same as JSON.
#ifndef NORMGRAD_BENCHMARKS_REPORT_H
#define NORMGRAD_BENCHMARKS_REPORT_H

#include <string>
#include <vector>

#include "workload.h"

namespace bench {

struct Row {
  Entry entry;
  int threads = 0;
  Timing timing;
};

void print_table(const std::vector<Row>& rows);

// The least fraction of the limit that is asked of a workload with 2 threads; 0: nothing is asked.
double least_fraction(const Entry& entry);

// Prints which rows reach what is asked of them. Returns how many do not.
int print_bars(const std::vector<Row>& rows);

void write_json(const std::vector<Row>& rows, const std::string& path);

}  // namespace bench

#endif
