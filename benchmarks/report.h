// What a run prints: one row per workload, and the same as JSON, which benchmarks/bars.py holds to bars:
//
//   {"machine": {"cpu": "AMD EPYC", "cores": 2,
//                "caches": [{"level": 1, "type": "Data", "bytes": 32768}, ...]},
//    "date": "2026-01-31T12:00:00Z",
//    "command": "normgrad_bench --rounds 15",       without --json
//    "rows": [
//     {"operator": "layer_norm",                    also rms_norm, batch_norm_training,
//                                                   _inference, _reduce, _elementwise, _forward
//      "layout": "row_major",                       also channels_last, padded, permuted
//      "shape": "8192x768", "dtype": "f32",         also bf16, f16
//      "threads": 2,                                that ours may use; a tiny limit uses one
//      "elements": 6291456,                         of a big tensor
//      "bytes": 75540480,                           that the limit moves
//      "limit_us": 3000.0,                          every input read once, every output written
//                                                   once
//      "limit_stores": "non-temporal",              the better of these and plain; none: there is
//                                                   no big output
//      "two_pass_limit_us": null,                   big inputs read twice; a number for
//                                                   channels-last training
//      "twin_us": null,                             ours on row-major tensors; a number for padded
//                                                   and permuted ones
//      "ours_us": 4000.0,
//      "fraction": 0.75,                            limit_us / ours_us
//      "disturbed": false}, ...]}                   other programs took the processors too often
//
// Times are medians of rounds that take turns.
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
void print_scaling(const std::vector<Row>& rows);  // cost per element

void write_json(const std::vector<Row>& rows, const std::string& command, const std::string& path);

}  // namespace bench

#endif
