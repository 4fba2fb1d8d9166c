#include "kernels/parallel_for.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "kernels/cache.h"
#include "kernels/float_environment.h"
#include "kernels/spare_threads.h"
#include "normgrad/settings.h"
#include "runtime/environment.h"
#include "runtime/fork_gate.h"

namespace normgrad {
namespace {

std::atomic<int>& thread_limit() {
  static std::atomic<int> limit(environment().threads);
  return limit;
}

// OpenMP's worker threads do not exist in a forked child, and waiting for them would hang: the child runs serially.
bool pool_is_lost() { return fork_generation() != 0; }

// A wild setting must not ask for thousands. Looked up once: the answer takes a call of the system.
int most_threads() {
  static const int most = std::max(64, omp_get_num_procs());
  return most;
}

// What is read when first needed must not be on the way when another thread forks.
[[maybe_unused]] const int watching_forks = ::pthread_atfork(
    [] {
      thread_limit();
      most_threads();
      isa();
      kernels::last_level_cache_bytes();
      kernels::second_level_cache_bytes();
    },
    nullptr, nullptr);

// The last team of this thread: OpenMP keeps its members for the next one, and ends those that a smaller team leaves out.
// A forked child asks for no team, so it need not forget.
constinit thread_local int last_team = 1;
constinit thread_local int smaller_in_a_row = 0;  // calls for which fewer would have done

// Members that OpenMP would have to create are asked of the system first, and a team is as large as that allows. It
// shrinks for fewer blocks only when that goes on for long, since the next one would have to create threads again. What
// is left to chance: that another takes the threads between the two, that the caller's own OpenMP code has had a smaller
// team on this thread since, and stacks larger than the default (OMP_STACKSIZE) in little memory.
int team_for(std::int64_t blocks) {
  const int most = std::min({threads(), most_threads(), omp_get_thread_limit()});
  const int wanted = static_cast<int>(std::min<std::int64_t>(most, blocks));
  constexpr int kLong = 32;
  smaller_in_a_row = wanted < last_team ? smaller_in_a_row + 1 : 0;
  if (wanted > last_team) return last_team + kernels::spare_threads(wanted - last_team);
  return smaller_in_a_row < kLong ? std::min(most, last_team) : wanted;
}

// Below this, a second thread costs more than it saves: 2 to 5 us a parallel region against 0.1 ns an element.
constexpr std::int64_t kElementsWorthThreads = 65536;

// The blocks of a team. A thread begins with a share of its own: neighbouring blocks, the same ones in every call, so that
// it finds in its cache what it left there. Then it helps the others.
class Shares {
 public:
  // Threads beyond the number of blocks have nothing to do.
  Shares(std::int64_t blocks, int team)
      : blocks_(blocks), count_(static_cast<int>(std::min<std::int64_t>({team, kMost, blocks}))) {
    for (int s = 0; s < count_; ++s) {
      share_[s].begin = blocks * s / count_;
      share_[s].next.store(share_[s].begin, std::memory_order_relaxed);
      share_[s].end = blocks * (s + 1) / count_;
    }
  }
  void work(int thread, kernels::Order order, kernels::Task task, void* context) {
    if (thread >= blocks_) return;
    for (int s = 0; s < count_; ++s) {
      Share& share = share_[(thread + s) % count_];
      for (;;) {
        const std::int64_t turn = share.next.fetch_add(1, std::memory_order_relaxed);
        if (turn >= share.end) break;
        task(context,
             order == kernels::Order::kForwards ? turn : share.begin + share.end - 1 - turn);
      }
    }
  }

 private:
  static constexpr int kMost = 64;
  struct alignas(64) Share {
    std::atomic<std::int64_t> next;
    std::int64_t begin, end;
  };
  const std::int64_t blocks_;
  const int count_;
  Share share_[kMost];
};

}  // namespace

int threads() {
  const int limit = thread_limit().load(std::memory_order_relaxed);
  return limit > 0 ? limit : std::max(1, omp_get_max_threads());
}

int set_threads(int count) {
  thread_limit().store(std::clamp(count, 0, 4096), std::memory_order_relaxed);
  return threads();
}

namespace kernels {

void run_blocks(std::int64_t blocks, std::int64_t elements, Order order, Task task, void* context) {
  const bool alone =
      blocks < 2 || elements < kElementsWorthThreads || omp_in_parallel() != 0 || pool_is_lost();
  const int team = alone ? 1 : team_for(blocks);
  if (team == 1) {
    const std::int64_t step = order == Order::kForwards ? 1 : -1;
    std::int64_t block = order == Order::kForwards ? 0 : blocks - 1;
    for (std::int64_t i = 0; i < blocks; ++i, block += step) task(context, block);
    return;
  }
  Shares shares(blocks, team);
#pragma omp parallel num_threads(team)
  {
    const FloatEnvironment environment;
    const int thread = omp_get_thread_num();
    if (thread == 0) last_team = omp_get_num_threads();
    shares.work(thread, order, task, context);
  }
}

}  // namespace kernels
}  // namespace normgrad
