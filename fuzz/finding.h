// What a fuzz target does when something is wrong: says it, and ends the process, which libFuzzer and the replay take
// for a finding.
#ifndef FUZZ_FINDING_H
#define FUZZ_FINDING_H

#include <cstdio>
#include <cstdlib>
#include <string>

namespace fuzz {

[[noreturn]] inline void finding(const std::string& what) {
  std::fprintf(stderr, "finding: %s\n", what.c_str());
  std::abort();
}

inline void expect(bool holds, const std::string& what) {
  if (!holds) finding(what);
}

}  // namespace fuzz

#endif
