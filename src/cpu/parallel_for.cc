#include "cpu/parallel_for.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "core/environment.h"
#include "cpu/float_environment.h"
#include "normgrad/settings.h"

namespace normgrad {
namespace {

std::atomic<int>& thread_limit() {
  static std::atomic<int> limit(environment().threads);
  return limit;
}

// OpenMP's worker threads do not exist in a forked child, and waiting for them would hang: the child runs serially.
// Watched from the start, as the pool may be another library's that uses OpenMP too.
std::atomic<bool> pool_is_lost{false};
[[maybe_unused]] const int watching_forks =
    ::pthread_atfork(nullptr, nullptr, [] { pool_is_lost.store(true, std::memory_order_relaxed); });

// OpenMP ends the process when it cannot create a thread, so a wild setting must not ask for thousands.
int most_threads() { return std::max(64, omp_get_num_procs()); }

// Below this, waking a second thread costs more than it saves (about 3 us against 0.5 ns per
// element).
constexpr std::int64_t kElementsWorthThreads = 32768;

}  // namespace

int threads() {
  const int limit = thread_limit().load(std::memory_order_relaxed);
  return limit > 0 ? limit : std::max(1, omp_get_max_threads());
}

int set_threads(int count) {
  thread_limit().store(std::clamp(count, 0, 4096), std::memory_order_relaxed);
  return threads();
}

namespace cpu {

void run_blocks(std::int64_t blocks, std::int64_t elements, Task task, void* context) {
  const bool alone = blocks < 2 || elements < kElementsWorthThreads || omp_in_parallel() != 0 ||
                     pool_is_lost.load(std::memory_order_relaxed);
  const int team =
      alone ? 1 : static_cast<int>(std::min<std::int64_t>({threads(), most_threads(), blocks}));
  if (team == 1) {
    for (std::int64_t block = 0; block < blocks; ++block) task(context, block);
    return;
  }
#pragma omp parallel num_threads(team)
  {
    const FloatEnvironment environment;
#pragma omp for schedule(dynamic, 1) nowait
    for (std::int64_t block = 0; block < blocks; ++block) task(context, block);
  }
}

}  // namespace cpu
}  // namespace normgrad
