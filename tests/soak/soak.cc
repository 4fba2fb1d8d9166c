// Does anything grow? Rounds of random operations for SECONDS, and until there were CALLS after the warm-up, a quarter of
// the time. Exit code 1 if resident memory has grown by 1 MiB, or threads or descriptors at all.
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "soak/footprint.h"
#include "soak/rounds.h"

namespace {

using Clock = std::chrono::steady_clock;
using soak::Footprint;

constexpr long kMostKib = 1024;
constexpr double kSecondsBetweenLines = 5;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void print(const char* what, double seconds, long calls, const Footprint& now) {
  std::printf("%7.1f s  %-8s %11ld calls  %8ld KiB resident  %3d threads  %3d descriptors\n",
              seconds, what, calls, now.resident_kib, now.threads, now.descriptors);
  std::fflush(stdout);
}

// Until both are reached.
void run(soak::Rounds& rounds, const char* what, Clock::time_point start, double seconds,
         long calls) {
  double printed = seconds_since(start);
  while (seconds_since(start) < seconds || rounds.calls() < calls) {
    rounds.one();
    const double now = seconds_since(start);
    if (now - printed < kSecondsBetweenLines) continue;
    print(what, now, rounds.calls(), soak::footprint());
    printed = now;
  }
}

bool is_flat(const Footprint& before, const Footprint& after, long calls) {
  const long grown = after.resident_kib - before.resident_kib;
  std::printf("after %ld calls: resident memory %+ld KiB, threads %+d, descriptors %+d\n", calls,
              grown, after.threads - before.threads, after.descriptors - before.descriptors);
  return before.resident_kib > 0 && grown < kMostKib && after.threads <= before.threads &&
         after.descriptors <= before.descriptors;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: %s SECONDS CALLS [SEED]\n", arguments[0]);
    return 2;
  }
  const double seconds = std::atof(arguments[1]);
  const long calls = std::atol(arguments[2]);
  const unsigned long long seed =
      count > 3 ? std::strtoull(arguments[3], nullptr, 10) : std::random_device()();
  std::printf("seed %llu\n", seed);
  ::mallopt(M_ARENA_MAX, 2);  // else the C library's heap grows with the threads that ever met

  soak::Rounds rounds(seed);
  const Clock::time_point start = Clock::now();
  rounds.one_of_each();
  run(rounds, "warm-up", start, seconds / 4, calls / 10);
  const Footprint before = soak::settled_footprint();
  const long calls_before = rounds.calls();
  print("warm", seconds_since(start), calls_before, before);
  run(rounds, "soak", start, seconds, calls_before + calls);
  const Footprint after = soak::settled_footprint();
  print("end", seconds_since(start), rounds.calls(), after);
  const bool flat = is_flat(before, after, rounds.calls() - calls_before);
  std::printf("%s\n", flat ? "nothing grows" : "IT GROWS");
  return flat ? 0 : 1;
}
