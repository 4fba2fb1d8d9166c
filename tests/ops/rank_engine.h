// Ranks that are threads of one process, and the engine between them: what MPI is between machines.
#ifndef TESTS_OPS_RANK_ENGINE_H
#define TESTS_OPS_RANK_ENGINE_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <numeric>
#include <vector>

#include "normgrad/sync_batch_norm.h"

namespace ops_test {

class RankEngine {
 public:
  static constexpr int kTimedOut = 110, kRefused = 7;

  explicit RankEngine(int ranks)
      : order(static_cast<std::size_t>(ranks)),
        parts_(static_cast<std::size_t>(ranks)),
        members_(static_cast<std::size_t>(ranks)) {
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t r = 0; r < members_.size(); ++r) members_[r] = {this, r};
  }

  normgrad::Exchange exchange(std::size_t rank) {
    return {[](void* context, const void* part, void* parts, std::size_t bytes) {
              return static_cast<Member*>(context)->gather(part, parts, bytes);
            },
            [](void* context, void* sums, std::size_t count, normgrad::DataType dtype) {
              return static_cast<Member*>(context)->reduce(sums, count, dtype);
            },
            &members_[rank]};
  }

  std::vector<std::size_t> order;  // in which an all-reduce adds the ranks
  std::chrono::milliseconds timeout{60000};
  std::atomic<int> calls{0};
  int refused_call = -1;  // this one and all after it answer kRefused at once

 private:
  struct Member {
    RankEngine* engine;
    std::size_t rank;

    int gather(const void* part, void* parts, std::size_t bytes) const {
      const int answer = engine->collect(rank, part, bytes);
      if (answer != 0) return answer;
      for (std::size_t r = 0; r < engine->parts_.size(); ++r) {
        std::memcpy(static_cast<std::byte*>(parts) + r * bytes, engine->parts_[r].data(), bytes);
      }
      return engine->meet();  // before anybody brings the next part
    }
    int reduce(void* sums, std::size_t count, normgrad::DataType dtype) const {
      return dtype == normgrad::DataType::kF32 ? add(static_cast<float*>(sums), count)
                                               : add(static_cast<double*>(sums), count);
    }
    template <typename T>
    int add(T* sums, std::size_t count) const {
      const int answer = engine->collect(rank, sums, count * sizeof(T));
      if (answer != 0) return answer;
      for (std::size_t i = 0; i < count; ++i) {
        T total = 0;
        for (const std::size_t r : engine->order) {
          T term;
          std::memcpy(&term, engine->parts_[r].data() + i * sizeof(T), sizeof(T));
          total += term;
        }
        sums[i] = total;
      }
      return engine->meet();
    }
  };

  int collect(std::size_t rank, const void* part, std::size_t bytes) {
    const int call = calls++;
    if (refused_call >= 0 && call >= refused_call) return kRefused;
    const auto* const begin = static_cast<const std::byte*>(part);
    parts_[rank].assign(begin, begin + bytes);
    return meet();
  }

  // 0 once all ranks are here; kTimedOut if one does not come, and for ever after.
  int meet() {
    std::unique_lock lock(mutex_);
    const long round = round_;
    if (++here_ == parts_.size() && !broken_) {
      here_ = 0;
      ++round_;
      all_here_.notify_all();
      return 0;
    }
    const auto until = std::chrono::system_clock::now() + timeout;
    all_here_.wait_until(lock, until, [&] { return round_ != round || broken_; });
    if (round_ != round) return 0;
    broken_ = true;
    all_here_.notify_all();
    return kTimedOut;
  }

  std::vector<std::vector<std::byte>> parts_;
  std::vector<Member> members_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  std::size_t here_ = 0;
  long round_ = 0;
  bool broken_ = false;
};

}  // namespace ops_test

#endif
