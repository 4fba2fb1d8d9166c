// What SyncBatchNorm's backward costs a rank apart from the exchange: the sums and dx of its part,
// and, in rank order, adding up the messages of all ranks. The exchange here does nothing, so that
// ranks may be 10^4. One line of JSON for each; benchmarks/sync_scaling starts it and reads them.
#include <normgrad/last_error.h>
#include <normgrad/sync_batch_norm.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using normgrad::Arg;
using normgrad::DataType;
using normgrad::Tensor;

constexpr std::int64_t kChannels = 256;

void must(normgrad::Status status) {
  if (status == normgrad::Status::kOk) return;
  std::fprintf(stderr, "status %d: %s\n", static_cast<int>(status), normgradGetLastError());
  std::exit(1);
}

int no_gather(void*, const void*, void*, std::size_t) { return 0; }
int no_reduce(void*, void*, std::size_t, DataType) { return 0; }

Tensor part(const char* name, std::int64_t rows, std::int64_t length) {
  return {DataType::kF32, 3, {rows, kChannels, length}, {kChannels * length, length, 1}, name};
}
Tensor channels(const char* name) { return {DataType::kF64, 1, {kChannels}, {1}, name}; }

void measure(std::int64_t rows, std::int64_t length, int ranks, DataType sums, bool in_rank_order) {
  normgrad::SyncProblem problem;
  problem.op = normgrad::Op::kSyncBatchNormBackward;
  problem[Arg::kDx] = part("dx", rows, length), problem[Arg::kDy] = part("dy", rows, length);
  problem[Arg::kX] = part("x", rows, length);
  problem[Arg::kMean] = channels("mean"), problem[Arg::kRstd] = channels("rstd");
  problem.sums = sums, problem.in_rank_order = in_rank_order, problem.ranks = ranks;
  normgrad::SyncPlan plan;
  must(make_plan(problem, &plan));

  const auto elements = static_cast<std::size_t>(rows * kChannels * length);
  std::vector<float> dx(elements), dy(elements, 1), x(elements, 2);
  std::vector<double> mean(kChannels), rstd(kChannels, 1);
  std::vector<char> workspace(plan.workspace_bytes());  // the messages of the others: zeros
  normgrad::Addresses data;
  data[Arg::kDx] = dx.data(), data[Arg::kDy] = dy.data(), data[Arg::kX] = x.data();
  data[Arg::kMean] = mean.data(), data[Arg::kRstd] = rstd.data();
  const normgrad::Exchange exchange{no_gather, no_reduce, nullptr};

  // A short run is over before a disturbance is: it needs more of them for a median to mean something.
  const int rounds = elements < 1000 && ranks <= 512 ? 501 : 21;
  std::vector<double> times(static_cast<std::size_t>(rounds));
  for (int round = -rounds / 5; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    must(run(plan, data, exchange, workspace.data(), workspace.size()));
    const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - begin;
    if (round >= 0) times[static_cast<std::size_t>(round)] = us.count();
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  std::printf(
      "{\"mode\": \"%s\", \"ranks\": %d, \"channels\": %d, \"width\": %d, \"elements\": %zu, "
      "\"us\": %.3f}\n",
      in_rank_order ? "rank_order" : "all_reduce", ranks, static_cast<int>(kChannels),
      sums == DataType::kF32 ? 4 : 8, elements, times[times.size() / 2]);
  std::fflush(stdout);
}

}  // namespace

int main() {
  measure(32, 14 * 14, 1, DataType::kF64, false);
  for (const DataType sums : {DataType::kF32, DataType::kF64}) {
    for (const int ranks : {2, 64, 512, 2048, 10000}) measure(1, 1, ranks, sums, true);
  }
}
