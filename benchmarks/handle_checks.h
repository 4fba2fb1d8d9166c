// What it costs to find out that a handle is alive, before it is touched.
#ifndef BENCHMARKS_HANDLE_CHECKS_H
#define BENCHMARKS_HANDLE_CHECKS_H

// Prints a line per kind of handle. True if none costs more than the bar. Needs a device that is set.
bool print_handle_checks();

#endif
