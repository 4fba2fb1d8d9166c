// What it costs to find out that a handle is alive, before it is touched.
#ifndef BENCHMARKS_HANDLE_CHECKS_H
#define BENCHMARKS_HANDLE_CHECKS_H

// Prints a line per kind of handle. True if the bar is met, as its line says. Needs a device that is set.
bool print_handle_checks();

#endif
